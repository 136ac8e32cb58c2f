package composition_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// poolPart is a pool with blocks that are allocations of the cell. The requests of its
// tenants are goroutines.
type poolPart struct {
	w    *world
	rand *rand.Rand
	ran  *rand.Rand
	pool *pool.Pool
	cell *omega.Scheduler

	chunk int

	mu   sync.Mutex
	open map[string]lease
	done []wait
	held map[pool.Lease]lease
}

// lease is one that a tenant holds or waits for.
type lease struct {
	tenant string
	need   resources.Vector
	since  time.Time
}

// guarantee and limit are those of two tenants of the pool.
var guarantee, limit = resources.Vector{64, 128}, resources.Vector{48, 96}

func (w *world) addPool(chunk int) {
	p := &poolPart{
		w: w, chunk: chunk, rand: w.source(), ran: w.source(), open: map[string]lease{}, held: map[pool.Lease]lease{},
		cell: w.scheduler("pool", omega.Limits{Lowest: -1, Highest: 1, Divisible: true}),
	}
	var err error
	p.pool, err = pool.New(pool.Config{
		Cell: w.cell, Scheduler: p.cell, Chunk: chunk, Grace: grace, Patience: patience,
		Tenants: map[string]pool.Settings{
			"gold": {Guarantee: guarantee}, "silver": {Limit: limit, Limited: true}, "bronze": {Priority: -1},
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.parts = append(w.parts, p)
}

func (p *poolPart) run(ctx context.Context) error {
	var requests sync.WaitGroup
	for n := 0; p.w.arriving() && pause(ctx, time.Duration(p.rand.ExpFloat64()*float64(100*time.Millisecond))); n++ {
		tenant := tenants[p.rand.IntN(len(tenants))]
		name, need := fmt.Sprint(tenant, " request ", n), someNeed(p.rand)
		p.mu.Lock()
		length := someTime(p.ran)
		p.open[name] = lease{tenant, need, time.Now()}
		p.mu.Unlock()
		requests.Go(func() { p.request(ctx, tenant, name, need, length) })
	}
	<-ctx.Done()
	requests.Wait()
	return p.pool.Close(context.WithoutCancel(ctx))
}

// request acquires a need, holds it for a time or until it is preempted, and releases it.
func (p *poolPart) request(ctx context.Context, tenant, name string, need resources.Vector, length time.Duration) {
	l, err := p.pool.Acquire(ctx, tenant, need)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			p.w.t.Errorf("%s: %v", name, err)
		}
		return
	}
	p.mu.Lock()
	p.done = append(p.done, wait{name, time.Since(p.open[name].since)})
	delete(p.open, name)
	p.held[l] = lease{tenant, need, time.Now()}
	p.mu.Unlock()
	select {
	case <-time.After(length):
	case <-l.Context().Done():
	}
	p.mu.Lock()
	delete(p.held, l)
	p.mu.Unlock()
	if err := l.Release(); err != nil {
		p.w.t.Errorf("%s: %v", name, err)
	}
}

func (p *poolPart) waits() (open int, done []wait) {
	p.mu.Lock()
	defer p.mu.Unlock()
	done = p.done
	for name, one := range p.open {
		done = append(done, wait{name + " (waits)", time.Since(one.since)})
	}
	return len(p.open), done
}

// check compares the leases of each machine with the pool's allocations there.
func (p *poolPart) check() {
	p.mu.Lock()
	defer p.mu.Unlock()
	blocks := map[string]resources.Vector{}
	for a := range p.cell.Allocations() {
		m, ok := p.w.cell.State(a.Machine)
		if ok {
			blocks[m.Name] = blocks[m.Name].Add(a.Need)
		}
	}
	leases, held := map[string]resources.Vector{}, map[string]resources.Vector{}
	for l, one := range p.held {
		held[one.tenant] = held[one.tenant].Add(one.need)
		if l.Context().Err() == nil { // else its room may be another's
			leases[l.Machine()] = leases[l.Machine()].Add(one.need)
		}
	}
	if silver := held["silver"]; !resources.Fits(&silver, &limit) {
		p.w.t.Errorf("pool: leases of silver add up to %v, limit of %v", silver, limit)
	}
	for name, sum := range leases {
		room := blocks[name]
		if !resources.Fits(&sum, &room) {
			p.w.t.Errorf("pool: leases of %v on %s, where it has %v", sum, name, room)
		}
	}
}

// mischarged returns a block of a tenant that has no leases for it, where each lease counts:
// what the pool has in the account of a tenant are its leases.
func (p *poolPart) mischarged() (block omega.Allocation, some bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.chunk > 1 {
		return block, false
	}
	held := map[string]resources.Vector{}
	for l, one := range p.held {
		held[l.Machine()+"/"+one.tenant] = held[l.Machine()+"/"+one.tenant].Add(one.need)
	}
	for a := range p.cell.Allocations() {
		name, _ := p.w.cell.AccountName(a.Account)
		m, _ := p.w.cell.State(a.Machine)
		if name == "pool" || m.Name == "" {
			continue // room in stock, or gone by now
		}
		rest, ok := held[m.Name+"/"+name].Sub(a.Need)
		if held[m.Name+"/"+name] = rest; !ok {
			return a, true
		}
	}
	return block, false
}

// preemptible reports whether a request within a guarantee waits while leases of others on one
// machine have the room for it.
func (p *poolPart) preemptible() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	var gold resources.Vector
	room := map[string]resources.Vector{}
	for l, one := range p.held {
		switch id, ok := p.w.cell.Machine(l.Machine()); {
		case one.tenant == "gold":
			gold = gold.Add(one.need)
		case ok:
			if m, _ := p.w.cell.State(id); m.Condition == omega.Ready {
				room[l.Machine()] = room[l.Machine()].Add(one.need)
			}
		}
	}
	for _, one := range p.open {
		if one.tenant != "gold" || time.Since(one.since) <= answer || !gold.Add(one.need).Fits(guarantee) {
			continue
		}
		for _, has := range room {
			if resources.Fits(&one.need, &has) {
				return true
			}
		}
	}
	return false
}

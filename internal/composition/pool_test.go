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

	mu   sync.Mutex
	open map[string]time.Time
	done []wait
	held map[pool.Lease]resources.Vector
}

func (w *world) addPool(chunk int) {
	p := &poolPart{
		w: w, rand: w.source(), ran: w.source(), open: map[string]time.Time{}, held: map[pool.Lease]resources.Vector{},
		cell: w.scheduler("pool", omega.Limits{Lowest: -1, Highest: 1, Divisible: true}),
	}
	var err error
	p.pool, err = pool.New(pool.Config{
		Cell: w.cell, Scheduler: p.cell, Chunk: chunk, Grace: longest,
		Tenants: map[string]pool.Settings{"gold": {Weight: 2, Guarantee: resources.Vector{64, 64}}, "silver": {}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.parts = append(w.parts, p)
}

func (p *poolPart) run(ctx context.Context) error {
	var requests sync.WaitGroup
	for n := 0; time.Since(p.w.begin) < arrivals && pause(ctx, time.Duration(p.rand.ExpFloat64()*float64(100*time.Millisecond))); n++ {
		tenant := []string{"gold", "silver"}[p.rand.IntN(2)]
		name, need := fmt.Sprint(tenant, " request ", n), someNeed(p.rand)
		p.mu.Lock()
		length := someTime(p.ran)
		p.open[name] = time.Now()
		p.mu.Unlock()
		requests.Go(func() { p.request(ctx, tenant, name, need, length) })
	}
	<-ctx.Done()
	requests.Wait()
	return p.pool.Close(context.WithoutCancel(ctx))
}

// request acquires a need, holds it for a time or until it is preempted, and releases it.
func (p *poolPart) request(ctx context.Context, tenant, name string, need resources.Vector, length time.Duration) {
	lease, err := p.pool.Acquire(ctx, tenant, need)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			p.w.t.Errorf("%s: %v", name, err)
		}
		return
	}
	p.mu.Lock()
	p.done = append(p.done, wait{name, time.Since(p.open[name])})
	delete(p.open, name)
	p.held[lease] = need
	p.mu.Unlock()
	select {
	case <-time.After(length):
	case <-lease.Context().Done():
	}
	p.mu.Lock()
	delete(p.held, lease)
	p.mu.Unlock()
	if err := lease.Release(); err != nil {
		p.w.t.Errorf("%s: %v", name, err)
	}
}

func (p *poolPart) waits() (open int, done []wait) {
	p.mu.Lock()
	defer p.mu.Unlock()
	done = p.done
	for name, since := range p.open {
		done = append(done, wait{name + " (waits)", time.Since(since)})
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
	leases := map[string]resources.Vector{}
	for l, need := range p.held {
		if l.Context().Err() == nil { // else its room may be another's
			leases[l.Machine()] = leases[l.Machine()].Add(need)
		}
	}
	for name, sum := range leases {
		room := blocks[name]
		if !resources.Fits(&sum, &room) {
			p.w.t.Errorf("pool: leases of %v on %s, where it has %v", sum, name, room)
		}
	}
}

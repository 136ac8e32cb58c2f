package pool

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// checkBooks compares the pool's counts of promises and of preempted leases with a look
// at all of them. It also compares them with the limits and machines that they have to
// fit in.
func (p *Pool) checkBooks() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	returning, promised := map[*Tenant]resources.Vector{}, map[*Tenant]resources.Vector{}
	coming, inGrace := make([]resources.Vector, len(p.books.machines)), 0
	for i := range p.leases.records {
		r := &p.leases.records[i]
		if r.gen&1 == 0 || !r.preempted {
			continue
		}
		if r.late != (p.at > r.overdue) {
			return fmt.Errorf("a lease of %s is late: %v, %v after its grace", r.tenant.name, r.late, p.at-r.overdue)
		}
		if r.late {
			continue
		}
		inGrace++
		coming[r.node] = coming[r.node].Add(r.run.Need)
		for t := r.tenant; t != nil; t = t.parent {
			returning[t] = returning[t].Add(r.run.Need)
		}
	}
	if inGrace != p.graces.inGrace || p.graces.set != (inGrace > 0) {
		return fmt.Errorf("%d leases in their grace, the timer runs: %v; want %d", p.graces.inGrace, p.graces.set, inGrace)
	}
	for _, w := range p.promises.list {
		for t := w.tenant; t != nil; t = t.parent {
			promised[t] = promised[t].Add(w.need)
		}
	}
	for t := range p.tenants.all() {
		if t.returning != returning[t] || t.promised != promised[t] {
			return fmt.Errorf("%s: %v returning, %v promised, want %v and %v", t.name, t.returning, t.promised, returning[t], promised[t])
		}
		if t.overPromised() {
			return fmt.Errorf("%s: %v promised beside %v is more than the limit or the rate", t.name, t.promised, p.tenants.fair.Held(t.user))
		}
		if t.bucket.free > t.bucket.burst {
			return fmt.Errorf("%s: %v tokens that are not promised, more than the burst", t.name, t.bucket.free)
		}
	}
	for i := range p.books.machines {
		m := &p.books.machines[i]
		if p.search.index != nil && p.search.index.machines[i].coming != coming[i] {
			return fmt.Errorf("%v to come on %s, want %v", p.search.index.machines[i].coming, m.name, coming[i])
		}
		for k := range m.capacity {
			if m.owing > 0 && m.held[k]-coming[i][k]+m.owed[k] > m.capacity[k] {
				return fmt.Errorf("%s: held %v, to come %v, promised %v: more than there is", m.name, m.held, coming[i], m.owed)
			}
		}
	}
	return nil
}

// In any behaviour of holders, promises count on free room and on leases in their grace,
// and keep to limits and rates. In the end all room that was taken is free again.
func TestPool_CountsOnNoLateLease(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 41)
		script := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) call {
			return call{rapid.IntRange(0, 12).Draw(t, "kind"), n.Draw(t, "a"), n.Draw(t, "b"), n.Draw(t, "c")}
		}), 10, 60).Draw(rt, "script")
		limit, rate := rapid.Int64Range(3, 12).Draw(rt, "limit"), rapid.SampledFrom([]float64{0, 0.3, 2}).Draw(rt, "rate")
		var failed error
		synctest.Test(t, func(t *testing.T) { failed = playGraces(t, script, limit, rate) })
		if failed != nil {
			rt.Fatal(failed)
		}
	})
}

// playGraces runs a script on a pool of two machines and a group with a limit.
func playGraces(t *testing.T, script []call, limit int64, rate float64) error {
	t.Helper()
	cfg := Config{Patience: -1, Grace: time.Second}
	for i, c := range []int64{6, 5} {
		cfg.Machines = append(cfg.Machines, omega.Machine{Name: fmt.Sprint("m", i), Capacity: resources.Vector{c, c}})
	}
	p, err := New(cfg)
	require.NoError(t, err)
	g, err := p.Tenant("g", Settings{Limited: true, Limit: resources.Vector{limit, 100}, Rate: rate, Burst: 3 * min(1, int(rate*9))})
	require.NoError(t, err)
	var leaves []*Tenant
	for _, name := range []string{"x", "y"} {
		n, err := g.Tenant(name)
		require.NoError(t, err)
		leaves = append(leaves, n)
	}
	for _, name := range []string{"a", "b"} {
		n, err := p.Tenant(name)
		require.NoError(t, err)
		leaves = append(leaves, n)
	}
	require.NoError(t, leaves[1].Set(Settings{Guarantee: resources.Vector{3}, Strict: limit%2 == 0}))
	require.NoError(t, leaves[2].Set(Settings{Guarantee: resources.Vector{4, 1}}))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var mu sync.Mutex
	var held []Lease
	ask := func(n *Tenant, needs ...resources.Vector) {
		go func() {
			if leases, err := n.Request(ctx, Request{Needs: needs}); err == nil {
				mu.Lock()
				held = append(held, leases...)
				mu.Unlock()
			}
		}()
	}
	for i, c := range script {
		n, need := leaves[c.A%len(leaves)], resources.Vector{int64(1 + c.B%3), int64(c.C % 2)}
		switch c.Kind {
		case 0, 1, 2, 3:
			ask(n, need)
		case 4:
			ask(n, need, resources.Vector{1})
		case 5, 6, 7:
			if len(held) > 0 {
				at := c.B % len(held)
				l := held[at]
				held = append(held[:at], held[at+1:]...)
				if err := l.Release(); err != nil {
					return err
				}
			}
		case 8:
			if len(held) > 0 {
				_ = held[c.B%len(held)].Resize(resources.Vector{1})
			}
		case 9:
			_ = p.ResizeMachine(fmt.Sprint("m", c.A%2), resources.Vector{int64(3 + c.B%5), 6})
		default:
			time.Sleep(time.Duration(1+c.A%6) * 250 * time.Millisecond)
		}
		synctest.Wait()
		slices.SortFunc(held, func(a, b Lease) int { return cmp.Compare(a.slot, b.slot) }) // goroutines have no order
		if err := p.checkBooks(); err != nil {
			return fmt.Errorf("step %d, %+v: %w", i, c, err)
		}
	}
	cancel()
	synctest.Wait()
	for _, l := range held {
		if err := l.Release(); err != nil {
			return err
		}
	}
	if err := p.checkBooks(); err != nil {
		return err
	}
	if s := p.Stats(); s.Free != s.Total || s.Waiting > 0 {
		return fmt.Errorf("%+v is not empty", s)
	}
	return p.Close(context.Background())
}

// A late lease that shrinks, and ends, changes what it holds alone.
func TestPool_CountsALateLeaseThatShrinksOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := New(Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{4}}}, Patience: -1, Grace: time.Second})
		require.NoError(t, err)
		gold, err := p.Tenant("gold", Settings{Guarantee: resources.Vector{2}})
		require.NoError(t, err)
		l, ok := p.TryAcquire("batch", resources.Vector{4})
		require.True(t, ok)
		done := make(chan struct{})
		require.NoError(t, gold.Go(t.Context(), resources.Vector{2}, func(context.Context, Lease) error { close(done); return nil }))
		time.Sleep(2 * time.Second)
		require.NoError(t, p.checkBooks())
		require.NoError(t, l.Resize(resources.Vector{3}))
		require.NoError(t, p.checkBooks())
		require.NoError(t, l.Release())
		<-done
		synctest.Wait()
		require.NoError(t, p.checkBooks())
	})
}

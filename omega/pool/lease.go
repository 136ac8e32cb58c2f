package pool

import (
	"fmt"
	"runtime"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Lease is a share of the pool that a tenant holds until it is released. It
// may be used and released by any goroutine.
type Lease struct {
	pool     *Pool
	tenant   *tenant
	id       omega.AllocationID
	need     resources.Vector
	level    locality.Level
	released bool // guarded by the pool's mutex
	watched  bool
	cleanup  runtime.Cleanup
}

// Tenant returns whom the lease is charged to.
func (l *Lease) Tenant() string { return l.tenant.name }

// Node returns the machine that the lease is on.
func (l *Lease) Node() locality.Node { return l.id.Node() }

// Need returns how much the lease is, in the pool's space.
func (l *Lease) Need() resources.Vector { return l.need }

// Level returns how far the machine is from those that were preferred: 0 where
// it is one of them, and where none were.
func (l *Lease) Level() locality.Level { return l.level }

// String says who holds what where.
func (l *Lease) String() string {
	return fmt.Sprintf("%s: %s on node %d", l.tenant.name, l.pool.space.Format(l.need), l.Node())
}

// lease makes the lease of claim i of the transaction just committed, and books
// it. Called with mu held.
func (p *Pool) lease(t *tenant, i int, need resources.Vector, level locality.Level) *Lease {
	id, _ := p.tx.Allocation(i)
	l := &Lease{pool: p, tenant: t, id: id, need: need, level: level}
	if p.onLeak != nil {
		// The hook gets a lease in place of the lost one, which must not keep
		// that alive.
		l.cleanup = runtime.AddCleanup(l, p.onLeak, &Lease{pool: p, tenant: t, id: id, need: need, level: level})
		l.watched = true
	}
	_ = p.heap.Charge(t.user, need) // fits: it is part of the total
	_ = p.heap.Yield(t.user)
	t.held = t.held.Add(need)
	t.leases++
	p.count[id.Node()]++
	t.granted++
	for int(level) >= len(t.byLevel) {
		t.byLevel = append(t.byLevel, 0)
	}
	t.byLevel[level]++
	p.leases++
	return l
}

// Release gives the resources back and wakes whoever is next. It does not
// block. A second Release changes nothing and fails with [ErrReleased].
func (l *Lease) Release() error {
	p := l.pool
	if p == nil {
		return fmt.Errorf("%w: the zero Lease", ErrReleased)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.released {
		return fmt.Errorf("%w: %v", ErrReleased, l)
	}
	l.released = true
	if l.watched {
		l.cleanup.Stop()
		runtime.KeepAlive(l) // as Stop asks for
	}
	p.tx.Reset()
	p.tx.Release(l.id)
	if _, err := p.sched.Commit(&p.tx); err != nil {
		return fault.New("pool", "", err)
	}
	if err := p.tx.Err(0); err != nil {
		return fault.New("pool", "", err)
	}
	t := l.tenant
	_ = p.heap.Credit(t.user, l.need) // it was charged
	t.held, _ = t.held.Sub(l.need)
	t.leases--
	p.leases--
	p.count[l.Node()]--
	p.epoch, p.freed = p.epoch+1, l.Node()
	p.dispatch()
	p.closeIfDrained()
	return nil
}

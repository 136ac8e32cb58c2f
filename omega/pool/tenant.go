package pool

import (
	"container/list"
	"iter"
	"time"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/resources"
)

// sweepMin is how many tenants are remembered at least, idle ones included.
const sweepMin = 1024

// tenant is whom leases are charged to.
type tenant struct {
	name     string
	user     drf.User
	weight   float64
	weighted bool // its weight was set, so it is not forgotten

	queue list.List // of *waiter, in order of arrival

	held      resources.Vector
	leases    int
	granted   uint64
	byLevel   []uint64
	cancelled uint64
	waited    time.Duration // of those granted
}

// waiters walks the queue in order; the body may remove the current one.
func (t *tenant) waiters() iter.Seq[*waiter] {
	return func(yield func(*waiter) bool) {
		for e := t.queue.Front(); e != nil; {
			next := e.Next()
			if !yield(e.Value.(*waiter)) {
				return
			}
			e = next
		}
	}
}

// head returns the waiter that has waited longest, or nil.
func (t *tenant) head() *waiter {
	if e := t.queue.Front(); e != nil {
		return e.Value.(*waiter)
	}
	return nil
}

func (t *tenant) idle() bool { return t.leases == 0 && t.queue.Len() == 0 && !t.weighted }

// tenant returns the tenant of that name, new with weight 1 if need be. Called
// with mu held.
func (p *Pool) tenant(name string) (*tenant, error) {
	if t := p.tenants[name]; t != nil {
		return t, nil
	}
	return p.newTenant(name, 1)
}

func (p *Pool) newTenant(name string, weight float64) (*tenant, error) {
	p.sweep()
	t := &tenant{name: name, weight: weight}
	user, err := p.heap.Add(t, weight)
	if err != nil {
		return nil, fault.Newf("pool", err, "tenant %q", name)
	}
	t.user = user
	p.tenants[name] = t
	return t, nil
}

// checkName refuses what cannot be the name of a tenant.
func checkName(name string) error {
	if err := resources.CheckName(name); err != nil {
		return fault.New("pool", "tenant", err, ErrName)
	}
	return nil
}

// sweep forgets the idle tenants once there are twice as many as were left by
// the last sweep, so that names that are used once do not add up for ever.
func (p *Pool) sweep() {
	if len(p.tenants) < p.sweepAt {
		return
	}
	for name, t := range p.tenants {
		if t.idle() && p.heap.Remove(t.user) == nil {
			delete(p.tenants, name)
		}
	}
	p.sweepAt = max(sweepMin, 2*len(p.tenants))
}

// SetWeight gives a tenant a weight in [1e-6, 1e6]: one of weight 2 is entitled
// to twice the dominant share of one of weight 1, which is what tenants have
// that nobody gave a weight. It may be called at any time, for tenants that
// were never seen too; a tenant with a weight of its own is never forgotten.
// Errors: [ErrName], [drf.ErrWeight].
func (p *Pool) SetWeight(name string, weight float64) error {
	if err := checkName(name); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.tenants[name]
	if t == nil {
		var err error
		if t, err = p.newTenant(name, weight); err != nil {
			return err
		}
	} else if err := p.heap.SetWeight(t.user, weight); err != nil {
		return fault.Newf("pool", err, "tenant %q", name)
	}
	t.weight, t.weighted = weight, true
	p.dispatch() // another tenant may be next
	return nil
}

package pool

import (
	"cmp"
	"slices"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Waiter is a request that waits, with the reason.
type Waiter struct {
	Tenant string
	Label  string
	Needs  []resources.Vector
	Since  time.Time
	Reason string // for people: what is short, and where
}

// Waiters returns the requests that wait, by tenant and in the order of each
// queue. They are noted some at a time while the pool goes on, so requests that
// come or go meanwhile may be missing. Cost: O(tenants + waiters + tenants that
// wait * machines). The pool grants nothing while each 64 tenants or waiters are
// noted, fewer where there are many machines.
func (p *Pool) Waiters() []Waiter {
	if p.none() {
		return nil
	}
	var seen []glimpse
	p.mu.Lock()
	p.tick()
	looked := 0
	pause := func(cost int) bool { // lets others go on now and then
		if looked += cost; looked < statsAtATime {
			return false
		}
		p.mu.Unlock()
		seen = slices.Grow(seen, statsAtATime)
		p.mu.Lock()
		p.tick()
		looked = 0
		return true
	}
	pause(statsAtATime)
	for i := 0; ; i++ {
		if i >= len(p.tenants.byUser) { // it may grow meanwhile
			break
		}
		t := p.tenants.byUser[i]
		if pause(1); t == nil {
			continue
		}
		n := 0
		for w := t.first; w != nil; n++ {
			seen = append(seen, p.glimpse(w, n))
			cost := 1
			if n == 0 {
				cost += len(p.books.machines) / 8
			}
			since, priority := w.since, w.priority
			if pause(cost) && (!w.queued || w.tenant != t || w.since != since || w.priority != priority) {
				// It has left the queue. Those that came later are next.
				for w = t.first; w != nil && (w.priority > priority || w.priority == priority && w.since <= since); w = w.next {
				}
				continue
			}
			w = w.next
		}
	}
	p.mu.Unlock()
	all := make([]Waiter, len(seen))
	for i := range seen {
		g := &seen[i]
		if g.many == nil {
			g.many = []resources.Vector{g.need}
		}
		all[i] = Waiter{g.tenant, g.label, slices.Clone(g.many), p.base.Add(g.since), g.why(p)}
	}
	slices.SortStableFunc(all, func(a, b Waiter) int { return cmp.Compare(a.Tenant, b.Tenant) })
	return all
}

// glimpse is a copy of a waiter's fields, taken under the mutex.
type glimpse struct {
	tenant, label string
	need          resources.Vector
	many          []resources.Vector // never changed; nil of one need
	since         time.Duration
	why           reason
}

// glimpse notes a waiter that is behind n requests of its tenant. Called with mu
// held.
func (p *Pool) glimpse(w *waiter, n int) glimpse {
	g := glimpse{tenant: w.tenant.name, need: w.need, since: w.since, why: p.admission.reason(w, n)}
	if w.many() != nil {
		g.many = w.many().needs
	}
	if w.extra != nil {
		g.label = w.extra.label
	}
	return g
}

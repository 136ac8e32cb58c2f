package pool

import (
	"cmp"
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// All of this file is called with the pool's mutex held.

// promise is room on one machine that a guarantee takes back for one need of a
// request.
type promise struct {
	of    *waiter
	node  int
	need  resources.Vector
	got   resources.Vector // of need: free room that other promises leave alone
	order uint64           // in which promises were made
}

// owe hides room on machines from others, by need, until w is served. It goes before
// what patience has reserved there.
func (p *Pool) owe(w *waiter, nodes []locality.Node) {
	r := &reservation{nodes: nodes, made: p.grants, at: p.at, owed: true, missing: len(nodes), promises: make([]promise, len(nodes))}
	w.kept = r
	if least := w.least(); len(p.promised) == 0 {
		p.leastPromised = *least
	} else {
		lower(&p.leastPromised, least)
	}
	p.promised = append(p.promised, w)
	w.promise()
	for i := range r.promises {
		p.promises++
		pr := &r.promises[i]
		*pr = promise{of: w, node: int(nodes[i]), need: *w.needAt(i), order: p.promises}
		m := &p.books.machines[pr.node]
		m.owing++
		m.owed = m.owed.Add(pr.need)
		m.promises = append(m.promises, pr)
		p.books.settle(pr.node)
		p.allot(pr.node, nil)
		if p.victimIndex != nil {
			p.victimIndex.owe(pr)
		}
	}
}

// unowe takes back what is promised to w: other promises have it, or all requests.
func (p *Pool) unowe(w *waiter) {
	w.unpromise()
	for i := range w.kept.promises {
		pr := &w.kept.promises[i]
		m := &p.books.machines[pr.node]
		m.owing--
		m.owed, _ = m.owed.Sub(pr.need)
		m.assigned, _ = m.assigned.Sub(pr.got)
		at, _ := slices.BinarySearchFunc(m.promises, pr, func(a, b *promise) int { return cmp.Compare(a.order, b.order) })
		m.promises = slices.Delete(m.promises, at, at+1)
		if p.victimIndex != nil {
			p.victimIndex.unowe(pr)
		}
		p.books.settle(pr.node)
		p.allot(pr.node, nil)
	}
	at, _ := slices.BinarySearchFunc(p.promised, w.kept.promises[0].order, func(o *waiter, order uint64) int {
		return cmp.Compare(o.kept.promises[0].order, order)
	})
	p.promised = slices.Delete(p.promised, at, at+1)
	if w.kept.missing == 0 {
		at = slices.Index(p.due, w)
		p.due = slices.Delete(p.due, at, at+1)
	}
}

// allot divides the free room of a machine among the promises there. If a preempted lease
// has just ended, the promise for which it was preempted comes first. The others follow
// in the order in which they were made. No later promise takes the room that one has got.
// So each request is served when the leases that were preempted for it have ended, also
// where another's holders are late.
func (p *Pool) allot(node int, first *reservation) {
	m := &p.books.machines[node]
	left, want := m.free(), sumOf(&m.owed, &m.assigned, -1)
	left = sumOf(&left, &m.assigned, -1)
	if first != nil && !first.over {
		for i := range first.promises {
			if pr := &first.promises[i]; pr.node == node {
				p.assign(m, pr, &left, &want)
			}
		}
	}
	for _, pr := range m.promises {
		if !meet(&left, &want) {
			return
		}
		p.assign(m, pr, &left, &want)
	}
}

// assign gives a promise of what is left on its machine, and notes a request that has
// got all that was promised.
func (p *Pool) assign(m *machine, pr *promise, left, want *resources.Vector) {
	if pr.got == pr.need {
		return
	}
	for k := range left {
		more := max(0, min(pr.need[k]-pr.got[k], left[k]))
		pr.got[k], m.assigned[k] = pr.got[k]+more, m.assigned[k]+more
		left[k], want[k] = left[k]-more, want[k]-more
	}
	if pr.got != pr.need {
		return
	}
	if pr.of.kept.missing--; pr.of.kept.missing == 0 {
		p.due = append(p.due, pr.of)
	}
}

// meet reports whether two amounts have some of one kind.
func meet(a, b *resources.Vector) bool {
	for k := range a {
		if a[k] > 0 && b[k] > 0 {
			return true
		}
	}
	return false
}

// isOwed reports whether a guarantee takes room back for w on a machine.
func (w *waiter) isOwed(node int) bool {
	return w.isPromised() && slices.Contains(w.kept.nodes, locality.Node(node))
}

// servePromised places a waiter that was promised room: one that has got it, or that
// finds other room. It drops a task that is over, also before one that is strict.
func (p *Pool) servePromised() bool {
	for _, w := range p.due {
		if t := w.tenant; w != t.first && t.set.Strict && t.first.expired() != nil {
			w = t.first
		}
		if p.servePromise(w) {
			return true
		}
	}
	most := &p.books.most.nodes[1]
	if *most == (resources.Vector{}) || !resources.Fits(&p.leastPromised, most) {
		return false
	}
	for _, w := range p.promised {
		if w.kept.missing > 0 && resources.Fits(w.least(), most) && p.servePromise(w) {
			return true
		}
	}
	return false
}

func (p *Pool) servePromise(w *waiter) bool {
	if w.expired() == nil && (w != w.tenant.first && w.tenant.set.Strict || w.heldBack()) || !p.fits(w) {
		return false
	}
	p.place()
	return true
}

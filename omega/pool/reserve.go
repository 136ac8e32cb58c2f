package pool

import (
	"cmp"
	"slices"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// Reservations. A request that is first in the order and fits nowhere would starve beside
// small ones, which always fit. After the pool's patience the machine that is nearest to
// having enough is reserved for it: room that comes free there is kept.
//
// Backfill. As long as the leases from before the reservation leave no room for it, the
// wait cannot end. So others go on in the room that is kept, with tasks that are expected
// to end before enough of those leases do. A lease beyond its expected length is expected
// to take as long again as the reservation has lasted.
//
// Bound. Let r be a reserved request, and
//
//   - A the time until so many leases from before have ended that the others leave room
//     for r: at most the longest remaining time of one;
//   - B the longest time of a lease granted there since.
//
// Then r starts within A + B:
//
//  1. After A none is granted there any more in the room that r needs.
//  2. Each of those granted since ends within B of its start, which was before A was
//     over.

// patient reports whether w has to wait on before room is reserved for it. Its patience
// is not over, or its tenant was served of late and has received its share. Without the
// latter, a tenant with many requests that always wait would be served whenever one
// before it in the order is throttled for a moment.
func (p *Pool) patient(w *waiter) bool {
	t := w.tenant
	return p.patience < 0 || p.at-w.since < p.patience || p.at-t.served < p.late() && !p.fair.Due(t.user, p.at)
}

// late returns for how long a tenant counts as served of late.
func (p *Pool) late() time.Duration {
	if p.adaptive {
		return mostPatience
	}
	return p.patience
}

// reserve keeps a machine for w if its patience is over, and reports whether it
// is kept for w now. Called with mu held.
func (p *Pool) reserve(w *waiter) bool {
	if w.kept != nil {
		return true
	}
	if p.patient(w) {
		return false
	}
	nodes := p.plan(w)
	if nodes == nil {
		return false // each machine that would do is reserved for another
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(nodes)))
	if most := max(1, int(p.reserved*float64(p.books.alive()))); p.keepers > 0 && p.keepers+len(distinct) > most {
		return false
	}
	p.keep(w, nodes)
	return true
}

// keep reserves machines for w, one for each need.
func (p *Pool) keep(w *waiter, nodes []locality.Node) {
	w.kept = &reservation{nodes: nodes, made: p.grants, at: p.at}
	p.reserves = append(p.reserves, w)
	for _, node := range nodes {
		if m := &p.books.machines[node]; m.keeper != w {
			m.keeper, m.older = w, m.held
			p.keepers++
		}
	}
	w.kept.until = p.expectedEnd(w)
	if p.settleKept(w); w.kept.older {
		p.reopen(w.kept)
	}
}

// expectedEnd returns when so many leases on w's machines are expected to have
// ended that the others leave room for w.
func (p *Pool) expectedEnd(w *waiter) time.Duration {
	type end struct {
		slot uint32
		at   time.Duration
	}
	var ends []end
	for slot, r := range p.granted() {
		if p.books.machines[r.node].keeper != w {
			continue
		}
		held := p.at - r.at
		left := held // unknown, or over
		if expected, known := p.fair.Expected(r.tenant.user); known && expected > held {
			left = expected - held
		}
		ends = append(ends, end{slot, p.at + left})
	}
	slices.SortFunc(ends, func(a, b end) int { return cmp.Compare(a.at, b.at) })
	gone := make(map[locality.Node]resources.Vector)
	until := p.at
	for _, e := range ends {
		if !p.heldUp(w, gone) {
			break
		}
		node := locality.Node(p.records[e.slot].node)
		gone[node] = gone[node].Add(p.records[e.slot].run.Need)
		until = e.at
	}
	return until
}

// heldUp reports whether the leases from before w's reservation, but for some that
// are gone, leave no room for its needs.
func (p *Pool) heldUp(w *waiter, gone map[locality.Node]resources.Vector) bool {
	for i, node := range w.kept.nodes {
		m := &p.books.machines[node]
		for k, have := range m.capacity {
			need := w.needAt(i)[k]
			for j, other := range w.kept.nodes[:i] { // those of one machine together
				if other == node {
					need += w.needAt(j)[k]
				}
			}
			if need > 0 && need > have-m.older[k]+gone[node][k] {
				return true
			}
		}
	}
	return false
}

// reopen serves waiters again when longer tasks may backfill: no lease need end
// at that time. The times double.
func (p *Pool) reopen(r *reservation) {
	wait := max(r.until-p.at, p.at-r.at, time.Millisecond)
	if wait > maxGrace {
		return // virtual time would go on for ever where nothing else happens
	}
	r.timer = time.AfterFunc(wait, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if r.over || !r.older {
			return // its waiter may serve another request by now
		}
		p.tick()
		p.next()
		if !r.over && r.older {
			p.reopen(r)
		}
	})
}

// unreserve takes back what is kept for w, or promised to it.
func (p *Pool) unreserve(w *waiter) {
	if w.kept == nil {
		return
	}
	w.kept.over = true
	if w.kept.owed {
		p.unowe(w)
		w.kept = nil
		return
	}
	for _, node := range w.kept.nodes {
		if m := &p.books.machines[node]; m.keeper == w {
			m.keeper, m.kept = nil, resources.Vector{}
			p.keepers--
		}
		p.books.settle(int(node))
	}
	if w.kept.timer != nil {
		w.kept.timer.Stop()
	}
	w.kept = nil
	i := slices.Index(p.reserves, w)
	p.reserves = slices.Delete(p.reserves, i, i+1)
}

// aged notes that a lease from before w's reservation has ended on its machine, or
// shrunk by so much.
func (p *Pool) aged(w *waiter, node int, by *resources.Vector) {
	m := &p.books.machines[node]
	for k := range m.older {
		m.older[k] -= by[k]
	}
	p.settleKept(w)
}

// settleKept hides the reserved room from others once no older lease holds w up.
// Then leases that were granted since are all that it waits for.
func (p *Pool) settleKept(w *waiter) {
	if w.kept.older = p.heldUp(w, nil); w.kept.older {
		return
	}
	for _, node := range w.kept.nodes {
		p.books.machines[node].kept = resources.Vector{}
	}
	for i, node := range w.kept.nodes {
		m := &p.books.machines[node]
		m.kept = m.kept.Add(*w.needAt(i))
	}
	for _, node := range w.kept.nodes {
		p.books.settle(int(node))
	}
}

// open reports whether a machine may be used by t although it may be kept for
// another waiter.
func (p *Pool) open(node int, t *Tenant) bool {
	w := p.books.machines[node].keeper
	if w == nil || !w.kept.older {
		return true // what is kept is no room
	}
	expected, known := p.fair.Expected(t.user)
	return !known || p.at+expected <= w.kept.until || p.at >= w.kept.until && expected <= p.at-w.kept.at
}

// plan returns the machines for w's needs once there is room; nil if there are none.
// Machines near enough to its data come first, then those that lack the least. None is
// reserved for another.
func (p *Pool) plan(w *waiter) []locality.Node {
	type place struct {
		node    locality.Node
		far     bool
		missing float64
	}
	var places []place
	need := w.needAt(0)
	for i := range p.books.machines {
		m := &p.books.machines[i]
		if m.gone || m.draining || m.keeper != nil {
			continue
		}
		at := place{node: locality.Node(i), far: !p.acceptable(w, locality.Node(i))}
		for k, q := range need {
			if short := q + m.held[k] - m.reach(k); q > 0 && short > 0 {
				at.missing = max(at.missing, float64(short)/float64(max(m.capacity[k], 1)))
			}
		}
		places = append(places, at)
	}
	slices.SortStableFunc(places, func(a, b place) int {
		if a.far != b.far {
			if a.far {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.missing, b.missing)
	})
	order := make([]locality.Node, len(places))
	for i, at := range places {
		order[i] = at.node
	}
	if nodes := p.packing(w, order, false, nil); nodes != nil || w.many() == nil {
		return nodes
	}
	// Several needs fit by number if they were accepted so; machines reserved
	// for another are no place for them.
	nodes := p.packing(w, p.byNumber(), false, nil)
	for _, node := range nodes {
		if p.books.machines[node].keeper != nil {
			return nil
		}
	}
	return nodes
}

// needAt returns the need of a waiter by number.
func (w *waiter) needAt(i int) *resources.Vector {
	if w.many() != nil {
		return &w.many().needs[i]
	}
	return &w.need
}

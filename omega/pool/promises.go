package pool

import (
	"cmp"
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// promiseBook is the room that guarantees take back, by the request and machine that it
// is promised to.
type promiseBook struct {
	*core
	search *victimSearch

	list      []*waiter        // that a guarantee takes room back for, in that order
	due       []*waiter        // waiters of list whose room is complete
	least     resources.Vector // lower bound of the needs in list
	made      uint64           // so far
	withdrawn bool             // a promise, or another has got its room, since dispatch served all
}

// promise is room on one machine that a guarantee takes back for one need of a
// request.
type promise struct {
	of    *waiter
	node  int
	need  resources.Vector
	got   resources.Vector // of need: free room that other promises leave alone
	order uint64           // in which promises were made
}

// owe promises room on machines to w, by need: others cannot use it until w is
// served. A promise takes precedence over a reservation made after a patience.
func (ps *promiseBook) owe(w *waiter, nodes []locality.Node) {
	r := &reservation{nodes: nodes, made: ps.leases.grants, at: ps.at, owed: true, missing: len(nodes), promises: make([]promise, len(nodes))}
	w.kept = r
	if least := w.least(); len(ps.list) == 0 {
		ps.least = *least
	} else {
		lower(&ps.least, least)
	}
	ps.list = append(ps.list, w)
	w.promise()
	for i := range r.promises {
		ps.made++
		pr := &r.promises[i]
		*pr = promise{of: w, node: int(nodes[i]), need: *w.needAt(i), order: ps.made}
		m := &ps.books.machines[pr.node]
		m.owing++
		m.owed = m.owed.Add(pr.need)
		m.promises = append(m.promises, pr)
		ps.books.settle(pr.node)
		ps.allot(pr.node, nil)
		if ps.search.index != nil {
			ps.search.index.owe(pr)
		}
	}
}

// unowe withdraws the promises to w: their room goes to other promises, or to all requests.
func (ps *promiseBook) unowe(w *waiter) {
	w.unpromise()
	for i := range w.kept.promises {
		pr := &w.kept.promises[i]
		m := &ps.books.machines[pr.node]
		m.owing--
		m.owed, _ = m.owed.Sub(pr.need)
		m.assigned, _ = m.assigned.Sub(pr.got)
		at, _ := slices.BinarySearchFunc(m.promises, pr, func(a, b *promise) int { return cmp.Compare(a.order, b.order) })
		m.promises = slices.Delete(m.promises, at, at+1)
		if ps.search.index != nil {
			ps.search.index.unowe(pr)
		}
		ps.books.settle(pr.node)
		ps.allot(pr.node, nil)
	}
	at, _ := slices.BinarySearchFunc(ps.list, w.kept.promises[0].order, func(o *waiter, order uint64) int {
		return cmp.Compare(o.kept.promises[0].order, order)
	})
	ps.list = slices.Delete(ps.list, at, at+1)
	if w.kept.missing == 0 {
		at = slices.Index(ps.due, w)
		ps.due = slices.Delete(ps.due, at, at+1)
	}
}

// allot divides the free room of a machine among the promises there. If a preempted lease
// has just ended, the promise for which it was preempted comes first. The others follow
// in the order in which they were made. No later promise takes the room that one has got.
// So each request is served when the leases that were preempted for it have ended, also
// where another's holders are late.
func (ps *promiseBook) allot(node int, first *reservation) {
	m := &ps.books.machines[node]
	left, want := m.free(), sumOf(&m.owed, &m.assigned, -1)
	left = sumOf(&left, &m.assigned, -1)
	if first != nil && !first.over {
		for i := range first.promises {
			if pr := &first.promises[i]; pr.node == node {
				ps.assign(m, pr, &left, &want)
			}
		}
	}
	for _, pr := range m.promises {
		if !meet(&left, &want) {
			return
		}
		ps.assign(m, pr, &left, &want)
	}
}

// assign gives a promise of what is left on its machine, and notes a request that has
// got all that was promised.
func (ps *promiseBook) assign(m *machine, pr *promise, left, want *resources.Vector) {
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
		ps.due = append(ps.due, pr.of)
	}
}

// unkept returns a request with a promise on a machine that cannot be kept; nil if there
// is none. Room, which is below 0, is the rest beside all promises.
func (ps *promiseBook) unkept(node int, room *resources.Vector, by *reservation) *waiter {
	var latest *waiter
	for _, pr := range ps.books.machines[node].promises {
		for k, left := range room {
			if left >= 0 || pr.got[k] == pr.need[k] {
				continue
			}
			if latest = pr.of; latest.kept == by {
				return latest
			}
		}
	}
	return latest
}

// latestIn returns the request in t that was promised room last, or the one that a
// reservation is for. There is one.
func (ps *promiseBook) latestIn(t *Tenant, by *reservation) (latest *waiter) {
	for _, w := range ps.list {
		if !w.tenant.isIn(t) {
			continue
		}
		if latest = w; w.kept == by {
			break
		}
	}
	return latest
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

package pool

import (
	"cmp"
	"slices"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// eligible is a request for which a guarantee may take room back.
type eligible struct {
	*waiter
	since time.Duration // when it came, or one before it in its queue
	child *Tenant       // that it is in, among siblings
}

// candidates appends the requests of a tenant for which the guarantee of g may take
// room back, the first few of its queue. A strict tenant has none behind a request
// that needs room in another way: it may not start before that.
func (t *Tenant) candidates(g *Tenant, look *look, held *resources.Vector, to []eligible) []eligible {
	swaps := t.pool.tenants.ranked && g.promises > 0
	if !swaps && (!g.leaves(held, &t.least) || look.hopeless(&t.least)) {
		return to
	}
	tried, since := 0, time.Duration(0)
	for w := t.first; w != nil && tried < lookahead; w = w.next {
		if w.isPromised() {
			continue
		}
		if tried++; w.expired() != nil {
			continue
		}
		since = max(since, w.since)
		switch {
		case w.delayed() || !swaps && look.hopelessFor(w):
			if t.set.Strict {
				return to
			}
		default:
			to = append(to, eligible{w, since, t})
		}
	}
	return to
}

// inOrder appends the candidates below t in the order in which the guarantee of g, t or a
// group above it, serves them. That is by class among siblings, then by arrival. It notes
// in look which requests wait.
func (t *Tenant) inOrder(g *Tenant, look *look, held *resources.Vector, to []eligible) []eligible {
	if t.children == nil {
		if t.first == nil {
			return to
		}
		if look.any {
			lower(&look.least, &t.least)
		} else {
			look.any, look.least = true, t.least
		}
		return t.candidates(g, look, held, to)
	}
	from := len(to)
	for _, c := range t.children {
		at, since := len(to), time.Duration(0)
		to = c.inOrder(g, look, held, to)
		for i := range to[at:] { // each child keeps its own order
			e := &to[at+i]
			since = max(since, e.since)
			e.since, e.child = since, c
		}
	}
	slices.SortStableFunc(to[from:], func(a, b eligible) int {
		return cmp.Or(cmp.Compare(b.child.set.Priority, a.child.set.Priority), cmp.Compare(a.since, b.since),
			cmp.Compare(a.child.user.Index(), b.child.user.Index()))
	})
	return to
}

// leaves reports whether t's guarantee has as much left, of the kinds it names.
func (t *Tenant) leaves(held, least *resources.Vector) bool {
	for k, most := range t.guarantee {
		if most > 0 && least[k] > 0 && held[k] > most-least[k] {
			return false
		}
	}
	return true
}

// covers reports whether a guarantee covers a need beyond what is held. Kinds that
// it does not name do not count, but it has to name one that is needed.
func covers(guarantee, held, need *resources.Vector) (some bool) {
	for k, most := range guarantee {
		if most == 0 || need[k] == 0 {
			continue
		}
		if held[k] > most-need[k] { // in this order no amount overflows
			return false
		}
		some = true
	}
	return some
}

// choosy reports whether w may find no room where another request with the same need
// does: it requires machines, or its caller holds leases.
func (w *waiter) choosy() bool {
	return w.extra != nil && (w.extra.own != nil || w.extra.near != nil && w.extra.near.required)
}

// precedes reports whether w goes before o: by priority within a tenant, by class among
// siblings.
func (w *waiter) precedes(o *waiter) bool {
	if w.tenant == o.tenant {
		return w.priority > o.priority
	}
	return w.tenant.branchAgainst(o.tenant).set.Priority > o.tenant.branchAgainst(w.tenant).set.Priority
}

// passOn makes the leases that were preempted for one reservation those of another.
func (r *reservation) passOn(taken []Lease) {
	for _, l := range taken {
		if of := l.live(); of != nil && !of.late {
			of.takenFor = r
			r.taken = append(r.taken, l)
		}
	}
}

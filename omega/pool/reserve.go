package pool

import (
	"cmp"
	"slices"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// reservations are the machines that are kept for requests that waited too long.
type reservations struct {
	*core
	placement *placement
	promises  *promiseBook

	reserved   float64
	adaptive   bool          // the patience follows the lengths of leases
	processors int           // that goroutines run on, when the pool was made
	list       []*waiter     // with one that is not promised
	patience   time.Duration // before room is reserved; negative: it is not
	looked     time.Duration // when reserve was last tried
	lasting    time.Duration // mean length of the last leases that others waited behind
}

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
func (rs *reservations) patient(w *waiter) bool {
	t := w.tenant
	return rs.patience < 0 || rs.at-w.since < rs.patience || rs.at-t.served < rs.late() && !rs.tenants.fair.Due(t.user, rs.at)
}

// late returns for how long a tenant counts as served of late.
func (rs *reservations) late() time.Duration {
	if rs.adaptive {
		return mostPatience
	}
	return rs.patience
}

// reserve keeps a machine for w if its patience is over, and reports whether it
// is kept for w now. Called with mu held.
func (rs *reservations) reserve(w *waiter) bool {
	if w.kept != nil {
		return true
	}
	if rs.patient(w) {
		return false
	}
	nodes := rs.plan(w)
	if nodes == nil {
		return false // each machine that would do is reserved for another
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(nodes)))
	if most := max(1, int(rs.reserved*float64(rs.books.alive()))); rs.books.keepers > 0 && rs.books.keepers+len(distinct) > most {
		return false
	}
	rs.keep(w, nodes)
	return true
}

// keep reserves machines for w, one for each need.
func (rs *reservations) keep(w *waiter, nodes []locality.Node) {
	w.kept = &reservation{nodes: nodes, made: rs.leases.grants, at: rs.at}
	rs.list = append(rs.list, w)
	for _, node := range nodes {
		if m := &rs.books.machines[node]; m.keeper != w {
			m.keeper, m.older = w, m.held
			rs.books.keepers++
		}
	}
	w.kept.until = rs.expectedEnd(w)
	if rs.settleKept(w); w.kept.older {
		rs.reopen(w.kept)
	}
}

// expectedEnd returns when so many leases on w's machines are expected to have
// ended that the others leave room for w.
func (rs *reservations) expectedEnd(w *waiter) time.Duration {
	type end struct {
		slot uint32
		at   time.Duration
	}
	var ends []end
	for slot, r := range rs.leases.all() {
		if rs.books.machines[r.node].keeper != w {
			continue
		}
		held := rs.at - r.at
		left := held // unknown, or over
		if expected, known := rs.tenants.fair.Expected(r.tenant.user); known && expected > held {
			left = expected - held
		}
		ends = append(ends, end{slot, rs.at + left})
	}
	slices.SortFunc(ends, func(a, b end) int { return cmp.Compare(a.at, b.at) })
	gone := make(map[locality.Node]resources.Vector)
	until := rs.at
	for _, e := range ends {
		if !rs.heldUp(w, gone) {
			break
		}
		node := locality.Node(rs.leases.records[e.slot].node)
		gone[node] = gone[node].Add(rs.leases.records[e.slot].run.Need)
		until = e.at
	}
	return until
}

// heldUp reports whether the leases from before w's reservation, but for some that
// are gone, leave no room for its needs.
func (rs *reservations) heldUp(w *waiter, gone map[locality.Node]resources.Vector) bool {
	for i, node := range w.kept.nodes {
		m := &rs.books.machines[node]
		for k, have := range m.capacity {
			need := w.needAt(i)[k]
			for j, other := range w.kept.nodes[:i] { // nodes of one machine together
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
func (rs *reservations) reopen(r *reservation) {
	wait := max(r.until-rs.at, rs.at-r.at, time.Millisecond)
	if wait > maxGrace {
		return // virtual time would go on for ever if nothing else happens
	}
	r.timer = time.AfterFunc(wait, func() {
		rs.mu.Lock()
		defer rs.mu.Unlock()
		if r.over || !r.older {
			return // its waiter may serve another request by now
		}
		rs.tick()
		rs.next()
		if !r.over && r.older {
			rs.reopen(r)
		}
	})
}

// unreserve takes back the room that is reserved for w, or promised to it.
func (rs *reservations) unreserve(w *waiter) {
	if w.kept == nil {
		return
	}
	w.kept.over = true
	if w.kept.owed {
		rs.promises.unowe(w)
		w.kept = nil
		return
	}
	for _, node := range w.kept.nodes {
		if m := &rs.books.machines[node]; m.keeper == w {
			m.keeper, m.kept = nil, resources.Vector{}
			rs.books.keepers--
		}
		rs.books.settle(int(node))
	}
	if w.kept.timer != nil {
		w.kept.timer.Stop()
	}
	w.kept = nil
	i := slices.Index(rs.list, w)
	rs.list = slices.Delete(rs.list, i, i+1)
}

// unreserveOn takes back what is reserved on a machine that has changed. It is made
// anew, where it is due.
func (rs *reservations) unreserveOn(node locality.Node) {
	for _, list := range [...][]*waiter{rs.list, rs.promises.list} {
		for _, w := range slices.Backward(slices.Clone(list)) {
			if slices.Contains(w.kept.nodes, node) {
				rs.unreserve(w)
			}
		}
	}
}

// aged notes that a lease from before w's reservation has ended on its machine, or
// shrunk by so much.
func (rs *reservations) aged(w *waiter, node int, by *resources.Vector) {
	m := &rs.books.machines[node]
	for k := range m.older {
		m.older[k] -= by[k]
	}
	rs.settleKept(w)
}

// settleKept hides the reserved room from others once no older lease holds w up.
// Then leases that were granted since are all that it waits for.
func (rs *reservations) settleKept(w *waiter) {
	if w.kept.older = rs.heldUp(w, nil); w.kept.older {
		return
	}
	for _, node := range w.kept.nodes {
		rs.books.machines[node].kept = resources.Vector{}
	}
	for i, node := range w.kept.nodes {
		m := &rs.books.machines[node]
		m.kept = m.kept.Add(*w.needAt(i))
	}
	for _, node := range w.kept.nodes {
		rs.books.settle(int(node))
	}
}

// plan returns the machines for w's needs once there is room; nil if there are none.
// Machines near enough to its data come first, then those that lack the least. None is
// reserved for another.
func (rs *reservations) plan(w *waiter) []locality.Node {
	type place struct {
		node    locality.Node
		far     bool
		missing float64
	}
	var places []place
	need := w.needAt(0)
	for i := range rs.books.machines {
		m := &rs.books.machines[i]
		if m.gone || m.draining || m.keeper != nil {
			continue
		}
		at := place{node: locality.Node(i), far: !rs.placement.acceptable(w, locality.Node(i))}
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
	if nodes := rs.placement.packing(w, order, false, nil); nodes != nil || w.many() == nil {
		return nodes
	}
	// Several needs fit by number if they were accepted so; machines reserved
	// for another are no place for them.
	nodes := rs.placement.packing(w, rs.books.byNumber(), false, nil)
	for _, node := range nodes {
		if rs.books.machines[node].keeper != nil {
			return nil
		}
	}
	return nodes
}

// lasted notes how long a lease was held that others waited behind.
func (rs *reservations) lasted(long time.Duration) {
	if rs.lasting == 0 { // the first one
		rs.lasting = long
	}
	rs.lasting += (long - rs.lasting) / 8
	if rs.adaptive {
		rs.patience = min(max(patienceTasks*min(rs.lasting, mostPatience), leastPatience), mostPatience)
	}
}

// brief reports whether w may be served before it would sleep: leases are short, few
// others wait, and holders and waiters outnumber the processors. Then some of them are
// about to run. Called with mu held.
func (rs *reservations) brief(w *waiter) bool {
	return w.queued && rs.lasting < briefly && rs.waits.waiting <= fewWaiting && rs.leases.held+rs.waits.waiting > rs.processors
}

// untilPatient returns when the patience of the next request is over, and whether there is
// one to wait for.
func (rs *reservations) untilPatient() (wait time.Duration, some bool) {
	if rs.waits.waiting == 0 || rs.patience < 0 {
		return 0, false
	}
	for t := range rs.tenants.all() {
		if t.first == nil || t.first.kept != nil {
			continue
		}
		over := t.first.since + rs.patience
		if t.served > 0 {
			over = max(over, t.served+rs.late())
		}
		// Those before have had their look, which is one in so many of the patience.
		if left := over + rs.patience/64 + 1 - rs.at; left > 0 && (!some || left < wait) {
			wait, some = left, true
		}
	}
	return wait, some
}

// The default patience: some tasks end meanwhile, which may make room by themselves.
// For tasks of minutes it is short.
const (
	patienceTasks = 10 // so many of their mean length,
	leastPatience = 100 * time.Microsecond
	mostPatience  = time.Second // also before any length is known
)

const (
	// briefly is the mean length of leases below which a waiter yields once before
	// it sleeps. A yield takes some 0.1 µs, less than 1 % of such a lease.
	briefly = 50 * time.Microsecond

	// fewWaiting is how many requests may wait for that. Behind more, one yield is
	// seldom enough.
	fewWaiting = 16
)

// needAt returns the need of a waiter by number.
func (w *waiter) needAt(i int) *resources.Vector {
	if w.many() != nil {
		return &w.many().needs[i]
	}
	return &w.need
}

package pool

import (
	"cmp"
	"runtime"
	"slices"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// restorer takes room back for guarantees: it chooses the leases that are preempted for
// each request that a guarantee covers, and promises it their room.
type restorer struct {
	*core
	placement *placement
	search    *victimSearch
	promises  *promiseBook
	reserving *reservations
	graces    *graces
	granting  *granter

	more  bool // requests may have room taken back for them, after others
	going bool // a goroutine sees to that
}

// settled reports whether there are guarantees, and no other room for what they cover.
func (rt *restorer) settled() bool {
	return len(rt.tenants.guaranteed) > 0 && (rt.lend == nil || rt.lend.settled)
}

// demandAll takes back the guaranteed room of each tenant and group with a guarantee.
func (rt *restorer) demandAll() {
	if !rt.settled() || rt.waits.waiting == 0 {
		return
	}
	for _, g := range rt.tenants.guaranteed {
		rt.demand(g, nil)
	}
}

// demandFor takes back what is owed to a tenant, which has a new request, by its
// guarantee and those of the groups that it is in.
func (rt *restorer) demandFor(t *Tenant) {
	for g := t; g != nil; g = g.parent {
		if g.guarantee != (resources.Vector{}) {
			rt.demand(g, t)
		}
	}
}

// demand preempts leases for the requests in g that its guarantee covers: those of one
// tenant if it is given. Called with mu held, after a dispatch.
//
// Cost, for M machines, C of them changed since the last look, and W requests:
//
//   - O(C) where all needs are as large as one that had no room and has none now;
//   - else O(M + W log W), and [Pool.victims] for each request that finds room.
//
// W counts lookahead requests at most of each tenant, and those that are promised room.
func (rt *restorer) demand(g, only *Tenant) {
	if g.children == nil && g.first == nil {
		return
	}
	x := rt.search.use(rt.promises.list)
	look := x.looks[g]
	x.refresh(look)
	held := rt.tenants.fair.Held(g.user).Add(g.promised) // promised room will be held
	if swaps := rt.tenants.ranked && g.promises > 0; !swaps && (x.nothing(look) || look.known && !g.leaves(&held, &look.least)) {
		return
	}
	var list []eligible
	if only != nil {
		list = only.candidates(g, look, &held, nil)
	} else {
		look.known, look.any = true, false
		list = g.inOrder(g, look, &held, nil)
	}
	promised := 0
	var blocked []*Tenant // strict ones with a request that gets nothing
	for _, c := range list {
		if slices.Contains(blocked, c.tenant) {
			continue
		}
		if promised == demandAtATime {
			rt.more = true
			break
		}
		if rt.demandOne(c.waiter, g, look, &held, nil) {
			promised++
			held = rt.tenants.fair.Held(g.user).Add(g.promised)
		} else if c.tenant.set.Strict {
			blocked = append(blocked, c.tenant) // requests behind it may not start before it
		}
	}
}

// demandAtATime is for how many requests of a guarantee room is taken back before others
// may go on.
const demandAtATime = 8

// goOn lets a goroutine demand the rest, if there is one. Called after a dispatch, and
// after demandFor.
func (rt *restorer) goOn() {
	if rt.more && !rt.going {
		rt.going = true
		go rt.demandRest()
	}
}

// demandRest dispatches, some requests at a time, until no guarantee has more taken back
// for it. It ends by itself: each time some more requests are promised room.
func (rt *restorer) demandRest() {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	for rt.more {
		rt.more = false
		rt.tick()
		rt.next()
		rt.mu.Unlock()
		runtime.Gosched()
		rt.mu.Lock()
	}
	rt.going = false
}

// demandOne preempts leases for one request in g, beside what is held there and leases
// that were preempted for it before, and reports whether there are enough.
func (rt *restorer) demandOne(w *waiter, g *Tenant, look *look, held *resources.Vector, taken []Lease) bool {
	nodes, victims := rt.relief(w, g, look, held)
	if nodes == nil {
		return rt.tenants.ranked && rt.takeOver(w, g)
	}
	rt.reserving.unreserve(w)
	for _, v := range victims {
		if v.owed != nil {
			rt.reserving.unreserve(v.owed) // it waits on in the order
			rt.promises.withdrawn = true   // and others in the rest of its limit
		}
	}
	rt.promises.owe(w, nodes)
	w.kept.passOn(taken)
	rt.graces.revoke(victims, w.kept)
	rt.granting.startPromised(w)
	return true
}

// relief returns, by need, the machines where preemption makes room for w, and the
// victims; nil if the guarantee of g does not cover it, or finds no room.
func (rt *restorer) relief(w *waiter, g *Tenant, look *look, held *resources.Vector) (nodes []locality.Node, of []victim) {
	if !covers(&g.guarantee, held, &w.need) || w.tenant.bounded && !w.tenant.payable() {
		return nil, nil
	}
	x := rt.search.use(rt.promises.list)
	if x.changes != look.changes {
		x.refresh(look)
	}
	if look.hopelessFor(w) {
		return nil, nil
	}
	var over []excess
	if w.tenant.bounded {
		var can bool
		if over, can = w.excesses(g); !can {
			return nil, nil
		}
	}
	return rt.search.victims(w, g, look, over)
}

// takeOver promises w the room of a later request of the guarantee, which then waits on.
// That is one of w's tenant with a lower priority, or of a tenant of a lower class. It
// reports whether there is one.
func (rt *restorer) takeOver(w *waiter, g *Tenant) bool {
	if w.many() != nil {
		return false
	}
	for _, o := range slices.Backward(rt.promises.list) {
		if o.many() != nil || !o.tenant.isIn(g) || !w.precedes(o) || !resources.Fits(&w.need, &o.need) || !rt.placement.acceptableNode(w, o.kept.nodes[0]) {
			continue
		}
		nodes, taken, to := o.kept.nodes, o.kept.taken, o
		rt.reserving.unreserve(o)
		if !w.tenant.bounded || w.tenant.payable() && w.overPromise() == nil {
			rt.reserving.unreserve(w)
			to = w
		}
		rt.promises.owe(to, nodes)
		to.kept.passOn(taken)
		if to == w {
			rt.promises.withdrawn = true // there may be other room for the later request
			rt.granting.startPromised(w)
			return true
		}
	}
	return false
}

// endGraces takes other room back for the requests that counted on leases beyond their
// grace.
func (rt *restorer) endGraces() {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.tick()
	rt.graces.set = false
	rt.graces.revoked = slices.DeleteFunc(rt.graces.revoked, func(l Lease) bool { return l.live() == nil })
	var late []Lease
	var left time.Duration                // of the next grace
	for _, l := range rt.graces.revoked { // in the order of their graces
		r := l.live()
		if r.late || r.foreign {
			continue
		}
		if left = r.overdue - rt.at; left >= 0 {
			break
		}
		late = append(late, l)
		rt.graces.inGrace--
		if r.late = true; rt.search.index != nil {
			rt.search.index.late(r)
		}
		r.tenant.returns(&r.run.Need, -1)
	}
	rt.graces.start(left) // before others are preempted
	var again []renewal
	for _, l := range late {
		again = rt.withdraw(l.live(), again)
	}
	// Before others may have what these requests had got: it may be enough with some more.
	slices.SortFunc(again, func(a, b renewal) int { return cmp.Compare(a.order, b.order) })
	for i := range again {
		rt.renew(&again[i])
	}
	for i := range again {
		for t := again[i].tenant; t != nil; t = t.parent {
			t.bucket.free = min(t.bucket.free, t.bucket.burst) // the other tokens are free again
		}
	}
	if len(again) > 0 {
		rt.next()
	}
}

// renewal is a request whose promise was withdrawn.
type renewal struct {
	w      *waiter
	tenant *Tenant
	order  uint64  // of the promise
	taken  []Lease // preempted for it
}

// withdraw withdraws promises until none counts on a late lease, first what it was
// preempted for, then the latest, and appends their requests.
func (rt *restorer) withdraw(late *record, to []renewal) []renewal {
	by := late.takenFor
	late.takenFor = nil
	node := int(late.node)
	for rt.books.machines[node].owing > 0 {
		room := rt.search.use(rt.promises.list).room(node)
		w := rt.promises.unkept(node, &room, by)
		if w == nil {
			break
		}
		to = rt.annul(w, to)
	}
	for t := late.tenant; t != nil; t = t.parent {
		for t.promises > 0 && t.overPromised() {
			to = rt.annul(rt.promises.latestIn(t, by), to)
		}
	}
	return to
}

// annul withdraws the promise to w, and appends w.
func (rt *restorer) annul(w *waiter, to []renewal) []renewal {
	to = append(to, renewal{w, w.tenant, w.kept.promises[0].order, w.kept.taken})
	w.kept.renewed = true
	rt.reserving.unreserve(w)
	return to
}

// renew takes other room back for a request after its promise was withdrawn. It does so
// by the request's guarantee or that of a group above. Leases that are still in their
// grace count for it first.
func (rt *restorer) renew(a *renewal) {
	if a.w.expired() != nil {
		return
	}
	for g := a.w.tenant; g != nil; g = g.parent {
		if g.guarantee == (resources.Vector{}) {
			continue
		}
		look := rt.search.use(rt.promises.list).looks[g]
		held := rt.tenants.fair.Held(g.user).Add(g.promised)
		if rt.demandOne(a.w, g, look, &held, a.taken) {
			return
		}
	}
}

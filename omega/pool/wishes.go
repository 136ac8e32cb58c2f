package pool

import (
	"slices"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// wish is the room that the blocks of one machine lack for requests that wait.
type wish struct {
	short resources.Vector // in all
	parts []wished

	reservation omega.ReservationID // in the cell, 0 for none
}

// wished is the room that the block of one charge lacks.
type wished struct {
	charge uint32
	short  resources.Vector
}

// of returns what the block of a charge lacks.
func (w *wish) of(charge uint32) (short resources.Vector) {
	if w == nil {
		return short
	}
	for i := range w.parts {
		if w.parts[i].charge == charge {
			return w.parts[i].short
		}
	}
	return short
}

// wishing searches the cell for room for requests, one after the other. Room
// granted to one request is not offered to the next.
type wishing struct {
	cm      *committer
	left    resources.Vector // room within the scheduler's limits
	rooms   map[locality.Node]*rooms
	wishes  map[locality.Node]*wish
	lacking []resources.Vector // needs for which there is no room
	planned map[*Tenant]resources.Vector
	n       int
}

// rooms are the rest of a machine's room: in the blocks, and in the cell.
type rooms struct {
	room, free resources.Vector

	own   *rooms  // for the request that has more there, as it is kept for it
	owner *waiter // of own
	all   *rooms  // of own: for each request
}

// wishesAtATime is for how many requests blocks grow in one commit.
const wishesAtATime = 64

// wishes returns what blocks have to grow by, for the first requests in the order that
// fit in the cell but in no block. They are no promise: the request that is next then has the room.
func (cm *committer) wishes() map[locality.Node]*wish {
	l := cm.lend
	l.lacking = nil
	if l.closing || l.fruitless >= maxFruitless || cm.waits.waiting == 0 && len(cm.tries) == 0 {
		return nil
	}
	x := wishing{
		cm: cm, left: cm.left(), rooms: make(map[locality.Node]*rooms), wishes: make(map[locality.Node]*wish),
		planned: make(map[*Tenant]resources.Vector),
	}
	if cm.waits.waiting > 0 {
		cm.tenants.fair.Pick(cm.at, nil, func(u drf.User) bool { return x.tenant(cm.tenants.byUser[u.Index()]) })
	}
	l.lacking = x.lacking
	for _, a := range cm.tries {
		if a.tenant.queued == 0 && !a.tenant.heldBack(&a.need) && !cm.replicas.yields(a.tenant, &a.need) {
			x.single(nil, a.tenant, &a.need)
		}
	}
	return x.wishes
}

// tenant looks for room for the requests of a tenant, and reports whether that is enough
// for now.
func (x *wishing) tenant(t *Tenant) bool {
	tried := 0
	for w := t.first; w != nil && tried < lookahead && x.n < wishesAtATime; w = w.next {
		if tried++; w != t.first && t.set.Strict {
			break
		}
		sum := x.planned[t].Add(w.need)
		if w.heldBack() || w.expired() != nil || t.bounded && t.overLimit(&sum, w.kept) != nil {
			continue
		}
		found := false
		switch {
		case w.many() != nil:
			found = x.gang(w)
		case w.near() != nil:
			found = x.nearest(w)
		default:
			found = x.single(w, t, &w.need)
		}
		if found {
			x.planned[t] = sum
			x.n++
		}
	}
	return x.n >= wishesAtATime
}

// of returns what is left of a machine for w, which may be nil, or nil.
func (x *wishing) of(node int, w *waiter, t *Tenant) *rooms {
	p := x.cm
	m := &p.books.machines[node]
	if m.draining || !m.grants() || m.keeper != nil && m.keeper != w && !p.placement.open(node, t) || w != nil && !p.placement.acceptableNode(w, locality.Node(node)) {
		return nil
	}
	r := x.rooms[locality.Node(node)]
	if r == nil {
		r = &rooms{room: m.room, free: m.lent.free}
		x.rooms[locality.Node(node)] = r
	}
	if w == nil || w.kept == nil || m.keeper != w {
		return r
	}
	if r.owner != w {
		kept, free := m.unowed(), m.lent.free
		if id := p.reservationOf(w); id != 0 {
			free = p.blocks.FreeFor(locality.Node(node), id)
		}
		r.owner, r.own = w, &rooms{all: r}
		for k := range kept {
			r.own.room[k] = r.room[k] + max(0, kept[k]-m.room[k])
			r.own.free[k] = r.free[k] + max(0, free[k]-m.lent.free[k])
		}
	}
	return r.own
}

// fits reports whether a need fits on a machine, and what is lacking of its blocks.
func (x *wishing) fits(r *rooms, need *resources.Vector) (short resources.Vector, ok bool) {
	for k, q := range need {
		if short[k] = max(0, q-r.room[k]); short[k] > r.free[k] || short[k] > x.left[k] {
			return short, false
		}
	}
	return short, true
}

// single looks for a machine for one need: from the one on where leases were granted
// last. That for which room is reserved goes first.
func (x *wishing) single(w *waiter, t *Tenant, need *resources.Vector) bool {
	p := x.cm
	if w != nil && w.kept != nil && x.on(int(w.kept.nodes[0]), w, t, need) {
		return true
	}
	if p.books.keepers == 0 && fitsAnyIn(x.lacking, need) {
		return false
	}
	n := len(p.books.machines)
	for i := range n {
		node := p.books.from + i
		if node >= n {
			node -= n
		}
		m := &p.books.machines[node]
		if quick := m.lent.free.Add(m.room); !resources.Fits(need, &quick) {
			continue
		}
		if x.on(node, w, t, need) {
			return true
		}
	}
	x.lacking = append(x.lacking, *need)
	return false
}

// on takes room on one machine, if there is enough.
func (x *wishing) on(node int, w *waiter, t *Tenant, need *resources.Vector) bool {
	r := x.of(node, w, t)
	if r == nil {
		return false
	}
	short, ok := x.fits(r, need)
	if ok {
		x.wishFor(locality.Node(node), r, t, need, &short)
		x.name(locality.Node(node), w)
	}
	return ok
}

// wishFor notes a wish, if something is lacking.
func (x *wishing) wishFor(node locality.Node, r *rooms, t *Tenant, need, short *resources.Vector) {
	for k := range need {
		r.room[k] -= need[k] - short[k]
		r.free[k] -= short[k]
		x.left[k] -= short[k]
	}
	if r.all != nil {
		r.all.room, r.all.free = r.all.room.Min(r.room), r.all.free.Min(r.free)
	}
	if *short == (resources.Vector{}) {
		return // the next dispatch finds it
	}
	l, m := x.cm.lend, &x.cm.books.machines[node]
	one := x.wishes[node]
	if one == nil {
		one = new(wish)
		x.wishes[node] = one
	}
	charge := l.chargeOf(t)
	i := slices.IndexFunc(one.parts, func(part wished) bool { return part.charge == charge })
	if i < 0 {
		i = len(one.parts)
		one.parts = append(one.parts, wished{charge: charge})
	}
	one.parts[i].short = one.parts[i].short.Add(*short)
	one.short = one.short.Add(*short)
	if l.chunk == 1 {
		return
	}
	for k, q := range need {
		if q > 0 {
			step := max(q, min(m.capacity[k]/mostStep, q*min(l.chunk, resources.MaxQuantity/q)))
			m.lent.step[k] = max(m.lent.step[k], step)
		}
	}
}

// name notes the reservation by which the blocks of a machine grow for w.
func (x *wishing) name(node locality.Node, w *waiter) {
	if one := x.wishes[node]; one != nil && one.reservation == 0 {
		one.reservation = x.cm.reservationOf(w)
	}
}

// nearest looks for the machine that is nearest to what w prefers. One that w does not
// want yet makes its wait begin.
func (x *wishing) nearest(w *waiter) bool {
	p := x.cm
	best, level := -1, locality.Level(0)
	for node := range p.books.machines {
		r := x.of(node, w, w.tenant)
		if r == nil {
			continue
		}
		if _, ok := x.fits(r, &w.need); !ok {
			continue
		}
		if at := p.placement.level(w, locality.Node(node)); best < 0 || at < level {
			best, level = node, at
		}
	}
	if best < 0 {
		return false
	}
	if !p.placement.acceptable(w, locality.Node(best)) {
		if !w.delayed() {
			p.placement.takes(w, level)
		}
		return false
	}
	return x.on(best, w, w.tenant, &w.need)
}

// gang looks for machines for several needs, near what w prefers first.
func (x *wishing) gang(w *waiter) bool {
	p := x.cm
	all := make([]resources.Vector, len(p.books.machines))
	for node := range all {
		if r := x.of(node, w, w.tenant); r != nil {
			for k := range r.room {
				all[node][k] = r.room[k] + min(r.free[k], x.left[k])
			}
		}
	}
	nodes := p.books.firstFit(w.many().needs, slices.Clone(all), p.placement.byLevel(w))
	if nodes == nil {
		nodes = p.books.firstFit(w.many().needs, all, p.books.byNumber())
	}
	for i, node := range nodes {
		need := w.needAt(i)
		r := x.of(int(node), w, w.tenant)
		if short, ok := x.fits(r, need); ok { // else the limits are short
			x.wishFor(node, r, w.tenant, need, &short)
			x.name(node, w)
		}
	}
	return nodes != nil
}

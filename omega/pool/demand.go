package pool

import (
	"cmp"
	"runtime"
	"slices"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// All of this file is called with the pool's mutex held.

// demandAll takes back what is owed to each tenant and group with a guarantee.
func (p *Pool) demandAll() {
	if p.waiting == 0 {
		return
	}
	for _, g := range p.guaranteed {
		p.demand(g, nil)
	}
}

// demandFor takes back what is owed to a tenant, which has a new request, by its
// guarantee and those of the groups that it is in.
func (p *Pool) demandFor(t *Tenant) {
	for g := t; g != nil; g = g.parent {
		if g.guarantee != (resources.Vector{}) {
			p.demand(g, t)
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
func (p *Pool) demand(g, only *Tenant) {
	if g.children == nil && g.first == nil {
		return
	}
	x := p.index()
	look := x.looks[g]
	x.refresh(look)
	held := p.fair.Held(g.user).Add(g.promised) // what is promised will be held
	if swaps := p.ranked && g.promises > 0; !swaps && (x.nothing(look) || look.known && !g.leaves(&held, &look.least)) {
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
			p.more = true
			break
		}
		if p.demandOne(c.waiter, g, look, &held, nil) {
			promised++
			held = p.fair.Held(g.user).Add(g.promised)
		} else if c.tenant.set.Strict {
			blocked = append(blocked, c.tenant) // those behind it may not start before it
		}
	}
}

// demandAtATime is for how many requests of a guarantee room is taken back before others
// may go on.
const demandAtATime = 8

// goOn lets a goroutine demand the rest, if there is one. Called after a dispatch, and
// after demandFor.
func (p *Pool) goOn() {
	if p.more && !p.going {
		p.going = true
		go p.demandRest()
	}
}

// demandRest dispatches, some requests at a time, until no guarantee has more taken back
// for it. It ends by itself: each time some more requests are promised room.
func (p *Pool) demandRest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.more {
		p.more = false
		p.tick()
		p.next()
		p.mu.Unlock()
		runtime.Gosched()
		p.mu.Lock()
	}
	p.going = false
}

// demandOne preempts leases for one request in g, beside what is held there and leases
// that were preempted for it before, and reports whether there are enough.
func (p *Pool) demandOne(w *waiter, g *Tenant, look *look, held *resources.Vector, taken []Lease) bool {
	nodes, victims := p.relief(w, g, look, held)
	if nodes == nil {
		return p.ranked && p.takeOver(w, g)
	}
	p.unreserve(w)
	for _, v := range victims {
		if v.owed != nil {
			p.unreserve(v.owed) // it waits on in the order
			p.withdrawn = true  // and others in the rest of its limit
		}
	}
	p.owe(w, nodes)
	w.kept.passOn(taken)
	p.revoke(victims, w.kept)
	p.startPromised(w)
	return true
}

// startPromised starts w if all that it was promised is free, in room that patience had
// reserved for another.
func (p *Pool) startPromised(w *waiter) {
	if (w == w.tenant.first || !w.tenant.set.Strict) && !w.heldBack() && p.fits(w) {
		p.place()
	}
}

// relief returns, by need, the machines where preemption makes room for w, and the
// victims; nil if the guarantee of g does not cover it, or finds no room.
func (p *Pool) relief(w *waiter, g *Tenant, look *look, held *resources.Vector) (nodes []locality.Node, of []victim) {
	if !covers(&g.guarantee, held, &w.need) || w.tenant.bounded && !w.tenant.payable() {
		return nil, nil
	}
	x := p.index()
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
	return p.victims(w, g, look, over)
}

// choosy reports whether w may find no room where another request with the same need
// does: it requires machines, or its caller holds leases.
func (w *waiter) choosy() bool {
	return w.extra != nil && (w.extra.own != nil || w.extra.near != nil && w.extra.near.required)
}

// takeOver promises w the room of a later request of the guarantee, which then waits on.
// That is one of w's tenant with a lower priority, or of a tenant of a lower class. It
// reports whether there is one.
func (p *Pool) takeOver(w *waiter, g *Tenant) bool {
	if w.many() != nil {
		return false
	}
	for _, o := range slices.Backward(p.promised) {
		if o.many() != nil || !o.tenant.isIn(g) || !w.precedes(o) || !resources.Fits(&w.need, &o.need) || !p.acceptableNode(w, o.kept.nodes[0]) {
			continue
		}
		nodes, taken, to := o.kept.nodes, o.kept.taken, o
		p.unreserve(o)
		if !w.tenant.bounded || w.tenant.payable() && w.overPromise() == nil {
			p.unreserve(w)
			to = w
		}
		p.owe(to, nodes)
		to.kept.passOn(taken)
		if to == w {
			p.withdrawn = true // there may be other room for the later request
			p.startPromised(w)
			return true
		}
	}
	return false
}

// precedes reports whether w goes before o: by priority within a tenant, by class among
// siblings.
func (w *waiter) precedes(o *waiter) bool {
	if w.tenant == o.tenant {
		return w.priority > o.priority
	}
	return w.tenant.beside(o.tenant).set.Priority > o.tenant.beside(w.tenant).set.Priority
}

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
	swaps := t.pool.ranked && g.promises > 0
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

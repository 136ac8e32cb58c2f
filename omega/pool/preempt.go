package pool

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// Guarantees. A tenant or group that waits with needs within its guarantee, and
// finds no room, gets it back: leases of others are preempted, which ends their
// contexts, and the room is owed to the request. All that is covered is taken back
// at once, so the guarantee is restored when those holders have released. A holder
// that does not release its lease is reported once the grace is over; the room is
// never given away twice.

var errPreempted = refuse(ErrPreempted, "a guarantee takes the room back")

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
		if g.set.Guarantee != (resources.Vector{}) {
			p.demand(g, t)
		}
	}
}

// demand preempts leases for the requests in g that its guarantee covers, in the
// order in which they came: those of one tenant if it is given. Called with mu
// held, after a dispatch.
//
// Cost, for M machines, C of them changed since the last look, and W requests: O(C)
// where all needs are as large as one that had no room and has none now, else
// O(M + W log W), and [Pool.victims] for each request that finds room. W counts
// lookahead requests at most of each tenant.
func (p *Pool) demand(g, only *Tenant) {
	if g.children == nil && g.first == nil {
		return
	}
	x := p.index()
	look := x.looks[g]
	if x.refresh(look); x.nothing(look) {
		return
	}
	held := p.fair.Held(g.user)
	for _, w := range p.reserves { // what is owed counts as held
		if w.kept.owed && w.tenant.isIn(g) {
			held = held.Add(w.need)
		}
	}
	var waiters []eligible
	if only == nil {
		look.known, look.any = true, false
	}
	for t := range g.below() {
		if only != nil {
			t = only
		}
		if t.first != nil {
			waiters = t.candidates(g, look, &held, waiters)
		}
		if only != nil {
			break
		}
		if t.first != nil {
			if look.any {
				lower(&look.least, &t.least)
			} else {
				look.any, look.least = true, t.least
			}
		}
	}
	slices.SortStableFunc(waiters, func(a, b eligible) int {
		return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.tenant.user.Index(), b.tenant.user.Index()))
	})
	var blocked []*Tenant // strict ones with a request that gets nothing
	for _, c := range waiters {
		if slices.Contains(blocked, c.tenant) {
			continue
		}
		need := c.need // the request may be served at once, and used again
		if p.demandOne(c.waiter, g, look, &held) {
			held = held.Add(need)
		} else if c.tenant.set.Strict {
			blocked = append(blocked, c.tenant) // those behind it may not start before it
		}
	}
}

// demandOne preempts leases for one request in g, beside what is held there, and
// reports whether there are enough.
func (p *Pool) demandOne(w *waiter, g *Tenant, look *look, held *resources.Vector) bool {
	if !covers(&g.set.Guarantee, held, &w.need) || w.tenant.bounded && !w.tenant.payable() {
		return false
	}
	x := p.index()
	if x.changes != look.changes {
		x.refresh(look)
	}
	if look.hopeless(&w.need) {
		return false
	}
	var over []excess
	if w.tenant.bounded {
		var can bool
		if over, can = w.excesses(g); !can {
			return false
		}
	}
	var node int
	var victims []victim
	if over != nil {
		node, victims = p.victimsWithin(w, g, look, over)
	} else if node, victims = p.victims(w, g); node < 0 && (w.near() == nil || !w.near().required) {
		look.fail(&w.need) // else other requests may be on other machines
	}
	if node < 0 {
		return false
	}
	p.unreserve(w)
	for _, v := range victims {
		if v.owed != nil {
			p.unreserve(v.owed) // it waits on in the order
			p.withdrawn = true  // and others in the rest of its limit
		}
	}
	p.owe(w, node)
	p.revoke(victims, w.kept)
	if (w == w.tenant.first || !w.tenant.set.Strict) && !w.heldBack() && p.fits(w) { // in room that patience had reserved for another
		p.place()
		p.launch()
	}
	return true
}

// eligible is a request for which a guarantee may take room back.
type eligible struct {
	*waiter
	since time.Duration // when it came, or one of a strict tenant before it
}

// candidates appends the requests of a tenant for which the guarantee of g may take
// room back, the first few of its queue. A strict tenant has none behind a request
// that needs room in another way: it may not start before that.
func (t *Tenant) candidates(g *Tenant, look *look, held *resources.Vector, to []eligible) []eligible {
	if !g.leaves(held, &t.least) || look.hopeless(&t.least) {
		return to
	}
	tried, since := 0, time.Duration(0)
	for w := t.first; w != nil && tried < lookahead; w = w.next {
		tried++
		if w.isPromised() || w.expired() != nil {
			continue
		}
		other := w.many() != nil || w.near() != nil && w.near().delayed || look.hopeless(&w.need)
		switch since = max(since, w.since); {
		case other && t.set.Strict:
			return to
		case other:
		case t.set.Strict:
			to = append(to, eligible{w, since})
		default:
			to = append(to, eligible{w, w.since})
		}
	}
	return to
}

// leaves reports whether t's guarantee has as much left, of the kinds it names.
func (t *Tenant) leaves(held, least *resources.Vector) bool {
	for k, most := range t.set.Guarantee {
		if most > 0 && least[k] > 0 && held[k]+least[k] > most {
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
		if held[k]+need[k] > most {
			return false
		}
		some = true
	}
	return some
}

// revoke preempts leases for a reservation.
func (p *Pool) revoke(victims []victim, by *reservation) {
	if len(p.revoked) > 2*p.leases { // most are released
		p.revoked = slices.DeleteFunc(p.revoked, func(l Lease) bool { return l.live() == nil })
	}
	for _, v := range victims {
		if v.owed != nil {
			continue
		}
		r := &p.records[v.slot]
		r.preempted, r.overdue, r.takenFor = true, p.at+p.grace, by
		if p.victimIndex != nil {
			p.victimIndex.revoked(v.slot, r)
		}
		r.tenant.preempted++
		r.tenant.returns(&r.run.Need, 1)
		if p.subscriptions != nil {
			p.tellOf(Preempted, r, 0)
		}
		l := Lease{pool: p, slot: v.slot, gen: r.gen}
		p.revoked, by.taken = append(p.revoked, l), append(by.taken, l)
		if r.ctx != nil {
			r.ctx.end(endedPreempted)
		}
	}
}

// owe hides room on a machine from others until w is served. It goes before what
// patience has reserved there.
func (p *Pool) owe(w *waiter, node int) {
	w.kept = &reservation{nodes: []locality.Node{locality.Node(node)}, made: p.grants, at: p.at, owed: true}
	p.reserves = append(p.reserves, w)
	w.promise()
	m := &p.books.machines[node]
	m.owing++
	m.owed = m.owed.Add(w.need)
	p.books.settle(node)
	p.allot(node, nil)
	if p.victimIndex != nil {
		p.victimIndex.owe(w)
	}
}

// allot divides what is free on a machine among the requests that are owed room
// there: first to one for which a lease was preempted that has just ended, then in
// the order in which they were owed. What a request has got, no later one takes.
// So each is served when the leases that were preempted for it have ended, also
// where another's holders are late.
func (p *Pool) allot(node int, first *reservation) {
	free := p.books.machines[node].free()
	for _, w := range p.reserves {
		if w.isOwed(node) {
			for k := range free {
				free[k] -= w.kept.got[k]
			}
		}
	}
	give := func(w *waiter) {
		for k := range free {
			more := max(min(w.need[k]-w.kept.got[k], free[k]), 0)
			w.kept.got[k], free[k] = w.kept.got[k]+more, free[k]-more
		}
	}
	for _, w := range p.reserves {
		if w.kept == first && w.isOwed(node) {
			give(w)
		}
	}
	for _, w := range p.reserves {
		if w.isOwed(node) {
			give(w)
		}
	}
}

// Overdue returns the leases that were preempted and are not released although
// their grace is over, with the time since then. The keys equal the copies of the
// holders. With Config.OnLeak a key counts as a copy. The key of a lease that was
// granted before any guarantee was set, and has no context yet, then differs from
// the copies of its holder. Its methods act on the same lease.
func (p *Pool) Overdue() map[Lease]time.Duration {
	if p.none() {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tick()
	late := make(map[Lease]time.Duration)
	p.revoked = slices.DeleteFunc(p.revoked, func(l Lease) bool { return l.live() == nil })
	for _, l := range p.revoked {
		if r := l.live(); p.at >= r.overdue {
			l.token = r.token.Value() // nil without OnLeak, and once no copy is left
			late[l] = p.at - r.overdue
		}
	}
	return late
}

// Resize lowers the need of the lease and serves the tenants that are next. An
// amount above the present one fails with [ErrNeed]: a lease does not grow, since
// that could wait for itself. Errors: [ErrReleased]; [ErrNeed];
// [resources.ErrQuantity].
func (l Lease) Resize(need resources.Vector) error {
	p := l.pool
	if p == nil {
		return errZeroLease
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := l.live()
	switch {
	case r == nil:
		return errReleasedTwice
	case need.Check() != nil:
		return refuse(resources.ErrQuantity, fmt.Sprintf("resize of %q: %s, want 0 to 2^62 of each kind", r.tenant.name, p.space.Format(need)))
	case need == resources.Vector{}:
		return fault.Text(fmt.Sprintf("pool: resize of %q to nothing: release the lease instead", r.tenant.name), ErrNeed)
	case !resources.Fits(&need, &r.run.Need):
		return fault.Text(fmt.Sprintf("pool: resize of %q: %s, want at most %s: a lease does not grow",
			r.tenant.name, p.space.Format(need), p.space.Format(r.run.Need)), ErrNeed)
	}
	p.tick()
	was := r.run.Need
	if err := p.fair.Resize(&r.run, need, p.at); err != nil {
		return err
	}
	p.books.give(int(r.node), &was)
	p.books.take(int(r.node), &need)
	if p.victimIndex != nil {
		p.victimIndex.resized(l.slot, r, &was)
	}
	if r.preempted {
		less, _ := was.Sub(need)
		r.tenant.returns(&less, -1)
	}
	if w := p.books.machines[r.node].keeper; w != nil && r.grant <= w.kept.made {
		less, _ := was.Sub(need)
		p.aged(w, int(r.node), &less)
	}
	if p.books.machines[r.node].owing > 0 {
		p.allot(int(r.node), r.takenFor)
	}
	p.epoch, p.freed = p.epoch+1, locality.Node(r.node)
	p.dispatch()
	p.launch()
	return nil
}

package offers

import (
	"slices"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// gangs answers requests: it reserves room for them, or revokes tasks.
type gangs struct {
	*client
	registry   *registry
	inbox      *inbox
	queue      *queue
	floor      *floor
	caps       *caps
	ledger     *ledger
	planner    *planner
	accepts    *accepts
	guarantees *guaranteeBook

	room       reserving
	unwanted   []omega.ReservationID // to be ended in the cell
	ending     int                   // so many of them are on the way
	asked      *request              // for which a reservation is on the way
	onReserved func(error)           // reserved, bound once
	onEnded    func(error)           // endedReservations, bound once

	grants    granting
	onGrant   func(error) // granted, bound once
	preempted bool        // tasks were, and their frameworks are not told yet
}

func newGangs(ga *gangs) *gangs {
	ga.onGrant, ga.onReserved, ga.onEnded = ga.granted, ga.reserved, ga.endedReservations
	return ga
}

// nextAsking returns the request that is next for room on a machine. It returns nil if it
// is the turn of f, or if no request may have the room.
func (ga *gangs) nextAsking(n *node, room *resources.Vector, f *member) (next *request) {
	ahead := (*member).ahead
	if n.refused {
		ahead = (*member).aheadByClass
	}
	for _, r := range ga.registry.requests {
		if r.plan != nil || !ga.mayHaveRoom(r) || !r.Each.Fits(*room) || !ga.wanted(r, n) {
			continue
		}
		if len(r.of.account.sharers) > 1 && !r.of.queued {
			r.of.Rank = ga.queue.rankOf(r.of, false) // which is done for those in line only
		}
		if next == nil || r.of != next.of && ahead(r.of, next.of) {
			next = r
		}
	}
	if next == nil || f == nil || f == next.of {
		return next
	}
	if ahead(f, next.of) || n.refused && ga.queue.overdue(f) {
		return nil
	}
	return next
}

// mayHaveRoom reports whether it may be the turn of a request: all of it, if that is on one
// machine, or a reservation until there is enough.
func (ga *gangs) mayHaveRoom(r *request) bool {
	return !r.of.silent && (r.Machines == 1 || ga.mayReserve(r))
}

// wanted reports whether a machine is of use to a request, and no back-off of its
// framework hides it.
func (ga *gangs) wanted(r *request, n *node) bool {
	return r.of.suits(n) && !r.of.backedOff(n, &r.Each, ga.now)
}

// has reports whether a machine has room for a request, beside the room that is kept for
// others. Of what is reserved there, it has the room of one request: its own or that of another.
func (ga *gangs) has(n *node, r, of *request) bool {
	if n.kept != r && n.revoking() || !resources.Fits(&r.Each, &n.capacity) {
		return false // without a look at the cell
	}
	room, ok := ga.floor.space(n)
	if ok && ga.reserves(of, n) {
		room, ok = ga.reservedRoom(n, of)
	}
	return ok && r.Each.Fits(room) && ga.wanted(r, n)
}

// add gives a request room on a machine, now that it is its turn: the request is
// answered, or reserves its machines. It reports whether the machine is to be looked at
// again at once, for the rest of its room.
func (ga *gangs) add(r *request, n *node) bool {
	if r.Machines == 1 && ga.grant(r, []*node{n}, nil) || r.Machines > 1 && ga.reserve(r) {
		return true
	}
	ga.floor.markDirty(n)
	return false
}

// serve answers requests before frameworks are offered anything else. Those that revoke
// within their guarantee have all the room that there is. Then all others have the room
// that no framework has wanted. Among either, requests of frameworks that decline less go
// first, then by the order.
func (ga *gangs) serve() {
	ga.endUnwanted()
	if len(ga.registry.requests) == 0 || ga.planner.halted() {
		return
	}
	if of := ga.room.of; of != nil && (ga.cfg.Terms.Optimistic || ga.overtaken(of)) {
		ga.endReservation(of)
		ga.endUnwanted()
	}
	for _, sure := range []bool{true, false} {
		for _, r := range ga.inLine() {
			if ga.planner.halted() {
				return
			}
			if r.dropped {
				continue // while another one was on the way
			}
			if r.overdue(ga.now) {
				ga.expireRequest(r) // no Step has come to it yet
				continue
			}
			if r.of.silent {
				continue
			}
			// Optimistic offers keep nothing, so beside them all requests have all the room.
			if sure && !ga.cfg.Terms.Optimistic {
				if _, covered := ga.guarantees.covers(r.of, &r.Request); !r.Revoke || !covered {
					continue
				}
			}
			nodes := ga.machinesFor(r, r, sure)
			if of := ga.room.of; nodes == nil && sure && of != nil && of != r && ga.machinesFor(r, of, sure) != nil {
				if nodes = ga.takeReserved(r); nodes == nil && !ga.planner.halted() {
					ga.postpone(of.of) // another scheduler's reservation has the room by now
				}
			}
			if nodes != nil {
				ga.grant(r, nodes, nil)
			}
		}
	}
	ga.endUnwanted()
}

// inLine returns the requests in the order in which they are served.
func (ga *gangs) inLine() []*request {
	line := slices.Clone(ga.registry.requests)
	slices.SortStableFunc(line, func(a, b *request) int {
		switch {
		case a.of == b.of:
			return 0
		case a.of.aheadByClass(b.of):
			return -1
		}
		return 1
	})
	return line
}

// takeReserved ends the reservation of another request, and returns as many machines as a
// request needs, or nil.
func (ga *gangs) takeReserved(r *request) []*node {
	ga.endReservation(ga.room.of)
	ga.endUnwanted()
	return ga.machinesFor(r, r, true)
}

// machinesFor returns as many machines with room for a request as it needs, or nil. Of what is
// reserved, the request has the room of one: its own or that of another.
func (ga *gangs) machinesFor(r, of *request, first bool) (nodes []*node) {
	try := func(n *node) bool {
		// A machine that is to be looked at may be another framework's turn.
		if (first || !n.dirty || ga.reserves(r, n)) && ga.has(n, r, of) && !slices.Contains(nodes, n) {
			nodes = append(nodes, n)
		}
		return len(nodes) < r.Machines
	}
	// The machines that are kept for it come first.
	var kept []*node
	switch {
	case r.plan != nil:
		kept = r.plan.nodes
	case ga.room.of == of:
		kept = ga.room.nodes
	}
	for _, n := range kept {
		if !try(n) {
			return nodes
		}
	}
	if ga.room.of == r {
		ga.progress(len(nodes))
	}
	// Less than the smallest offer may be free on any machine.
	if !resources.Fits(&ga.cfg.Smallest, &r.Each) {
		for _, n := range ga.floor.nodes {
			if !try(n) {
				return nodes
			}
		}
		return nil
	}
	// All other room that may be offered is on machines that are idle, or kept.
	for _, number := range ga.floor.dirty {
		if !try(ga.floor.nodes[number]) {
			return nodes
		}
	}
	for _, e := range ga.floor.idle.entries {
		if e.node.idle == e.seq && !e.node.dirty && !try(e.node) {
			return nodes
		}
	}
	return nil
}

// granting is a request for which room is claimed.
type granting struct {
	of      *request
	nodes   []*node
	revokes bool
	done    bool // it was answered
}

// grant claims room for a request on all of the nodes or none, from victims if there are
// any, and answers it. It reports whether the request was answered: false while the
// outcome is in doubt.
func (ga *gangs) grant(r *request, nodes []*node, victims [][]omega.AllocationID) bool {
	if ga.planner.halted() {
		return false
	}
	f := r.of
	tx := &ga.planner.attempt.Txn
	tx.Reset()
	tx.Gang, tx.Grace = true, omega.AtOnce // the grace of a revocation is over
	for i, n := range nodes {
		c := omega.Claim{
			Machine: n.id, Account: f.account.id, Need: r.Each, Precedence: f.reg.Precedence, Grantee: f.sched,
		}
		if victims != nil && len(victims[i]) > 0 {
			// A guarantee holds against any precedence.
			c.Victims, c.Precedence = victims[i], highest
		} else if ga.reserves(r, n) {
			c.Reservation = ga.room.id
		}
		tx.Claim(c)
	}
	ga.grants = granting{of: r, nodes: nodes, revokes: victims != nil}
	ga.planner.send(ga.onGrant)
	return ga.grants.done
}

// granted answers a request after its room was claimed. If the request was taken back by
// then, it releases the room.
func (ga *gangs) granted(err error) {
	g := &ga.grants
	r, f, tx := g.of, g.of.of, &ga.planner.attempt.Txn
	tx.Gang = false
	if _, all := tx.Allocation(0); err != nil || !all {
		ga.room.refused = ga.room.refused || ga.room.of == r
		if g.revokes {
			ga.guarantees.abandon(r) // and its machines are looked at next, before which it may begin anew
		}
		return
	}
	ga.preempted = ga.preempted || g.revokes
	if r.dropped {
		for i, n := range g.nodes {
			id, _ := tx.Allocation(i)
			ga.note(ga.release(ga.sched, id))
			ga.floor.markDirty(n)
		}
		return
	}
	a := Answer{Request: r.id}
	for i, n := range g.nodes {
		id, _ := tx.Allocation(i)
		f.offered = f.offered.Add(r.Each)
		o := ga.ledger.open(&pick{to: f, node: n, room: r.Each}, id)
		o.owed = r.Revoke
		ga.caps.promise(o)
		a.Offers = append(a.Offers, o.Offer)
		ga.floor.idle.remove(n)
		ga.floor.markDirty(n)
	}
	all := r.Each.Scale(int64(len(g.nodes)))
	ga.queue.charge(f, &all, 1)
	if ga.reads != ga.planner.readsSent {
		ga.queue.recharge(f)
	}
	ga.counts.Waited.Add(ga.now.Sub(r.since))
	ga.drop(r)
	ga.inbox.answer(r, a)
	g.done = true
}

// drop forgets a request, and the revocation that has begun for it.
func (ga *gangs) drop(r *request) {
	r.dropped = true
	ga.timers.Stop(&r.timer)
	ga.registry.requests = slices.DeleteFunc(ga.registry.requests, func(one *request) bool { return one == r })
	ga.guarantees.abandon(r)
	ga.endReservation(r)
}

// dropAll forgets the requests of a framework.
func (ga *gangs) dropAll(f *member) {
	for _, r := range slices.Clone(ga.registry.requests) {
		if r.of == f {
			ga.drop(r)
		}
	}
}

// expireRequest answers a request at its deadline.
func (ga *gangs) expireRequest(r *request) {
	ga.drop(r)
	ga.inbox.answer(r, Answer{Request: r.id, Reason: ErrExpired})
}

package offers

import (
	"slices"
	"time"

	"github.com/cellsched/cellsched/internal/luby"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/offers/internal/timers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// reserving is the reservation in the cell for a request that has too little room. There is
// one at a time.
type reserving struct {
	of      *request            // nil if there is none
	id      omega.ReservationID // 0 while it is on the way
	nodes   []*node             // one for each machine of the request
	ready   int                 // the most of them that had the room at once
	refused bool                // the cell has refused the claims since the last Step
	timer   timers.Timer
}

// maxReserveWaits bounds the length of a first reservation, in units of reserveWait.
const maxReserveWaits = 10

// reserveWait is the timeout of offers, or its default if they do not expire.
func (ga *gangs) reserveWait() time.Duration {
	if ga.cfg.Timeout == Never() {
		return defaultTimeout
	}
	return ga.cfg.Timeout.or(defaultTimeout)
}

// nextMachineWait returns how long a reservation of several machines waits for the next one.
func (ga *gangs) nextMachineWait(r *request) time.Duration {
	return luby.Length(ga.reserveWait(), r.expired)
}

// maxReservation returns how long a reservation lasts at most.
func (ga *gangs) maxReservation(r *request) time.Duration {
	return luby.Length(min(ga.reserveWait(), luby.Longest/maxReserveWaits)*maxReserveWaits, r.expired)
}

// mayReserve reports whether a request may begin a reservation now.
func (ga *gangs) mayReserve(r *request) bool {
	return ga.room.of == nil && ga.asked == nil && ga.reservable(r)
}

// reservable reports whether a request may have a reservation.
func (ga *gangs) reservable(r *request) bool {
	due := ga.queue.turn >= r.of.postponedTurn || !ga.now.Before(r.of.postponedUntil)
	return due && r.plan == nil && !r.of.silent && ga.backoff(r.of) == 0 && !ga.cfg.Terms.Optimistic
}

// waitedLong reports whether a request has waited for reserveWait.
func (ga *gangs) waitedLong(r *request) bool { return !ga.now.Before(r.since.Add(ga.reserveWait())) }

// overtaken reports whether another framework's turn has come before that of a request with
// a reservation of one machine. reserveNext chooses by the same rule, so that the two agree.
// A gang keeps its turn: its machines come free one by one.
func (ga *gangs) overtaken(of *request) bool {
	return of.Machines == 1 && !ga.waitedLong(of) && (!ga.hasTurn(of) || slices.ContainsFunc(ga.registry.requests, func(r *request) bool {
		return r.of != of.of && r.of.aheadByClass(of.of) && ga.reservable(r) && ga.hasTurn(r)
	}))
}

// postpone lets waiting frameworks go before f's requests, until each could have been offered
// something twice, or for a wait.
func (ga *gangs) postpone(f *member) { ga.postponeFor(f, 0) }

// postponeFor is postpone, for as much longer as a reservation is after so many that were too
// short. So the share of the time in which others have their turn stays.
func (ga *gangs) postponeFor(f *member, expired int) {
	// Two turns for each framework that is there, or the timeout if turns are slow.
	turns := uint64(luby.Length(2, expired)) * uint64(ga.queue.present)
	f.postponedTurn, f.postponedUntil = ga.queue.turn+turns+1, ga.now.Add(luby.Length(ga.reserveWait(), expired))
}

// hasTurn reports whether it is the turn of a request that has no room: no framework that
// waits for offers is ahead of it, or it has waited long.
func (ga *gangs) hasTurn(r *request) bool {
	if ga.waitedLong(r) {
		return true
	}
	if len(r.of.account.sharers) > 1 && !r.of.queued {
		r.of.Rank = ga.queue.rankOf(r.of, false) // which is done for those in line only
	}
	for f := range ga.queue.inTurn() {
		if f != r.of && (f.ahead(r.of) || ga.queue.overdue(f)) {
			return false
		}
	}
	return true
}

// reserveNext reserves room in the cell for the first request in line whose turn it is.
func (ga *gangs) reserveNext() {
	if ga.planner.halted() {
		return
	}
	for _, r := range ga.inLine() {
		if !r.dropped && !r.overdue(ga.now) && ga.mayReserve(r) && ga.hasTurn(r) {
			ga.reserve(r)
			return
		}
	}
}

// reserve begins a reservation in the cell for a request. It reports whether the machines
// of the master are to be looked at again: the reservation has begun, or the request is postponed.
func (ga *gangs) reserve(r *request) bool {
	if ga.planner.halted() {
		return false
	}
	nodes := ga.machinesToReserve(r)
	if nodes == nil {
		ga.postpone(r.of)
		return true
	}
	tx := &ga.planner.attempt.Txn
	tx.Reset()
	claims := make([]omega.Claim, len(nodes))
	for i, n := range nodes {
		claims[i] = omega.Claim{Machine: n.id, Account: r.of.account.id, Need: r.Each, Precedence: r.of.reg.Precedence}
	}
	tx.Reserve(ga.now.Add(ga.maxReservation(r)), claims...)
	g := &ga.room
	g.of, g.id, g.nodes, g.ready, g.refused = r, 0, nodes, 0, false
	for _, n := range nodes {
		n.kept = r
	}
	lasts := ga.nextMachineWait(r)
	if r.Machines == 1 {
		lasts = ga.maxReservation(r) // it keeps no machine that could serve others as a whole
	}
	ga.timers.Start(&g.timer, ga.now.Add(lasts), g)
	ga.asked = r
	ga.planner.send(ga.onReserved)
	return true
}

// reserved notes the outcome of a reservation. If the request needs none any more, the
// reservation ends.
func (ga *gangs) reserved(err error) {
	r, g := ga.asked, &ga.room
	ga.asked = nil
	id, refused := ga.planner.attempt.Txn.Reservation(0)
	switch {
	case err != nil || refused != nil:
		if g.of == r {
			ga.postpone(r.of)
			ga.endReservation(r)
		}
	case g.of != r:
		ga.unwanted = append(ga.unwanted, id)
	default:
		g.id = id
		for _, n := range g.nodes {
			ga.floor.markDirty(n) // others have less there
		}
	}
}

// machinesToReserve returns the machines to reserve for a request, nil if they are too few.
// Machines that were reserved for it without success come last.
func (ga *gangs) machinesToReserve(r *request) []*node {
	for {
		var nodes []*node
		q := omega.Query{Need: r.Each, Allow: func(number locality.Node) bool {
			if int(number) >= len(ga.floor.nodes) {
				return false
			}
			n := ga.floor.nodes[number]
			return !n.gone && !n.revoking() && ga.wanted(r, n) && ga.cfg.Terms.Machines.Has(number) &&
				r.Each.Fits(ga.floor.beside(n, &resources.Vector{}, &n.capacity)) && !slices.Contains(nodes, n) && !slices.Contains(r.tried, n)
		}}
		for found := true; found && len(nodes) < r.Machines; { // a machine counts once
			var more []*node
			ga.planner.snap.PlaceLater(q, r.Machines-len(nodes), func(m omega.MachineID, _ int) {
				if n := ga.floor.nodeOf(m); n != nil {
					more = append(more, n)
				}
			})
			nodes, found = append(nodes, more...), len(more) > 0
		}
		if len(nodes) == r.Machines {
			return nodes
		}
		if len(r.tried) == 0 {
			return nil
		}
		// Too few are left that it has not tried: begin anew with all.
		r.tried = nil
	}
}

// reserves reports whether a machine is reserved in the cell for a request.
func (ga *gangs) reserves(r *request, n *node) bool {
	return ga.room.of == r && ga.room.id != 0 && n.kept == r && !ga.room.refused
}

// reservedRoom returns the room of a machine for the request that has reserved it.
func (ga *gangs) reservedRoom(n *node, r *request) (room resources.Vector, ok bool) {
	st, in := ga.cell.State(n.id)
	if !in || st.Condition != omega.Ready {
		return room, false
	}
	own := st.Free.Add(st.Reserved.Min(r.Each))
	return ga.floor.within(n, &own), true
}

// progress has a reservation last on if more of its machines have the room.
func (ga *gangs) progress(ready int) {
	if g := &ga.room; ready > g.ready {
		if g.ready = ready; g.of.Machines > 1 {
			ga.timers.Start(&g.timer, ga.now.Add(ga.nextMachineWait(g.of)), g)
		}
	}
}

// expireReservation ends a reservation that has lasted too long. The request is
// postponed. It then reserves other machines if there are any.
func (ga *gangs) expireReservation(g *reserving) {
	r := g.of
	r.tried = append(r.tried, g.nodes...)
	ga.postponeFor(r.of, r.expired)
	r.expired++
	ga.endReservation(r)
}

// endReservationOn ends the reservation that a machine is part of, since the machine is of
// no more use, or a revocation needs it.
func (ga *gangs) endReservationOn(n *node) {
	if n.partReserved() {
		ga.endReservation(n.kept)
	}
}

// endReservation ends the reservation of a request, if it has one: its room is for others.
func (ga *gangs) endReservation(r *request) {
	g := &ga.room
	if g.of != r {
		return
	}
	ga.timers.Stop(&g.timer)
	for _, n := range g.nodes {
		if n.kept == r {
			n.kept = nil
		}
		ga.floor.markDirty(n)
	}
	if g.id != 0 {
		ga.unwanted = append(ga.unwanted, g.id)
	}
	g.of, g.id, g.nodes = nil, 0, nil
}

// endUnwanted ends in the cell the reservations that are not wanted any more.
func (ga *gangs) endUnwanted() {
	if len(ga.unwanted) == 0 || !ga.planner.on || ga.planner.halted() {
		return
	}
	tx := &ga.planner.attempt.Txn
	tx.Reset()
	for _, id := range ga.unwanted {
		tx.Unreserve(id)
	}
	ga.ending = len(ga.unwanted)
	ga.planner.send(ga.onEnded)
}

// endedReservations follows endUnwanted.
func (ga *gangs) endedReservations(err error) {
	if err == nil {
		ga.unwanted = slices.Delete(ga.unwanted, 0, ga.ending)
	}
}

// recount notices that the cell has ended the reservation, as it does where a machine is
// drained or removed.
func (ga *gangs) recount() {
	g := &ga.room
	g.refused = false
	if g.id == 0 {
		return
	}
	for r := range ga.planner.snap.Reservations() {
		if r.ID == g.id {
			return
		}
	}
	g.id = 0
	ga.endReservation(g.of)
}

package offers

import (
	"slices"
	"sort"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// rounds offers free room to the frameworks of the queue.
type rounds struct {
	*client
	registry *registry
	queue    *queue
	floor    *floor
	ledger   *ledger
	planner  *planner
	gangs    *gangs

	picks   []pick
	sent    bool        // picks are on the way, or in doubt
	onPicks func(error) // applyPicks, bound once
}

func newRounds(rd *rounds) *rounds {
	rd.onPicks = rd.applyPicks
	return rd
}

// tries is the number of times that a round looks again at machines on which others were
// faster. The rest is for the next Step.
const tries = 4

// batch is the largest number of claims in a transaction of a round. So their records are
// in a cache still when they are committed and become offers.
const batch = 128

// run offers the free room of the machines that have changed, to the frameworks that are
// next. Then it offers what is left to the frameworks that may have more.
//
// The claims of a round go to the cell in incremental transactions. A machine on which
// another scheduler was faster is looked at again.
func (rd *rounds) run() {
	if rd.planner.halted() {
		return
	}
	for range tries {
		if len(rd.queue.leftovers) > 1 || len(rd.queue.leftovers) > 0 && len(rd.registry.requests) > 0 {
			rd.floor.markUnseen()
		}
		if len(rd.floor.dirty) == 0 && len(rd.queue.leftovers) == 0 || rd.planner.halted() {
			return
		}
		if len(rd.floor.dirty) > 0 {
			rd.gangs.serve()
		}
		rd.survey()
		rd.offerLeftovers()
		rd.sendPicks()
		rd.gangs.serve()
	}
}

// survey looks at the machines that have changed. If an [Order] panics, or the planning
// is halted, the rest of the machines are still to be looked at.
func (rd *rounds) survey() {
	slices.Sort(rd.floor.dirty)
	looked, next := rd.floor.dirty, 0
	rd.floor.dirty = nil
	defer func() {
		if next < len(looked) {
			rd.floor.markDirty(rd.floor.nodes[looked[next]])
			rd.floor.dirty = append(rd.floor.dirty, looked[next+1:]...)
		} else if rd.floor.dirty == nil {
			rd.floor.dirty = looked[:0]
		}
	}()
	for ; next < len(looked); next++ {
		n := rd.floor.nodes[looked[next]]
		n.dirty = false
		for rd.look(n) {
		}
		if len(rd.picks) >= batch {
			rd.sendPicks()
		}
		if rd.planner.halted() {
			return
		}
	}
}

// look finds the framework that is next on a machine, if it has room. It reports whether
// a request has had a part, and the machine is to be looked at again at once.
func (rd *rounds) look(n *node) bool {
	rd.queue.realign()
	rd.floor.idle.remove(n)
	room, ok := rd.floor.room(n)
	if !ok || !rd.cfg.Terms.Optimistic {
		rd.ledger.hideAll(n)
	}
	if !ok || n.revoking() {
		return false
	}
	if rd.cfg.Terms.Optimistic {
		rd.ledger.showAll(n, &room)
		rd.floor.idle.add(n)
		return false
	}
	f := rd.choose(n, &room)
	if r := rd.gangs.nextAsking(n, &room, f); r != nil {
		return rd.gangs.add(r, n)
	}
	if f != nil {
		rd.pick(f, n, &room)
		rd.queue.charge(f, &room, 1)
	} else {
		rd.floor.idle.add(n)
	}
	return false
}

// declinedPieces is the number of pieces of declined room of which one may go to the
// framework that has waited longest. The others go by the order.
const declinedPieces = 8

// choose returns the framework that is next for room on a machine, or nil.
func (rd *rounds) choose(n *node, room *resources.Vector) *member {
	// Fresh room goes by the order.
	if !n.refused {
		first := n.firstOwn(room, nil, (*member).ahead)
		for f := range rd.queue.inTurn() {
			if first != nil && first.ahead(f) {
				break
			}
			if f.eligible(n, room) {
				return f
			}
		}
		return first
	}
	// Declined room goes first to frameworks that decline less. So a framework that needs
	// room does not wait until all frameworks that never accept any have declined it.
	rd.queue.declinedSearches++
	first := n.firstOwn(room, n.last, (*member).aheadByClass)
	for f := range rd.queue.byClass() {
		if first != nil && first.aheadByClass(f) {
			break
		}
		if f != n.last && f.eligible(n, room) {
			first = f
			break
		}
	}
	switch f := n.last; {
	case first == nil && f != nil && f.queued && f.eligible(n, room):
		// The framework that declined it last is asked again when no other one is left.
		return f
	case first != nil && rd.queue.declinedSearches%declinedPieces == 0:
		// The order alone may for ever put frameworks first that accept only now and then. So
		// one piece of some goes to the framework of this class that has waited longest, if it
		// is overdue. A framework that the order does not pass over gets nothing out of turn.
		if oldest := rd.oldest(n, room, first); rd.queue.overdue(oldest) {
			return oldest
		}
	}
	return first
}

// oldest returns the framework that was offered nothing for longest. It is one of those
// that may be offered the room, which was declined, and that decline as little as the
// first.
func (rd *rounds) oldest(n *node, room *resources.Vector, first *member) *member {
	oldest := first
	see := func(f *member) {
		longer := f.Asked < oldest.Asked || f.Asked == oldest.Asked && f.ahead(oldest)
		if longer && f != n.last && f.eligible(n, room) {
			oldest = f
		}
	}
	for r := range rd.queue.roles.All {
		for f := range r.lines[first.refusalClass].All {
			see(f)
		}
	}
	for _, f := range n.waiting() {
		if f.queued && f.refusalClass == first.refusalClass {
			see(f)
		}
	}
	return oldest
}

// pick notes that f is to be offered room, which is about to be claimed and charged. An
// unread offer of f on the machine becomes part of it: one offer is of more use than two.
func (rd *rounds) pick(f *member, n *node, room *resources.Vector) {
	for i := 0; i < len(n.offers); {
		o := n.offers[i]
		if o.to != f || o.seen || !o.kept() || rd.release(rd.sched, o.claim) != nil {
			i++
			continue
		}
		*room = room.Add(o.Room)
		rd.ledger.end(o, fateRescinded)
		rd.queue.credit(f, o.Room)
	}
	rd.picks = append(rd.picks, pick{f, n, *room, f.account.id})
	f.offered = f.offered.Add(*room)
	f.picked++
}

// sendPicks claims the picks.
func (rd *rounds) sendPicks() {
	if len(rd.picks) == 0 || rd.sent {
		return
	}
	if rd.planner.halted() { // by a request that was answered meanwhile
		for i := range rd.picks {
			rd.picks[i].to.picked--
			rd.unpick(&rd.picks[i])
		}
		rd.forgetPicks()
		return
	}
	tx := &rd.planner.attempt.Txn
	tx.Reset()
	for i := range rd.picks {
		p := &rd.picks[i]
		tx.Claim(omega.Claim{
			Machine: p.node.id, Account: p.to.account.id, Need: p.room,
			Precedence: p.to.reg.Precedence, Grantee: p.to.sched,
		})
	}
	rd.ledger.offers.warm(len(rd.picks))
	rd.sent = true
	rd.planner.send(rd.onPicks)
}

// applyPicks makes offers of the picks that were granted. A framework that has ended by
// then, is charged to another account or is silent is not offered its pick.
func (rd *rounds) applyPicks(err error) {
	tx := &rd.planner.attempt.Txn
	open := 0
	for i := range rd.picks {
		p := &rd.picks[i]
		p.to.picked--
		id, granted := tx.Allocation(i)
		if granted = granted && err == nil; granted && p.stands() {
			open++
			rd.ledger.tellOffer(p.to, rd.ledger.open(p, id))
			continue
		}
		if granted {
			rd.note(rd.release(rd.sched, id))
		}
		rd.unpick(p)
	}
	if rd.reads != rd.planner.readsSent {
		for i := range rd.picks {
			if p := &rd.picks[i]; p.charged() {
				rd.queue.recharge(p.to)
			}
		}
	}
	rd.countRound(open)
	rd.forgetPicks()
}

// unpick takes the charge of a pick back that has no claim in the cell.
func (rd *rounds) unpick(p *pick) {
	p.to.offered, _ = p.to.offered.Sub(p.room)
	if p.charged() {
		rd.queue.credit(p.to, p.room)
	} else {
		rd.queue.rechargeAll(p.account)
	}
	rd.floor.markDirty(p.node)
}

func (rd *rounds) forgetPicks() {
	clear(rd.picks)
	rd.picks, rd.sent = rd.picks[:0], false
}

// offerLeftovers offers one framework the idle room that it has not seen. The framework
// has come below what it is offered at once, or wants more than before. If more than one
// wants room since the round began, markUnseen serves them.
func (rd *rounds) offerLeftovers() {
	if len(rd.queue.leftovers) != 1 || rd.planner.halted() {
		return
	}
	f := rd.queue.leftovers[0]
	rd.queue.leftovers, f.wantsLeftovers = rd.queue.leftovers[:0], false
	var fed resources.Vector // since it was charged last
	n := 0
	// No other framework's turn depends on its place meanwhile, so the order is asked for
	// that once for each transaction.
	charge := func() {
		if n > 0 {
			rd.queue.charge(f, &fed, n)
			fed, n = resources.Vector{}, 0
		}
	}
	entries := rd.floor.idle.entries
	first := sort.Search(len(entries), func(i int) bool { return entries[i].seq > f.seen })
	for _, e := range entries[first:] {
		if !f.queued || n > 0 && rd.queue.sated(f) {
			break
		}
		f.seen = e.seq
		if e.node.idle != e.seq || e.node.dirty {
			continue
		}
		room, ok := rd.floor.room(e.node)
		switch {
		case !ok:
			rd.floor.idle.remove(e.node)
		case e.node.revoking() || !f.eligible(e.node, &room):
		case rd.cfg.Terms.Optimistic:
			rd.ledger.showOne(f, e.node, &room)
		default:
			rd.floor.idle.remove(e.node)
			rd.pick(f, e.node, &room)
			fed, n = fed.Add(room), n+1
			if len(rd.picks) >= batch {
				charge()
				if rd.sendPicks(); rd.planner.halted() {
					rd.queue.wantLeftovers(f)
					return
				}
			}
		}
	}
	charge()
}

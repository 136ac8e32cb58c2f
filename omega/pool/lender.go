package pool

import (
	"context"
	"slices"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool/internal/blocks"
	"github.com/cellsched/cellsched/resources"
)

// A pool on a cell.
//
// The cell is the truth of the blocks, the pool of the leases within them:
//
//	leases of a machine  ≤  blocks of the pool there  =  its allocations in the cell
//
// Where leases fit in a block they are granted and released under the pool's mutex, as in
// a pool without a cell, where each machine is one block. All else goes through one
// goroutine, the committer. It plans under the mutex, commits without it, and applies the
// outcome under it:
//
//   - A request that fits in no block makes the committer look for free room in the cell.
//     A block grows by some leases at a time, and the request that is next has the room.
//   - A block shrinks when it has twice as much in stock. Before the commit the stock is
//     taken out of the books, so no lease is granted there meanwhile.
//   - All stock goes back when a machine has had no lease for a while. So it does while
//     another scheduler waits for room, or a request of the pool that needs more: both
//     wait for room that is free in the cell.
//   - Leases that follow one another in a block would keep room from a reservation of
//     another scheduler for ever. The room that such a reservation lacks on a machine is
//     no room for leases: it goes back as it comes free. See [blocks.Blocks.Asked] for
//     which reservations do.
//   - A claim that preempts takes a part of a block. Leases that no longer fit there are
//     preempted, and the claim waits for them until its grace is over.
//   - A machine that leaves the cell takes its leases along: their contexts end.
//
// While requests wait, and the cell has no room for them, the committer waits in the
// cell. A refused commit is an outcome like any other: the committer looks again.

// lender is the stock of a pool on a cell: which blocks its leases use, which machines have
// too much, and when the committer has to look.
type lender struct {
	*core
	scheduler *omega.Scheduler
	chunk     int64
	account   omega.Account
	lowest    omega.Precedence
	highest   omega.Precedence
	charges   []blocks.Charge // the first one is that of the stock
	byCharge  map[blocks.Charge]uint32

	sleeping  context.CancelFunc // wakes the committer, nil while it works
	again     bool               // the committer has to look once more
	needs     []resources.Vector // that the committer waits for in the cell
	lacking   []resources.Vector // needs of requests for which it has found no room
	settled   bool               // the cell has no room for a request that waits
	wanted    bool               // another scheduler waits for room
	short     bool               // a request of the pool waits for room, since the committer has looked
	fruitless int                // rounds in a row in which blocks grew and no lease was granted
	dirty     []locality.Node    // machines with blocks to be looked at
	idle      *time.Timer        // fires when machines without leases have had none for a while,
	idling    bool               // and runs
	unasking  bool               // a timer runs that ends a Wait for which no request waits
	closing   bool
	over      bool
	unnamed   []*Tenant // for which the cell is to make an account
}

// lent is the part of a machine that a cell lends.
type lent struct {
	id     omega.MachineID
	free   resources.Vector // that the pool may claim in addition to its blocks
	total  resources.Vector // of its blocks, with room that may not be used yet
	step   resources.Vector // by which its blocks grow and shrink
	parts  []portion
	dirty  bool
	marked bool // preempted parts are not acknowledged
	busy   bool // a lease was granted since restIdle has looked
	past   bool // it has had no lease for a while
}

// portion is a block with the amount that its leases use.
type portion struct {
	charge     uint32
	used, size resources.Vector
}

const (
	// defaultChunk is by how many leases a block grows and shrinks.
	defaultChunk = 16

	// mostStep is the part of a machine that a block grows by at most, beyond what is
	// needed.
	mostStep = 8

	// idleAfter is how long a machine without leases keeps its stock.
	idleAfter = time.Second

	// unaskAfter is how long the committer waits on for requests that are gone.
	unaskAfter = time.Millisecond
)

// part returns the part of a charge, which is made if need be.
func (l *lent) part(charge uint32) *portion {
	for i := range l.parts {
		if l.parts[i].charge == charge {
			return &l.parts[i]
		}
	}
	l.parts = append(l.parts, portion{charge: charge})
	return &l.parts[len(l.parts)-1]
}

// chargeOf returns what leases of a tenant are charged to: the class of its outermost
// group as the precedence, and the tenant as the account where each lease counts.
func (l *lender) chargeOf(t *Tenant) uint32 {
	if t.charge > 0 {
		return t.charge - 1
	}
	c := blocks.Charge{Account: l.account, Precedence: max(l.lowest, min(l.highest, omega.Precedence(t.outermost().set.Priority)))}
	switch {
	case l.chunk > 1:
	case t.named:
		c.Account = t.account
	default: // the pool's account until the cell has made the tenant's
		if !slices.Contains(l.unnamed, t) {
			l.unnamed = append(l.unnamed, t)
			l.kick()
		}
		return l.number(c)
	}
	t.charge = l.number(c) + 1
	return t.charge - 1
}

// number returns the number of a charge.
func (l *lender) number(c blocks.Charge) uint32 {
	n, known := l.byCharge[c]
	if !known {
		n = uint32(len(l.charges))
		l.charges = append(l.charges, c)
		l.byCharge[c] = n
	}
	return n
}

// took notes a lease that was granted.
func (l *lender) took(t *Tenant, r *record) {
	r.charge = l.chargeOf(t)
	m := l.books.machines[r.node].lent
	part := m.part(r.charge)
	for k := range part.used {
		part.used[k] += r.run.Need[k]
	}
	if m.busy, m.past = true, false; !resources.Fits(&part.used, &part.size) {
		l.mark(locality.Node(r.node)) // the rest is in another block for now
		l.kick()
	}
}

// gave notes that a lease has ended, or has shrunk by so much.
func (l *lender) gave(r *record, need *resources.Vector) {
	m := &l.books.machines[r.node]
	part := m.lent.part(r.charge)
	for k := range part.used {
		part.used[k] -= need[k]
	}
	if m.shrunk && resources.Fits(&m.held, &m.block) {
		m.shrunk = false
		l.books.settle(int(r.node))
	}
}

// review gives stock of a machine back that is no longer needed there. Called when
// others had their turn.
func (l *lender) review(node int) {
	m := &l.books.machines[node]
	if m.leases == 0 && !l.idling && m.lent.total != (resources.Vector{}) {
		l.idleLater()
	}
	if m.keeper != nil || m.owing > 0 {
		l.kick() // with the room reserved in the cell it may be enough
	}
	if m.lent.dirty {
		return
	}
	if l.surplus(m) || m.lent.marked && !m.shrunk {
		l.mark(locality.Node(node))
		l.kick()
	}
}

// surplus reports whether a machine has more in stock than it should.
func (l *lender) surplus(m *machine) bool {
	if l.chunk == 1 && m.keeper != nil && m.lent.total == m.block {
		// Reserved room is charged to no tenant.
		for i := range m.lent.parts {
			if part := &m.lent.parts[i]; part.charge != 0 && !resources.Fits(&part.size, &part.used) {
				return true
			}
		}
	}
	exact := l.exact() || m.lent.past || m.draining
	for k := range m.room {
		stock := m.block[k] - m.held[k] - m.owed[k]
		if stock > 0 && m.asked[k] > 0 {
			return true
		}
		if stock -= m.kept[k]; stock > 0 && (exact || stock > 2*m.lent.step[k]) {
			return true
		}
	}
	return false
}

// exact reports whether blocks are to have no stock.
func (l *lender) exact() bool { return l.chunk == 1 || l.wanted || l.short || l.closing }

// mark notes a machine with blocks to be looked at.
func (l *lender) mark(node locality.Node) {
	if m := l.books.machines[node].lent; !m.dirty {
		m.dirty = true
		l.dirty = append(l.dirty, node)
	}
}

// kick has the committer look again.
func (l *lender) kick() {
	l.again = true
	if l.sleeping != nil {
		l.sleeping()
		l.sleeping = nil
	}
}

// covers reports whether w needs as much as a request for which the committer has found
// no room, and waits in the cell.
func (l *lender) covers(w *waiter) bool {
	return l.needs != nil && w.extra == nil && l.books.keepers == 0 && fitsAnyIn(l.lacking, &w.need)
}

// ask notes that a request waits, which the committer may not know of. It returns whether
// the cell was known to have no room for those before.
func (l *lender) ask(w *waiter) (settled bool) {
	settled = l.settled
	l.settled = settled && l.covers(w)
	return settled
}

// asked wakes the committer for a request that was not served at once.
func (l *lender) asked(w *waiter, settled bool) {
	if !w.queued {
		l.settled = settled
	} else if !l.settled {
		l.fruitless = 0
		l.kick()
	}
}

// unasked notes that the last request that waited goes. The committer leaves the cell's
// line soon, since other schedulers give up room for the schedulers there.
func (l *lender) unasked() {
	if l.needs == nil || l.unasking {
		return
	}
	l.unasking = true
	time.AfterFunc(unaskAfter, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.unasking = false; l.waits.waiting == 0 && l.needs != nil {
			l.kick()
		}
	})
}

// idleLater has the stock of machines without leases given back after a while.
func (l *lender) idleLater() {
	if !l.idling {
		l.idling = true
		setTimer(&l.idle, idleAfter, l.restIdle)
	}
}

// restIdle gives back the stock of machines that have had no lease since the timer was set.
func (l *lender) restIdle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idling = false
	later := false
	for node := range l.books.machines {
		m := &l.books.machines[node]
		switch {
		case m.lent == nil || m.leases > 0 || m.lent.total == (resources.Vector{}) || m.lent.past:
		case m.lent.busy:
			m.lent.busy, later = false, true
		default:
			m.lent.past = true
			l.mark(locality.Node(node))
			l.kick()
		}
	}
	if later {
		l.idleLater()
	}
}

// closed reports whether all room is back in the cell, and sees to that.
func (l *lender) closed() bool {
	if !l.closing {
		l.closing = true
		l.kick()
	}
	return l.over
}

// ever reports whether a machine of the cell could hold need if it were empty: one may
// have come since the committer has looked.
func (l *lender) ever(need *resources.Vector) bool {
	for state := range l.scheduler.Cell().Machines() {
		if resources.Fits(need, &state.Capacity) {
			return true
		}
	}
	return false
}

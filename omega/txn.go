package omega

import (
	"fmt"
	"slices"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega/internal/atomics"
	"github.com/cellsched/cellsched/resources"
)

// Claim asks for resources on one machine.
type Claim struct {
	Machine    MachineID        // not zero
	Account    Account          // that the allocation is charged to
	Need       resources.Vector // as [resources.Vector.CheckNeed] has it: not zero
	Precedence Precedence

	// Victims are allocations of lower precedence on the same machine, preempted in the
	// step that grants the claim: see [Cell.Victims] and [Cell.ReadyAt].
	Victims []AllocationID

	// Reservation is one of the scheduler's own whose room the claim takes; 0 for none, as
	// is one without room on the machine. The first claim of an exchange names it for all.
	Reservation ReservationID

	// Grantee, if not nil, may exchange the allocation for its own claims, which makes it
	// an offer: see [Txn.Exchange].
	Grantee *Scheduler
}

// Detection is how a claim is found to be in conflict: Omega paper, section
// 5.2.
type Detection uint8

const (
	// Fine is the default: a claim conflicts if it does not fit.
	Fine Detection = iota
	// CoarseClaims refuses a claim also if anything was granted on its machine
	// since the scheduler's snapshot last saw it, as in the simulator that
	// Google published with the paper.
	CoarseClaims
	// Coarse refuses a claim also if its machine has changed in any way since
	// then.
	Coarse
)

// AtOnce is the Grace of a transaction whose victims have stopped already, or may go on
// beside their successors. [Cell.ReadyAt] then makes no claim wait.
const AtOnce time.Duration = -1

// Txn is a transaction: claims, releases and exchanges that a scheduler sends in one
// commit. Omega paper, sections 3.4 and 5.2. The zero Txn is empty and ready to use:
// claims are granted one by one and conflict only if they do not fit, the paper's
// recommendation.
//
// Items on one machine take effect in one step, releases first; releases apply whatever
// becomes of the claims, after the refusal if a gang is refused. The outcome is read item
// by item after the commit. Reset makes a Txn ready again and keeps its memory. A Txn is
// not safe for concurrent use and must not be copied.
type Txn struct {
	_ [64]byte // a Txn lies in its caller's memory: no other shares its cache lines

	// Gang asks for all claims or none, in one atomic step over all machines.
	Gang bool
	// Detect is the detection of conflicts. A machine that the snapshot never saw counts as
	// changed.
	Detect Detection
	// Now is the time of the commit, required with victims.
	Now time.Time
	// Grace is the time that victims have to stop: above 0, or [AtOnce].
	Grace time.Duration

	items              []item
	reserves           []reserving
	order              []int32  // items that concern a machine, sorted by its number
	keys               []uint64 // to sort order by
	sights             []sight  // machines as the commit found and left them, for the snapshot
	refusals           []refusal
	gone               []record  // of allocations that claims exchange and preempt
	remnants           []remnant // of divisible victims
	like               likeness
	cell               *Cell          // where it was committed, nil before
	state              atomics.Uint32 // see open
	opened             uint32         // the state at which it is open
	preempts           bool           // a claim has victims; see check
	settles            bool           // a machine keeps room for fewer reservations
	shape              shape          // see look; anyShape for one item
	fall               int32          // the item at which the machines fall, where there is a shape
	ends               bool           // a reservation is to end; see check
	gives              bool           // an item may give room back
	bad                error          // of the first exchange that could not be added
	retries, preempted uint64         // for the scheduler's counts
	at                 time.Time      // of the snapshot, where that has shown the room of reservations that were over

	// The first memory of order and sights, so that few items need no more.
	fewOrder  [16]int32
	fewSights [1]sight

	_ [64]byte
}

// The state of a Txn is a number that each commit raises by two: odd while the commit is in
// progress. The Txn is open if the state is that at which it was opened, so that Reset needs no
// exchange.

// open reports whether t takes items and may be committed.
func (t *Txn) open() bool { return t.state.Load() == t.opened }

// begin begins a commit, unless t is not open. Of several goroutines that call it one does.
func (t *Txn) begin() bool { return t.state.CompareAndSwap(t.opened, t.opened+1) }

// end ends a commit, and committed tells whether there was one since t was opened.
func (t *Txn) end()            { t.state.Store(t.opened + 2) }
func (t *Txn) committed() bool { return t.state.Load() == t.opened+2 }

// reopen ends a commit that has changed nothing.
func (t *Txn) reopen() { t.state.Store(t.opened) }

// Claim adds a claim and returns its item number, by which its outcome is read. Items are
// numbered from 0 as they are added, claims and releases alike. A committed Txn takes no
// item: the number is -1.
func (t *Txn) Claim(c Claim) int {
	if t == nil {
		return -1
	}
	i, it := t.add()
	if it != nil {
		it.claim = c
	}
	return i
}

// Release adds the release of an allocation and returns its item number.
// Releasing a preempted or lost allocation acknowledges its mark.
func (t *Txn) Release(a AllocationID) int {
	if t == nil {
		return -1
	}
	i, it := t.add()
	if it != nil {
		it.kind, it.id = releaseItem, a
	}
	return i
}

// Resize adds a claim that replaces an own allocation by one with another need, in one
// step, and returns its item number. If granted, the allocation has a new ID; if refused,
// it stays as it is. The need must not be zero: release the allocation instead.
func (t *Txn) Resize(a AllocationID, need resources.Vector) int {
	if t == nil {
		return -1
	}
	i, it := t.add()
	if it != nil {
		it.kind, it.claim.Need, it.from = resizeItem, need, []AllocationID{a}
	}
	return i
}

// Exchange adds claims that take the place of allocations on one machine in one step, all
// or none, and returns the item number of the first. The allocations are the scheduler's
// own, or it is their Grantee. Unneeded room of theirs becomes free; if refused, they
// stay. It may be of no allocation: claims on one machine, all or none. For no claim the
// number is -1, and Commit fails with [ErrTxn].
func (t *Txn) Exchange(from []AllocationID, into ...Claim) int {
	if t == nil {
		return -1
	}
	first := -1
	if len(into) == 0 && t.open() && t.bad == nil {
		t.bad = fault.New("omega", fmt.Sprintf("before item %d: exchange of %d allocations for no claim, want a release of them",
			len(t.items), len(from)), errExchange, errEmpty)
	}
	for n, c := range into {
		i, it := t.add()
		switch {
		case it == nil:
		case n == 0:
			first, it.claim, it.from = i, c, from
		default:
			it.kind, it.claim = followerItem, c
		}
	}
	return first
}

// add appends an empty item and returns it with its number, or -1 and nil.
func (t *Txn) add() (int, *item) {
	if !t.open() {
		return -1, nil
	}
	n := len(t.items)
	if n < cap(t.items) {
		t.items = t.items[:n+1] // Reset has cleared it
	} else {
		t.items = append(t.items, item{})
	}
	return n, &t.items[n]
}

// Len returns the number of items.
func (t *Txn) Len() int {
	if t == nil {
		return 0
	}
	return len(t.items)
}

// Reset empties t and leaves its settings. While t is being committed it does nothing.
func (t *Txn) Reset() {
	if t == nil {
		return
	}
	state := t.state.Load()
	if state%2 == 1 {
		return
	}
	if len(t.items) == 1 {
		t.items[0] = item{}
	} else {
		clear(t.items) // records and names are not kept alive
	}
	if len(t.refusals)|len(t.gone)|len(t.remnants)|len(t.reserves) != 0 {
		clear(t.refusals)
		clear(t.gone)
		clear(t.remnants)
		clear(t.reserves)
		t.refusals, t.gone, t.remnants, t.reserves = t.refusals[:0], t.gone[:0], t.remnants[:0], t.reserves[:0]
	}
	t.items, t.cell, t.bad, t.at = t.items[:0], nil, nil, time.Time{}
	t.opened = state
}

// Allocation returns the allocation that claim i was granted, and false if there is none.
func (t *Txn) Allocation(i int) (AllocationID, bool) {
	if t == nil {
		return AllocationID{}, false
	}
	if !t.committed() || i < 0 || i >= len(t.items) ||
		t.items[i].kind == releaseItem || t.items[i].verdict != done {
		return AllocationID{}, false
	}
	return t.items[i].id, true
}

// Err returns nil if claim i was granted or release i has happened, else a [RefusalError]
// with the reason. It is [ErrTxn] before the commit, and [ErrUnknown] for another
// i.
func (t *Txn) Err(i int) error {
	if t == nil {
		return absent("transaction")
	}
	if i < 0 || i >= len(t.items) {
		return unknown("item %d of a transaction of %d", i, len(t.items))
	}
	it := &t.items[i]
	if !t.committed() || it.verdict == pending {
		return errUncommitted
	}
	if it.verdict == done {
		return nil
	}
	e := &RefusalError{Reason: reasons[it.verdict], Changed: it.verdict == changed, jobless: it.verdict == jobless, Space: t.cell.space}
	if it.kind == releaseItem {
		e.Release, e.Allocation, e.abroad = true, it.id, t.cell.foreign(it.id)
		if it.refusal > 0 {
			e.owner = t.refusals[it.refusal-1].culprit.owner
		}
		return e
	}
	e.Machine, e.Need, e.Precedence = it.claim.Machine, it.claim.Need, it.claim.Precedence
	if it.refusal > 0 {
		why := &t.refusals[it.refusal-1]
		e.Free, e.Held, e.Limit = why.free, why.held, why.limit
		why.name(e, it.verdict)
		e.abroad = t.cell.foreign(e.Allocation)
		if why.spec != nil && why.spec.id == e.Machine {
			// Else the number serves another machine by now.
			e.Name, e.Condition = why.spec.Name, why.cond
		} else if why.spec != nil {
			e.Condition = Removed
		}
	}
	return e
}

// refuse records why a claim is refused. The reason of an earlier try goes.
func (t *Txn) refuse(it *item, v verdict, why refusal) {
	it.verdict = v
	if it.refusal == 0 {
		t.refusals = append(t.refusals, refusal{})
		it.refusal = int32(len(t.refusals))
	}
	t.refusals[it.refusal-1] = why
}

// sort puts items of one machine together, releases first, machines in rising
// order: the one order in which all gangs take words. Claims of an exchange
// stay together.
func (t *Txn) sort() {
	var few [32]uint64
	switch n := len(t.order); {
	case n < 2:
	case t.shape == claimsApart && n == len(t.items): // else prepare has refused some
		for i := range t.order {
			if t.order[i] = int32(i) + t.fall; t.order[i] >= int32(n) {
				t.order[i] -= int32(n)
			}
		}
	case n <= len(few):
		t.sortBy(few[:n])
	default:
		t.keys = slices.Grow(t.keys[:0], n)
		t.sortBy(t.keys[:n])
	}
}

// sortBy is sort with room for a key of each item: the machine, whether it is a claim, and the
// place in items.
func (t *Txn) sortBy(keys []uint64) {
	sorted, last := true, uint64(0)
	for n, i := range t.order {
		it := &t.items[i]
		key := uint64(it.node())<<32 | uint64(i)
		if it.kind != releaseItem {
			key |= 1 << 31 // there are fewer items
		}
		sorted = sorted && key > last
		last, keys[n] = key, key
	}
	if sorted {
		return
	}
	slices.Sort(keys)
	for n, key := range keys {
		t.order[n] = int32(key & (1<<31 - 1))
	}
}

// group is the items of one machine.
type group struct {
	node  uint32
	items []int32
}

// nextGroup splits the items of the first machine off those left of t.order.
func (t *Txn) nextGroup(left []int32) (g group, rest []int32) {
	node, n := t.items[left[0]].node(), 1
	for n < len(left) && t.items[left[n]].node() == node {
		n++
	}
	return group{node, left[:n]}, left[n:]
}

// unit returns the items of g from i on that are granted together: an exchange,
// or one claim.
func (t *Txn) unit(g group, i int) []int32 {
	n := i + 1
	for n < len(g.items) && t.items[g.items[n]].kind == followerItem {
		n++
	}
	return g.items[i:n]
}

// frees reports whether g may have made room.
func (t *Txn) frees(g group) bool {
	return slices.ContainsFunc(g.items, func(i int32) bool {
		it := &t.items[i]
		return it.kind == releaseItem || len(it.from) > 0 || len(it.claim.Victims) > 0
	})
}

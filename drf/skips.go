package drf

import (
	"math"
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// defaultMaxSkips is the number of times that a user is passed over before it is
// overdue, unless [Heap.SetMaxSkips] says otherwise.
const defaultMaxSkips = 100

// skipCounter holds the settings and the state of passing users over.
type skipCounter struct {
	max     int    // 0: defaultMaxSkips, -1: no bound, else one more than the skips
	passed  uint32 // slot + 1 of the user passed over in the last pick
	picked  uint32 // slot + 1 of the user picked instead, if one was passed over
	overdue uint32 // slot + 1 of the user that was passed over too often
	sizes   []resources.Vector
}

// passOver notes the first user in order that is not picked although its demand
// could fit in an empty cell, and whether that one is overdue now.
func (h *Heap[K]) passOver(first uint32, room *resources.Vector, fits func(slot uint32) bool) {
	t := &h.tree
	slot := first
	if !h.possible(first) {
		slot = t.search(first, &t.total, h.possible)
		if slot == none || t.fits(slot, room, fits) {
			return
		}
	}
	h.skips.passed = slot + 1
	if named := h.skips.overdue; int(t.accounts[slot].skips) >= h.skipLimit() && (named == 0 || !h.possible(named-1)) {
		h.skips.overdue = slot + 1
	}
}

// possible reports whether slot's demand would fit in an empty cell and slot could
// be charged for it.
func (h *Heap[K]) possible(slot uint32) bool {
	t := &h.tree
	need := &t.accounts[slot].demand
	if !resources.Fits(need, &t.total) || !t.chargeable(slot) {
		return false
	}
	for i := range h.skips.sizes {
		if resources.Fits(need, &h.skips.sizes[i]) {
			return true
		}
	}
	return len(h.skips.sizes) == 0
}

// chargeable reports whether slot's usage plus its demand is valid.
func (t *tree) chargeable(slot uint32) bool {
	sum := t.accounts[slot].usage
	return add(&sum, &t.accounts[slot].demand)
}

// SetMaxSkips sets the number of times that a user may be passed over before
// [Heap.Overdue] names it. A user is passed over when it is first in order, its demand
// does not fit, and another user is picked and charged.
//
// A demand is impossible if it exceeds the total or every machine (see
// [Heap.SetMachines]), or would take its user past 2^62. A user with an impossible
// demand is not counted as passed over and never named: the first user after it is in
// its stead.
//
// The default is 100. With skips < 0 no user is ever named. More than 65,534 skips count as that many.
func (h *Heap[K]) SetMaxSkips(skips int) {
	if h == nil {
		return
	}
	h.skips.max = max(-1, min(skips, math.MaxUint16-1))
	if skips >= 0 {
		h.skips.max++
	} else {
		h.skips.overdue = 0
	}
}

// SetMachines sets the sizes of the machines, in base units, for [Heap.PickWhere]:
// the capacity of each machine with nothing running. Order does not matter. A size
// may be left out if another one is as large in each kind.
//
// A user with a demand that fits on none of them is never named by [Heap.Overdue].
// Without sizes, as at first, a demand that fits in the total counts as possible.
//
// Sizes are copied. They may change at any time, as totals may. Cost: O(len(sizes))
// and one allocation here, and O(len(sizes)) in a pick where the first user does
// not fit. Errors: [resources.ErrQuantity] for a component outside [0, 2^62],
// [ErrEmpty] for a size of nothing.
func (h *Heap[K]) SetMachines(sizes ...resources.Vector) error {
	if h == nil {
		return self.Absent("heap")
	}
	for _, size := range sizes {
		if err := self.Some("machine", size); err != nil {
			return err
		}
	}
	h.skips.sizes = slices.Clone(sizes)
	return nil
}

// Overdue returns the user that has been passed over too often, if any: see
// [Heap.SetMaxSkips]. The heap keeps no room for it. The caller reserves room, and gives
// others only what is beside that until the user is served. In a cell the reservation is
// one of the cell. A caller with free amounts of its own picks with what is left of
// them:
//
//	if late, ok := heap.Overdue(); ok {
//		free = beside(free, demands[late])
//	}
//	user, ok := heap.Pick(free)
//
// The last pick decided it, and may have named the user: look again before the picked
// user is charged. Users are named one at a time, each until it is charged, is parked or
// its demand becomes impossible.
//
// Bound, if others have only what is beside the demand: the user's task starts at the
// latest when all tasks have ended that ran when it was named. See [Heap.SetMaxSkips].
func (h *Heap[K]) Overdue() (u User, ok bool) {
	if h == nil || h.skips.overdue == 0 || !h.possible(h.skips.overdue-1) {
		return u, false
	}
	return h.user(h.skips.overdue - 1)
}

// Skips returns the number of times that the user was passed over since its last
// charge or since it came to have a demand. 65,535 means that often or more. Cost:
// O(1).
func (h *Heap[K]) Skips(u User) (skips int, ok bool) {
	if h == nil {
		return 0, false
	}
	a := h.account(u)
	if a == nil {
		return 0, false
	}
	return int(a.skips), true
}

// user returns the handle of a slot, unless that is none.
func (h *Heap[K]) user(slot uint32) (u User, ok bool) {
	if slot == none {
		return User{}, false
	}
	return User{slot, h.tree.accounts[slot].gen}, true
}

// countSkip counts that a user was charged and another one passed over for it.
func (h *Heap[K]) countSkip(slot uint32) {
	h.resetSkips(slot)
	passed := h.skips.passed
	if passed == 0 || h.skips.picked != slot+1 {
		return
	}
	h.skips.passed = 0
	if a := &h.tree.accounts[passed-1]; a.skips < math.MaxUint16 {
		a.skips++
	}
}

// skipLimit returns the number of skips before a user is overdue.
func (h *Heap[K]) skipLimit() int {
	switch p := h.skips.max; {
	case p < 0:
		return math.MaxInt
	case p == 0:
		return defaultMaxSkips
	default:
		return p - 1
	}
}

// resetSkips sets a user's count to zero. It is not overdue then.
func (h *Heap[K]) resetSkips(slot uint32) {
	h.tree.accounts[slot].skips = 0
	if h.skips.passed == slot+1 {
		h.skips.passed = 0
	}
	if h.skips.overdue == slot+1 {
		h.skips.overdue = 0
	}
}

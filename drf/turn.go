package drf

import (
	"math"
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// DefaultPatience is how often a user is passed over before room is held back
// for it, unless [Heap.SetPatience] says otherwise.
const DefaultPatience = 100

// turns keeps count of who was passed over.
type turns struct {
	patience int    // 0: DefaultPatience, -1: for ever, else one more than the skips
	passed   uint32 // slot + 1 of who was passed over in the last pick
	picked   uint32 // slot + 1 of who was picked instead, if anybody was passed over
	held     uint32 // slot + 1 of the user for whom room is held back
	sizes    []resources.Vector
}

// beside returns what is left of free when what need asks for is set aside.
// What is not valid stays so.
func beside(free, need *resources.Vector) (left resources.Vector) {
	for k, q := range free {
		left[k] = max(min(0, q), q-need[k])
	}
	return left
}

// awaited reports whether room is held back for somebody, and ends that where
// it has come to be in vain.
func (h *Heap[K]) awaited() bool {
	if h.turns.held != 0 && !h.possible(h.turns.held-1) {
		h.turns.held = 0
	}
	return h.turns.held != 0
}

// passOver notes who is not picked, and reports whether room is held back for
// that user from now on: for the first in order or, if what that demands cannot
// be, for whoever is first but for such.
func (h *Heap[K]) passOver(first uint32, room *resources.Vector, fits func(slot uint32) bool) (held bool) {
	t := &h.tree
	slot := first
	if !h.possible(first) {
		slot = t.search(first, &t.total, h.possible)
		if slot == none || t.fits(slot, room, fits) {
			return false
		}
	}
	h.turns.passed = slot + 1
	if h.turns.held != 0 || int(t.accounts[slot].skips) < h.skips() {
		return false
	}
	h.turns.held = slot + 1
	return true
}

// possible reports whether there would be room for what slot demands if nobody
// held anything, and slot could be charged for it.
func (h *Heap[K]) possible(slot uint32) bool {
	t := &h.tree
	need := &t.accounts[slot].demand
	if !resources.Fits(need, &t.total) || !t.chargeable(slot) {
		return false
	}
	for i := range h.turns.sizes {
		if resources.Fits(need, &h.turns.sizes[i]) {
			return true
		}
	}
	return len(h.turns.sizes) == 0
}

// chargeable reports whether slot can be charged what it demands.
func (t *tree) chargeable(slot uint32) bool {
	sum := t.accounts[slot].usage
	return add(&sum, &t.accounts[slot].demand)
}

// SetPatience says how often a user may be passed over: be first in order, and
// another is picked, and charged, because the demand of the first does not
// fit. After that room is held back for it: Pick gives others only what is free
// beside its demand, until that fits and the user is next. Tasks then end and
// what they held is not taken by others, so that the user's task starts, at the
// latest, when those have ended that ran when room began to be held back.
//
// One user at a time is held back for, and none whose demand is more than the
// total or any machine has (see [Heap.SetMachines]), or would take what it holds
// past 2^62. Such a user is in nobody's way: it is not counted as passed over,
// and the first after it is in its stead.
//
// Without end, for skips below 0, who has large tasks may wait for ever while
// others' small ones take what becomes free. More than 65,534 skips are as good
// as that many.
func (h *Heap[K]) SetPatience(skips int) {
	if h == nil {
		return
	}
	h.turns.patience = max(-1, min(skips, math.MaxUint16-1))
	if skips >= 0 {
		h.turns.patience++
	} else {
		h.turns.held = 0
	}
}

// SetMachines says what machines there are, for [Heap.PickWhere]: what each has
// when nothing runs on it, in base units, in any order, and those of one size or
// smaller than another need be named once or not at all. No room is held back
// for a demand that fits on none of them, which otherwise would be waited for
// without end, and nobody else meanwhile. Without any, as at first, what fits in
// the total counts as possible.
//
// Sizes may change at any time, as totals may. Cost: O(len(sizes)) and one
// allocation, here; in a pick O(len(sizes)) where the first in order does not
// fit. Sizes are copied. A component outside [0, 2^62] is a
// [resources.ErrQuantity], a size of nothing an [ErrEmpty].
func (h *Heap[K]) SetMachines(sizes ...resources.Vector) error {
	if h == nil {
		return absent("heap")
	}
	for _, size := range sizes {
		if err := checkSome("machine", size); err != nil {
			return err
		}
	}
	h.turns.sizes = slices.Clone(sizes)
	return nil
}

// Held returns the user for whom room is held back, if any is. The last pick
// decided that: a change of totals or machines since then is seen by the next.
func (h *Heap[K]) Held() (u User, ok bool) {
	if h == nil {
		return u, false
	}
	return h.user(h.turns.held - 1)
}

// Skips returns how often the user has been passed over since it was charged
// last or came to have a demand: 65,535 for that often or more. Cost: O(1).
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

// served counts that a user was charged, and another passed over for it.
func (h *Heap[K]) served(slot uint32) {
	h.forgive(slot)
	passed := h.turns.passed
	if passed == 0 || h.turns.picked != slot+1 {
		return
	}
	h.turns.passed = 0
	if a := &h.tree.accounts[passed-1]; a.skips < math.MaxUint16 {
		a.skips++
	}
}

// skips returns how often a user is passed over at most.
func (h *Heap[K]) skips() int {
	switch p := h.turns.patience; {
	case p < 0:
		return math.MaxInt
	case p == 0:
		return DefaultPatience
	default:
		return p - 1
	}
}

// forgive begins a user's count anew.
func (h *Heap[K]) forgive(slot uint32) {
	h.tree.accounts[slot].skips = 0
	if h.turns.passed == slot+1 {
		h.turns.passed = 0
	}
	if h.turns.held == slot+1 {
		h.turns.held = 0
	}
}

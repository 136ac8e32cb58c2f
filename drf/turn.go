package drf

import (
	"math"

	"github.com/cellsched/cellsched/resources"
)

// DefaultPatience is how often a user is passed over before room is held back
// for it, unless [Heap.SetPatience] says otherwise.
const DefaultPatience = 100

// turns keeps count of who was passed over.
type turns struct {
	patience int    // 0: DefaultPatience, -1: for ever, else one more than the skips
	passed   uint32 // slot + 1 of who was first when another was picked last
	held     uint32 // slot + 1 of the user for whom room is held back
}

// Pick returns, of the users whose demand fits in free, the one with the
// smallest weighted dominant share; false if nobody's fits. It charges nothing:
// the caller starts the task and calls [Heap.Charge], then [Heap.Demand] or
// [Heap.Park] where the next task differs or there is none.
//
// A user whose demand does not fit is passed over, up to a number of times: see
// [Heap.SetPatience].
//
// Cost: O(1) where the first in order fits, about O(log n) where few do, no
// allocation. At worst it is O(n): when free has room for the least that is
// demanded of each kind but hardly for anybody's whole demand, and see
// [Heap.SetTotal]. Ghodsi et al., NSDI 2011, Algorithm 1.
func (h *Heap[K]) Pick(free resources.Vector) (u User, ok bool) {
	t := &h.tree
	if need := h.awaited(); need != nil {
		if resources.Fits(need, &free) {
			return h.user(h.turns.held - 1)
		}
		free = beside(&free, need)
	}
	slot := t.first()
	if slot == none {
		return User{}, false
	}
	if need := &t.accounts[slot].demand; !resources.Fits(need, &free) {
		if h.passOver(slot) {
			free = beside(&free, need)
		}
		slot = t.search(slot, &free, nil)
	}
	return h.user(slot)
}

// awaited returns the demand of the user for whom room is held back, or nil.
func (h *Heap[K]) awaited() *resources.Vector {
	if h.turns.held == 0 {
		return nil
	}
	need := &h.tree.accounts[h.turns.held-1].demand
	if !resources.Fits(need, &h.tree.total) {
		h.turns.held = 0 // it will never fit
		return nil
	}
	return need
}

// passOver notes that the first in order is not picked, and reports whether
// room is held back for it from now on.
func (h *Heap[K]) passOver(slot uint32) (held bool) {
	a := &h.tree.accounts[slot]
	h.turns.passed = slot + 1
	if h.turns.held != 0 || int(a.skips) < h.skips() || !resources.Fits(&a.demand, &h.tree.total) {
		return false
	}
	h.turns.held = slot + 1
	return true
}

// Take picks as [Heap.Pick] does, and charges the user what it demands: the
// two calls in one, and cheaper. Nobody is taken whom the charge would bring to
// hold more than 2^62 of a kind.
func (h *Heap[K]) Take(free resources.Vector) (u User, ok bool) {
	if u, ok = h.Pick(free); !ok {
		return u, false
	}
	t := &h.tree
	if !add(&t.accounts[u.slot].usage, &t.accounts[u.slot].demand) {
		return User{}, false
	}
	h.served(u.slot)
	t.rank(u.slot)
	return u, true
}

// beside returns what is left of free when what need asks for is set aside.
func beside(free, need *resources.Vector) (left resources.Vector) {
	for k, q := range free {
		left[k] = max(0, q-need[k])
	}
	return left
}

// PickWhere is Pick for a cell of machines, where a demand has to fit on one of
// them: it returns the user with the smallest share whose demand fits in most
// and for whom fits says yes. Most is a bound: no machine has more of any kind,
// so that whoever it leaves out is not asked about. Fits must not change the
// heap. With it the order is that of dominant shares of the whole cell, the
// global dominant shares of W. Wang et al., "Dominant resource fairness in cloud
// computing systems with heterogeneous servers" (DRFH), INFOCOM 2014.
//
// Of the properties that dominant resource fairness has in one big pool, the
// paper keeps, for divisible tasks, envy-freeness, Pareto optimality and
// truthfulness, and on one machine or with one kind all is as there. Sharing
// incentive is lost in general: who would have had a slice of each machine of
// its own may get less, if those are not the machines that its tasks are good
// for. With whole tasks none of these is exact: shares differ by a task, and
// since fits decides on which machine a task goes, and nothing is moved later,
// room may be left over that another placement would have used.
//
// Room for who was passed over too often is to be held back on one machine, by
// the caller, who says no to others there: [Heap.Held] says for whom. That user
// is asked about first, whatever its place in the order.
//
// Cost: as Pick, and the calls of fits. It is called for the first in order, and
// if that is refused for others, not in their order, but for no two who are both
// before the result, and seldom twice for one.
func (h *Heap[K]) PickWhere(most resources.Vector, fits func(User) bool) (u User, ok bool) {
	t := &h.tree
	yes := func(slot uint32) bool { return fits(User{slot, t.accounts[slot].gen}) }
	if need := h.awaited(); need != nil && resources.Fits(need, &most) && yes(h.turns.held-1) {
		return h.user(h.turns.held - 1)
	}
	slot := t.first()
	if slot != none && (!resources.Fits(&t.accounts[slot].demand, &most) || !yes(slot)) {
		h.passOver(slot)
		slot = t.search(slot, &most, yes)
	}
	return h.user(slot)
}

// SetPatience says how often a user may be passed over: be first in order, and
// another is picked, and charged, because the demand of the first does not
// fit. After that room is held back for it: Pick gives others only what is free
// beside its demand, until that fits and the user is next. Tasks then end and
// what they held is not taken by others, so that the user's task starts, at the
// latest, when those have ended that ran when room began to be held back.
// One user at a time is held back for, and none whose demand is more than the
// total.
//
// Without end, for skips below 0, who has large tasks may wait for ever while
// others' small ones take what becomes free.
func (h *Heap[K]) SetPatience(skips int) {
	h.turns.patience = max(-1, min(skips, math.MaxUint16-1))
	if skips >= 0 {
		h.turns.patience++
	} else {
		h.turns.held = 0
	}
}

// Held returns the user for whom room is held back, if any is.
func (h *Heap[K]) Held() (u User, ok bool) { return h.user(h.turns.held - 1) }

// Skips returns how often the user has been passed over since it was charged
// last or came to have a demand. Cost: O(1).
func (h *Heap[K]) Skips(u User) (skips int, ok bool) {
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
	if passed == 0 || passed == slot+1 {
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
	if h.turns.held == slot+1 {
		h.turns.held = 0
	}
}

package drf

import (
	"iter"
	"slices"
)

// All walks all users, parked ones included, by ascending share.
//
// Each range over it walks the users and the order of the moment that it
// began; the loop body may change the heap. Cost: O(n log n) and two
// allocations, 16n bytes, whether or not the walk is broken off.
func (h *Heap[K]) All() iter.Seq[User] {
	if h == nil {
		return func(func(User) bool) {}
	}
	return func(yield func(User) bool) {
		t := &h.tree
		if t.moved {
			t.settle()
		}
		order := make([]rank, 0, h.Len())
		for s := range t.accounts {
			if t.accounts[s].gen%2 == 1 {
				r := t.weigh(uint32(s))
				order = append(order, t.share(r, int(t.accounts[s].kind)))
			}
		}
		slices.SortFunc(order, func(a, b rank) int {
			switch {
			case a == b:
				return 0
			case t.before(a, b):
				return -1
			}
			return 1
		})
		users := make([]User, len(order)) // handles of now, whatever the body does
		for i, r := range order {
			slot := t.slot(r)
			users[i] = User{slot, t.accounts[slot].gen}
		}
		for _, u := range users {
			if !yield(u) {
				return
			}
		}
	}
}

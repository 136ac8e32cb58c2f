package drf

import (
	"iter"
	"slices"
)

// All walks all users, parked ones included, by ascending share.
//
// Each range over it walks the users and the order of the moment that it
// began; the loop body may change the heap. Cost: O(n log n) and two
// allocations, 24n bytes, whether or not the walk is broken off.
func (h *Heap[K]) All() iter.Seq[User] {
	return func(yield func(User) bool) {
		t := &h.tree
		if t.moved {
			t.settle()
		}
		order := make([]node, 0, h.Len())
		for s := range t.accounts {
			if t.accounts[s].gen%2 == 1 {
				w := t.weigh(uint32(s))
				order = append(order, t.share(w, int(t.accounts[s].kind)))
			}
		}
		slices.SortFunc(order, func(a, b node) int {
			switch {
			case a == b:
				return 0
			case t.before(a, b):
				return -1
			}
			return 1
		})
		users := make([]User, len(order)) // handles of now, whatever the body does
		for i, w := range order {
			users[i] = User{w.slot, t.accounts[w.slot].gen}
		}
		for _, u := range users {
			if !yield(u) {
				return
			}
		}
	}
}

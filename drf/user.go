package drf

import "github.com/cellsched/cellsched/internal/keys"

// User is the handle of a user in the [Heap] or [FairQueue] that returned it.
//
// The zero User is no user. Users are plain values: compare them with ==, use them
// as map keys. A handle is never given out twice, so the handle of a removed user
// is refused even after its place is taken again. The handle of another heap may go
// unnoticed.
type User struct {
	slot uint32
	gen  uint32 // odd; the slot's own is even while the slot is vacant
}

// Index returns a small number that no other user of the same [Heap] or [FairQueue]
// has at the same time. It can index a slice of the caller's.
func (u User) Index() int { return int(u.slot) }

// User returns the user of a key. Cost: one map look-up, and one allocation
// where K is an interface, a struct or an array.
func (h *Heap[K]) User(key K) (u User, ok bool) {
	if h == nil {
		return u, false
	}
	if !keys.Findable(key) {
		return User{}, false
	}
	u, ok = h.byKey[key]
	return u, ok
}

// Key returns the key that u was added with. Cost: O(1).
func (h *Heap[K]) Key(u User) (key K, ok bool) {
	if h == nil {
		return key, false
	}
	if h.account(u) == nil {
		return key, false
	}
	return h.keys[u.slot], true
}

// account returns the tree's account of u, or nil. It stays valid until the next
// Add.
func (h *Heap[K]) account(u User) *account {
	if int(u.slot) < len(h.tree.accounts) {
		// A vacant slot's generation is even. A handle's is odd, except that of the
		// zero User.
		if a := &h.tree.accounts[u.slot]; a.gen == u.gen && u.gen != 0 {
			return a
		}
	}
	return nil
}

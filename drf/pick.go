package drf

import "github.com/cellsched/cellsched/resources"

// Pick returns the user with the smallest weighted dominant share among the users
// with a demand that fits in free. It returns false if there is none. It charges
// nothing: the caller starts the task and calls [Heap.Charge]. Then it calls
// [Heap.Demand] or [Heap.Park] if the next task differs or there is none.
//
// A user with a demand that does not fit is passed over, which [Heap.Overdue] tells in
// the end. So Pick changes the heap: it counts skips. [Heap.All] shows the order and
// changes nothing.
//
// Cost: O(1) if the first user in order fits, about O(log n) if few fit; no allocation.
// The worst case is O(n): free covers the least amount of each kind, taken alone, and
// almost no whole demand. See also [Heap.SetTotal]. Ghodsi et al., NSDI 2011, Algorithm
// 1.
func (h *Heap[K]) Pick(free resources.Vector) (u User, ok bool) {
	if h == nil {
		return u, false
	}
	return h.user(h.pick(&free, nil))
}

// Take picks as [Heap.Pick] does and charges the user its demand. It is cheaper
// than the two calls. A user that the charge would take past 2^62 of a kind is left
// out.
func (h *Heap[K]) Take(free resources.Vector) (u User, ok bool) {
	if h == nil {
		return u, false
	}
	t := &h.tree
	slot := h.pick(&free, nil)
	if slot == none {
		return User{}, false
	}
	if !add(&t.accounts[slot].usage, &t.accounts[slot].demand) {
		slot = h.pick(&free, t.chargeable)
		if slot == none || !add(&t.accounts[slot].usage, &t.accounts[slot].demand) {
			return User{}, false
		}
	}
	h.countSkip(slot)
	t.rank(slot)
	return h.user(slot)
}

// PickWhere picks in a cell of machines, where a demand has to fit on one of them.
// It returns the user with the smallest share among the users with a demand
// that fits in most and for which fits returns true.
//
// Most is a bound: no machine has more of any kind, so fits is not called for a
// user that exceeds it. Fits must not change the heap; nil returns true for all.
// The order is that of dominant shares of the whole cell: the global dominant
// shares of W. Wang et al., "Dominant resource fairness in cloud computing systems
// with heterogeneous servers" (DRFH), INFOCOM 2014.
//
// The paper proves these properties for divisible tasks:
//
//   - Envy-freeness, Pareto optimality and truthfulness hold as in one big pool.
//   - On one machine, or with one kind of resource, all properties hold as there.
//   - Sharing incentive is lost in general. A user with a slice of each machine of
//     its own could get more, if its tasks suit other machines.
//
// With whole tasks none of these is exact: shares differ by a task. Fits chooses
// the machine of a task and no task moves later, so room may be left over that
// another placement would have used.
//
// The caller reserves a machine for the user that [Heap.Overdue] names: fits returns
// false for others there. [Heap.SetMachines] bounds the demands that it names users for.
//
// Cost: as Pick, and the calls of fits. Fits is called for the first user in order.
// If it returns false there, it is called for each user ahead of the result, seldom
// twice for one, and for some behind it. It is called for no user behind one for which
// it has returned true. The calls are not in the order of the users.
func (h *Heap[K]) PickWhere(most resources.Vector, fits func(User) bool) (u User, ok bool) {
	if h == nil {
		return u, false
	}
	if fits == nil {
		return h.user(h.pick(&most, nil))
	}
	accounts := h.tree.accounts
	return h.user(h.pick(&most, func(slot uint32) bool { return fits(User{slot, accounts[slot].gen}) }))
}

// pick returns the slot of the next user, or none. Fits may be nil.
func (h *Heap[K]) pick(free *resources.Vector, fits func(slot uint32) bool) uint32 {
	t := &h.tree
	h.skips.passed = 0
	first := t.first()
	if first == none || t.fits(first, free, fits) {
		return first
	}
	h.passOver(first, free, fits)
	slot := t.search(first, free, fits)
	h.skips.picked = slot + 1
	return slot
}

// fits reports whether slot's demand fits in room and fits allows it.
func (t *tree) fits(slot uint32, room *resources.Vector, fits func(slot uint32) bool) bool {
	return resources.Fits(&t.accounts[slot].demand, room) && (fits == nil || fits(slot))
}

// first returns the first user in the order, whether or not its demand fits.
func (t *tree) first() uint32 {
	if t.leaves == 0 {
		return none
	}
	for moves := 0; ; moves++ {
		best := vacant
		for k := range max(1, t.kinds) {
			if tr := t.tracks[k]; tr != nil {
				if w := t.share(tr[1], k); t.before(w, best) {
					best = w
				}
			}
		}
		// A stale winner moves to its true place, and the winners are compared again.
		if !t.moved || best == vacant || !t.reranked(t.slot(best)) {
			return t.slot(best)
		}
		if moves > len(t.accounts)/16 {
			t.settle() // so many are stale that it is cheaper to rank all
		}
	}
}

// search returns the first user in the order, other than refused, with a demand that
// fits in room and that fits allows, or none. Fits may be nil.
//
// Fits is called out of order, and never for a user behind one that it has accepted.
func (t *tree) search(refused uint32, room *resources.Vector, fits func(slot uint32) bool) uint32 {
	best := vacant
	if t.leaves > 0 && resources.Fits(t.demand(1), room) {
		for k := range max(1, t.kinds) {
			if t.tracks[k] != nil {
				best = t.searchTrack(k, best, refused, room, fits)
			}
		}
	}
	return t.slot(best)
}

// searchTrack is search in one track. It returns best if no user there is before
// it.
func (t *tree) searchTrack(k int, best rank, refused uint32, room *resources.Vector, fits func(slot uint32) bool) rank {
	tr := t.tracks[k]
	var later [32]uint32 // siblings to search later, one for each level
	n, i := 0, 1
	for {
		if w := t.share(tr[i], k); t.before(w, best) && resources.Fits(t.demand(i), room) {
			slot := t.slot(w)
			if slot != refused && resources.Fits(&t.accounts[slot].demand, room) {
				if t.moved && t.reranked(slot) {
					// Its true place is further back, and in another track that may
					// have been searched already.
					kind := t.accounts[slot].kind
					w = t.share(t.tracks[kind][t.leaves+int(slot)], int(kind))
					if !t.before(w, best) {
						continue
					}
				}
				if fits == nil || fits(slot) {
					best = w
					continue // no user below this node is before its winner
				}
			}
			if i < t.leaves {
				// The half with w goes first. Its other users are as likely as any
				// to be poor, and a result bounds the search of the other half.
				refused = slot
				i *= 2
				if t.slot(tr[i]) != slot {
					i++
				}
				later[n] = uint32(i ^ 1)
				n++
				continue
			}
		}
		if n == 0 {
			return best
		}
		n--
		i = int(later[n])
	}
}

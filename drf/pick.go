package drf

import "github.com/cellsched/cellsched/resources"

// Pick returns, of the users whose demand fits in free, the one with the
// smallest weighted dominant share; false if nobody's fits. It charges nothing:
// the caller starts the task and calls [Heap.Charge], then [Heap.Demand] or
// [Heap.Park] where the next task differs or there is none.
//
// A user whose demand does not fit is passed over, up to a number of times: see
// [Heap.SetPatience]. So Pick is not only a question: it notes who was passed
// over, and may be what makes a user [Heap.Held]. [Heap.All] shows the order and
// changes nothing.
//
// Cost: O(1) where the first in order fits, about O(log n) where few do, no
// allocation. At worst it is O(n): when free has room for the least that is
// demanded of each kind but hardly for anybody's whole demand, and see
// [Heap.SetTotal]. Ghodsi et al., NSDI 2011, Algorithm 1.
func (h *Heap[K]) Pick(free resources.Vector) (u User, ok bool) {
	if h == nil {
		return u, false
	}
	return h.user(h.pick(free, nil, true))
}

// Take picks as [Heap.Pick] does, and charges the user what it demands: the
// two calls in one, and cheaper. Whom the charge would bring to hold more than
// 2^62 of a kind is left out.
func (h *Heap[K]) Take(free resources.Vector) (u User, ok bool) {
	if h == nil {
		return u, false
	}
	t := &h.tree
	slot := h.pick(free, nil, true)
	if slot == none {
		return User{}, false
	}
	if !add(&t.accounts[slot].usage, &t.accounts[slot].demand) {
		slot = h.pick(free, t.chargeable, true)
		if slot == none || !add(&t.accounts[slot].usage, &t.accounts[slot].demand) {
			return User{}, false
		}
	}
	h.served(slot)
	t.rank(slot)
	return h.user(slot)
}

// PickWhere is Pick for a cell of machines, where a demand has to fit on one of
// them: it returns the user with the smallest share whose demand fits in most
// and for whom fits says yes. Most is a bound: no machine has more of any kind,
// so that whoever it leaves out is not asked about. Fits must not change the
// heap; a nil fits says yes to all. With it the order is that of dominant shares of the whole cell, the
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
// is asked about first, whatever its place in the order. [Heap.SetMachines] says
// for whom it can be held back at all.
//
// Cost: as Pick, and the calls of fits. It is called for the first in order, and
// if that is refused for others, not in their order, but for no two who are both
// before the result, and seldom twice for one.
func (h *Heap[K]) PickWhere(most resources.Vector, fits func(User) bool) (u User, ok bool) {
	if h == nil {
		return u, false
	}
	if fits == nil {
		return h.user(h.pick(most, nil, false))
	}
	accounts := h.tree.accounts
	return h.user(h.pick(most, func(slot uint32) bool { return fits(User{slot, accounts[slot].gen}) }, false))
}

// pick returns the slot of who is next, or none. Fits may be nil. What the user
// needs for whom room is held back is set aside from free here, or by fits.
func (h *Heap[K]) pick(free resources.Vector, fits func(slot uint32) bool, aside bool) uint32 {
	t := &h.tree
	h.turns.passed = 0
	if h.turns.held != 0 && h.awaited() {
		slot := h.turns.held - 1
		if t.fits(slot, &free, fits) {
			return slot
		}
		if aside {
			free = beside(&free, &t.accounts[slot].demand)
		}
	}
	first := t.first()
	if first == none || t.fits(first, &free, fits) {
		return first
	}
	if h.passOver(first, &free, fits) && aside {
		free = beside(&free, &t.accounts[h.turns.held-1].demand)
	}
	slot := t.search(first, &free, fits)
	h.turns.picked = slot + 1
	return slot
}

// fits reports whether what slot demands fits in room, and fits allows it.
func (t *tree) fits(slot uint32, room *resources.Vector, fits func(slot uint32) bool) bool {
	return resources.Fits(&t.accounts[slot].demand, room) && (fits == nil || fits(slot))
}

// first returns whoever is first in the order, whether or not anything fits.
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
		if !t.moved || best == vacant || !t.reranked(t.slot(best)) {
			return t.slot(best)
		}
		if moves > len(t.accounts)/16 {
			t.settle() // so many are wrong that it is cheaper to look at all
		}
	}
}

// search returns the first in the order, other than refused, whose demand fits
// in room and whom fits allows, or none. Fits may be nil.
//
// It does not ask in the order, but never asks of two who are both before the
// result, or of one who is behind somebody that it has said yes to.
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

// searchTrack is search in one track. It returns best if there is none before
// that.
func (t *tree) searchTrack(k int, best rank, refused uint32, room *resources.Vector, fits func(slot uint32) bool) rank {
	tr := t.tracks[k]
	var later [32]uint32 // one sibling a level is put off
	n, i := 0, 1
	for {
		if w := t.share(tr[i], k); t.before(w, best) && resources.Fits(t.demand(i), room) {
			slot := t.slot(w)
			if slot != refused && resources.Fits(&t.accounts[slot].demand, room) {
				if t.moved && t.reranked(slot) {
					// It is behind what it seemed, and in another track, which
					// may have been searched before.
					kind := t.accounts[slot].kind
					w = t.share(t.tracks[kind][t.leaves+int(slot)], int(kind))
					if !t.before(w, best) {
						continue
					}
				}
				if fits == nil || fits(slot) {
					best = w
					continue // a node in which it won has nobody before it
				}
			}
			if i < t.leaves {
				// The half that w comes from goes first: its others are
				// as likely as any to be poor, and what is found bounds
				// the search in the other half.
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

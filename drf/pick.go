package drf

import "github.com/cellsched/cellsched/resources"

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

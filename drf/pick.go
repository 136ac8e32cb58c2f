package drf

import "github.com/cellsched/cellsched/resources"

// pick returns the winner among those whose demand fits in free, or none.
func (t *tree) pick(free *resources.Vector) uint32 {
	t.settle()
	if t.leaves == 0 {
		return none
	}
	first := t.winners[1].slot
	if first == none || resources.Fits(&t.demands[t.leaves+int(first)], free) {
		return first
	}
	return t.search(first, free)
}

// search is pick for when the winner of all is refused already.
func (t *tree) search(refused uint32, free *resources.Vector) uint32 {
	best := vacant
	var later [32]uint32 // one sibling a level is put off
	n, i := 0, 1
	for {
		if w := t.winners[i]; t.before(w, best) && resources.Fits(&t.demands[i], free) {
			if w.slot != refused && resources.Fits(&t.demands[t.leaves+int(w.slot)], free) {
				best = w
			} else {
				// The half that w comes from goes first: its others are
				// as likely as any to be poor, and what is found bounds
				// the search in the other half. A leaf never gets here,
				// since its minimum is its own demand.
				refused = w.slot
				i *= 2
				if t.winners[i].slot != w.slot {
					i++
				}
				later[n] = uint32(i ^ 1)
				n++
				continue
			}
		}
		if n == 0 {
			return best.slot
		}
		n--
		i = int(later[n])
	}
}

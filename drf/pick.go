package drf

import "github.com/cellsched/cellsched/resources"

// pick returns the winner among those whose demand fits in free, or none.
func (t *tree) pick(free *resources.Vector) uint32 {
	t.settle()
	if t.leaves == 0 {
		return none
	}
	first := t.winners[1].slot
	if first == none || fits(&t.demands[t.leaves+int(first)], free) {
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
		if w := t.winners[i]; t.before(w, best) && fits(&t.demands[i], free) {
			if w.slot != refused && fits(&t.demands[t.leaves+int(w.slot)], free) {
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

// fits is [resources.Vector.Fits] for vectors that are not to be copied, which
// would take longer than to compare them. Component by component it would be
// shorter and, since which one binds is hard to predict, slower.
func fits(v, free *resources.Vector) bool {
	neg := v[0] | free[0] | (free[0] - v[0])
	neg |= v[1] | free[1] | (free[1] - v[1])
	neg |= v[2] | free[2] | (free[2] - v[2])
	neg |= v[3] | free[3] | (free[3] - v[3])
	neg |= v[4] | free[4] | (free[4] - v[4])
	neg |= v[5] | free[5] | (free[5] - v[5])
	neg |= v[6] | free[6] | (free[6] - v[6])
	neg |= v[7] | free[7] | (free[7] - v[7])
	return neg >= 0
}

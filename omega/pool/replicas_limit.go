package pool

import (
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/resources"
)

// covers reports whether the part of a limit that leases here may use is enough for a need
// beside held, which counts all replicas. If it is not, more is asked for.
func (rs *replicas) covers(t *Tenant, held, need *resources.Vector) bool {
	f := rs.farOf(t)
	for k, most := range t.set.Limit {
		if more := held[k] - f.held[k] + need[k]; most < resources.MaxQuantity && (more > f.part[k] || rs.aheadIn(t, k, more, need)) {
			if rs.looking {
				return false
			}
			f.asks, f.unit = *need, *need
			if rs.mark(t); !rs.delaying {
				rs.delaying = true
				setTimer(&rs.later, noteAfter, rs.noteAll)
			}
			return false
		}
	}
	if f.asks != (resources.Vector{}) && !rs.looking {
		f.asks = resources.Vector{} // another request that lacks more asks again
		rs.mark(t)
	}
	return true
}

// aheadIn reports whether use of a kind is ahead of a replica that asks for a part of the limit
// of t, by more than a step.
func (rs *replicas) aheadIn(t *Tenant, k int, use int64, need *resources.Vector) bool {
	return t.far.wanted && need[k] > 0 && use > t.far.fewest[k]+need[k]*rs.step(t, need)
}

// hearLimit notes the part of a limit that this replica has, and what others ask for.
func (rs *replicas) hearLimit(t *Tenant, one *journal.Tally) {
	f := t.far
	f.part, f.others, f.fewest = one.Own, one.Others, one.Least
	if f.sending { // a part that is smaller counts before the board has it
		f.part = f.part.Min(f.sent)
	}
	if f.wanted != one.Waits || f.asks != (resources.Vector{}) {
		rs.mark(t)
	}
	f.wanted = one.Waits
}

// partOf returns the part of the limit of t that this replica is to have, and the need for
// which no more is left. Slack of some leases stays here unless another replica asks for it.
func (rs *replicas) partOf(t *Tenant) (part, need resources.Vector, changed bool) {
	f := t.far
	if !t.set.Limited {
		return part, need, f.part != part || f.asked != need
	}
	used := rs.here(t).Add(t.promised)
	steps := rs.step(t, &f.unit)
	if rs.over {
		f.asks = resources.Vector{}
	}
	fits, keeps := true, true
	for k, most := range t.set.Limit {
		if most == resources.MaxQuantity {
			continue
		}
		left := most - min(most, f.others[k])
		slack := steps * f.unit[k]
		if f.wanted || rs.over {
			slack = 0
		}
		least := used[k] + f.asks[k]
		fits = fits && least <= left && !rs.aheadIn(t, k, least, &f.asks)
		keeps = keeps && f.part[k] >= least && f.part[k] <= used[k]+2*slack
		part[k] = max(least, min(least+slack, left))
	}
	switch {
	case !fits:
		need, part = f.asks, resources.Vector{}
		for k, most := range t.set.Limit {
			if most < resources.MaxQuantity {
				part[k] = min(used[k], f.part[k])
			}
		}
	case keeps:
		part = f.part
		f.asks = resources.Vector{}
	}
	return part, need, part != f.part || need != f.asked
}

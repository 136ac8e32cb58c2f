package omega

import (
	"cmp"
	"iter"
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// demand is a number of needs that are to be met at once: one need, or those of a gang.
type demand struct {
	needs []resources.Vector // the distinct ones, as they were first given
	count []int              // of each
	total int                // of all; 0 for a demand of nothing
	least resources.Vector   // the least of each kind that one of them is
	sum   resources.Vector   // of all
}

func newDemand(needs []resources.Vector) (d demand) {
	place := make(map[resources.Vector]int, min(len(needs), 8))
	for _, need := range needs {
		i, known := place[need]
		if !known {
			i = len(d.needs)
			place[need] = i
			d.needs, d.count = append(d.needs, need), append(d.count, 0)
		}
		d.count[i]++
		if d.total++; d.total == 1 {
			d.least = need
		}
		d.least, d.sum = d.least.Min(need), d.sum.Add(need)
	}
	return d
}

// usable reports whether room is enough for one of the needs. Other room is of no use to
// the demand.
func (d *demand) usable(room *resources.Vector) bool {
	if !resources.Fits(&d.least, room) {
		return false
	}
	for i := range d.needs {
		if resources.Fits(&d.needs[i], room) {
			return true
		}
	}
	return false
}

// met reports whether the needs may all fit at once in the rooms. It is false only if
// they do not. It is exact for one need and for needs that are alike. For others it is
// exact as long as searchSteps are enough.
//
// Cost: O(rooms) for needs that are alike, else O(needs that differ × rooms). Where first
// fit fails, a search of searchSteps at most is added.
func (d *demand) met(rooms iter.Seq[*resources.Vector]) bool {
	if len(d.needs) == 1 {
		left := d.total
		for room := range rooms {
			if resources.Fits(&d.needs[0], room) {
				if left -= min(left, times(&d.needs[0], room)); left == 0 {
					return true
				}
			}
		}
		return left == 0
	}
	p := packing{demand: d}
	for room := range rooms {
		if d.usable(room) {
			p.rooms = append(p.rooms, *room)
		}
	}
	return p.enough() && (p.firstFit() || p.search())
}

// packing is a demand of needs that differ, and the rooms that it can use.
type packing struct {
	demand *demand
	rooms  []resources.Vector
	order  []int // of the needs, that with the largest part of the largest room first
	left   []int // of each need, not placed yet
	steps  int   // left to the search
}

// searchSteps is how many placements a search tries.
const searchSteps = 4096

// enough reports whether the rooms meet three conditions that are necessary to hold the
// needs. There is enough of each kind in all. There are enough places for each need by
// itself. There are enough places for all needs if each were as small as the least.
func (p *packing) enough() bool {
	d := p.demand
	left, total := slices.Clone(d.count), d.total
	var sum resources.Vector
	for i := range p.rooms {
		room := &p.rooms[i]
		sum = sum.Add(*room)
		total -= min(total, times(&d.least, room))
		for n := range d.needs {
			if resources.Fits(&d.needs[n], room) {
				left[n] -= min(left[n], times(&d.needs[n], room))
			}
		}
	}
	return total == 0 && slices.Max(left) == 0 && d.sum.Fits(sum)
}

// firstFit reports whether the needs fit by first fit, the largest need first. It finds
// most of the ways that there are.
func (p *packing) firstFit() bool {
	var most resources.Vector
	for i := range p.rooms {
		most = most.Max(p.rooms[i])
	}
	d := p.demand
	part := make([]float64, len(d.needs))
	p.order = make([]int, len(d.needs))
	for i := range d.needs {
		part[i], _, _ = d.needs[i].DominantShare(most)
		p.order[i] = i
	}
	slices.SortStableFunc(p.order, func(a, b int) int { return cmp.Compare(part[b], part[a]) })
	rooms := slices.Clone(p.rooms)
	for _, i := range p.order {
		need, left := &d.needs[i], d.count[i]
		for r := range rooms {
			if left > 0 && resources.Fits(need, &rooms[r]) {
				n := min(left, times(need, &rooms[r]))
				left -= n
				takeTimes(&rooms[r], need, n)
			}
		}
		if left > 0 {
			return false
		}
	}
	return true
}

// takeTimes subtracts need from room, in which it fits so often.
func takeTimes(room, need *resources.Vector, n int) {
	for k, q := range need {
		room[k] -= q * int64(n)
	}
}

// search reports whether there is a way to place the needs. It returns true too if
// searchSteps are not enough to know.
func (p *packing) search() bool {
	p.left, p.steps = slices.Clone(p.demand.count), searchSteps
	return p.place(0)
}

// place places the rest of the needs from place at in the order on. It tries rooms that
// are alike once.
func (p *packing) place(at int) bool {
	for at < len(p.order) && p.left[p.order[at]] == 0 {
		at++
	}
	if at == len(p.order) {
		return true
	}
	i := p.order[at]
	need := &p.demand.needs[i]
	var tried []resources.Vector
	for r := range p.rooms {
		room := &p.rooms[r]
		if !resources.Fits(need, room) || slices.Contains(tried, *room) {
			continue
		}
		if p.steps--; p.steps < 0 {
			// Unknown: met is false only if the needs do not fit.
			return true
		}
		tried = append(tried, *room)
		takeTimes(room, need, 1)
		p.left[i]--
		done := p.place(at)
		p.left[i]++
		takeTimes(room, need, -1)
		if done {
			return true
		}
	}
	return false
}

// demands lists alternatives: meeting one wakes the waiter. A call of WaitMark has
// none.
type demands []demand

// usable reports whether room is enough for one need of one of them.
func (ds demands) usable(room *resources.Vector) bool {
	for i := range ds {
		if ds[i].usable(room) {
			return true
		}
	}
	return false
}

// met reports whether one of them may fit at once in the rooms.
func (ds demands) met(rooms iter.Seq[*resources.Vector]) bool {
	for i := range ds {
		if ds[i].met(rooms) {
			return true
		}
	}
	return false
}

// plain reports whether each demand is of one need, so that usable room is enough.
func (ds demands) plain() bool {
	for i := range ds {
		if ds[i].total > 1 {
			return false
		}
	}
	return true
}

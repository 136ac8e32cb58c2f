package slots

import (
	"errors"

	"github.com/cellsched/cellsched/internal/fault"
)

// ErrNotOptimal is the error of a failed Verify.
var ErrNotOptimal = errors.New("quincy: not optimal")

// Verify proves that the places cost the least, or returns an error with the
// contradiction:
//
//   - all locations are balanced;
//   - every task has a place;
//   - no arc with room has a negative reduced cost;
//   - places cost as much as Cost returns.
//
// Cost: O(options).
func (n *Net) Verify() error {
	in := make([]int64, len(n.locs))
	var sum total
	for t := range n.tasks {
		if n.tasks[t].n == 0 {
			continue
		}
		if err := n.verifyTask(int32(t)); err != nil {
			return err
		}
		in[n.cur[t].at]++
		sum.add(n.cur[t].cost)
	}
	if sum.carried() != n.total.carried() {
		return fault.Newf("quincy", ErrNotOptimal, "places cost %d, %d noted", sum.int64(), n.Cost())
	}
	var out, kept, free int64
	for i := range n.locs {
		v, l := Loc(i), &n.locs[i]
		if l.parent != none {
			in[i] += int64(l.down)
			in[l.parent] -= int64(l.down)
			if l.leaf {
				free += int64(l.capacity - l.out)
			}
			if n.price[v] < n.price[l.parent] || l.down > 0 && n.price[v] != n.price[l.parent] {
				return fault.Newf("quincy", ErrNotOptimal, "location %d at %d, in %d at %d, %d units", v, n.price[v], l.parent, n.price[l.parent], l.down)
			}
		}
		out += int64(l.out)
		kept += int64(l.demand)
		if !l.leaf {
			continue
		}
		in[i] -= int64(l.out) + int64(l.demand)
		over := n.price[v] - n.price[Sink]
		if l.out < 0 || l.out > l.capacity || l.out < l.capacity && over > 0 || l.out > 0 && over < 0 {
			return fault.Newf("quincy", ErrNotOptimal, "location %d passes %d of %d on, at %d above the sink", v, l.out, l.capacity, over)
		}
	}
	in[Sink] += out + kept - int64(n.live)
	if free != n.free {
		return fault.Newf("quincy", ErrNotOptimal, "%d slots are free, %d noted", free, n.free)
	}
	for v, rest := range in {
		if rest != 0 || n.locs[v].excess != 0 || n.locs[v].down < 0 {
			return fault.Newf("quincy", ErrNotOptimal, "location %d: %d units left over, %d noted", v, rest, n.locs[v].excess)
		}
	}
	return nil
}

func (n *Net) verifyTask(t int32) error {
	p := n.cur[t]
	if p.at == none {
		return fault.Newf("quincy", ErrNotOptimal, "task %d has no place", t)
	}
	found := false
	for _, o := range n.optionsOf(t) {
		cost := o.cost(n.now)
		if o.at == p.at {
			found = cost == p.cost
		}
		if less := p.cost + n.price[p.at] - cost - n.price[o.at]; less > 0 {
			return fault.Newf("quincy", ErrNotOptimal, "task %d at location %d for %d, at %d it would be %d cheaper", t, p.at, p.cost, o.at, less)
		}
	}
	if !found {
		return fault.Newf("quincy", ErrNotOptimal, "task %d at location %d for %d, which is none of its options", t, p.at, p.cost)
	}
	return nil
}

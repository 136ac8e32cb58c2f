package slots

import (
	"errors"
	"fmt"
)

// ErrNotOptimal is what Verify fails with.
var ErrNotOptimal = errors.New("quincy: not optimal")

// Verify proves that the places cost the least, or says what contradicts it:
// all locations are balanced, every task has a place, no arc with room has
// a negative reduced cost, and places cost what Cost says. Cost: O(options).
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
		return fmt.Errorf("places cost %d, %d noted: %w", sum.int64(), n.Cost(), ErrNotOptimal)
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
				return fmt.Errorf("location %d at %d, in %d at %d, %d units: %w", v, n.price[v], l.parent, n.price[l.parent], l.down, ErrNotOptimal)
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
			return fmt.Errorf("location %d passes %d of %d on, at %d above the sink: %w", v, l.out, l.capacity, over, ErrNotOptimal)
		}
	}
	in[Sink] += out + kept - int64(n.live)
	if free != n.free {
		return fmt.Errorf("%d slots are free, %d noted: %w", free, n.free, ErrNotOptimal)
	}
	for v, rest := range in {
		if rest != 0 || n.locs[v].excess != 0 || n.locs[v].down < 0 {
			return fmt.Errorf("location %d: %d units left over, %d noted: %w", v, rest, n.locs[v].excess, ErrNotOptimal)
		}
	}
	return nil
}

func (n *Net) verifyTask(t int32) error {
	p := n.cur[t]
	if p.at == none {
		return fmt.Errorf("task %d has no place: %w", t, ErrNotOptimal)
	}
	found := false
	for _, o := range n.optionsOf(t) {
		cost := o.cost(n.now)
		if o.at == p.at {
			found = cost == p.cost
		}
		if less := p.cost + n.price[p.at] - cost - n.price[o.at]; less > 0 {
			return fmt.Errorf("task %d at location %d for %d, at %d it would be %d cheaper: %w", t, p.at, p.cost, o.at, less, ErrNotOptimal)
		}
	}
	if !found {
		return fmt.Errorf("task %d at location %d for %d, which is none of its options: %w", t, p.at, p.cost, ErrNotOptimal)
	}
	return nil
}

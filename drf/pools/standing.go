package pools

import "github.com/cellsched/cellsched/resources"

// Standing says how a pool or a job stands towards what is due to it. Vectors
// are in base units, and in every kind Min <= Fair <= Wants.
type Standing struct {
	Node   Node
	Parent Node // the pool that it is in; the root's is the zero Node

	// Usage is what it holds, all below it included. It may be more than all
	// that follows.
	Usage resources.Vector
	// Wants is what it would hold if it were alone: what it holds, plus what
	// [Tree.Wants] tells of its jobs, but no more than the max shares.
	Wants resources.Vector
	// Min is its min share, as far as it wants it and its pool can keep the
	// promise: where the min shares of siblings are more than the fair share of
	// their pool, each has the same part of its own.
	Min resources.Vector
	// Fair is its fair share.
	Fair resources.Vector
}

// Standings returns how every pool and job stands, the root first, and parents
// before children, which are in the order of [Tree.Children].
//
// The fair share of the root is the total, as far as it is wanted. That of a
// pool is divided among its children kind by kind, as the Hadoop Fair Scheduler
// does it: each gets its weight times a level that is the same for all, but at
// least its min share and at most what it wants. So what the idle do not want is
// lent to the others, and goes back to them as soon as they want it. Children
// have together what their pool has: what is due to jobs adds up to the fair
// share of the root, to the unit. Each share is within one unit of the exact
// one; units that cannot be divided go to those who come first.
//
// This holds for pools shared by DRF, of which it bounds the kinds one by one;
// and for those with an [Order] in which of two whoever holds less goes first,
// such as [Fair]. Where an Order does not let siblings share, as with [FIFO] and
// [Priority], all get their min shares, and then the first as much as it wants,
// and others what is left. It is the Order that says who gets what is free: were
// the first to have no more than the others due to it, then what is preempted
// from it would be given back to it by [Tree.Pick], and this for ever. Whether
// they share, the Order is asked as if nobody held anything or were promised
// anything, and as if one held all of the cell.
//
// Standings changes nothing. Cost: O(n log n) for n nodes, in each kind that is
// wanted, and about a kilobyte a node.
func (t *Tree[K]) Standings() []Standing {
	if t.none() {
		return nil
	}
	s := make([]Standing, 1, t.Len()+1)
	s[0].Node = t.Root()
	configs := make([]Config, 0, t.Len()+1)
	first := make([]int, 0, t.Len()+2) // where the children of each begin: they end where the next one's do
	for i := 0; i < len(s); i++ {
		h := s[i].Node
		s[i].Usage, _ = t.Usage(h)
		config, _ := t.Config(h)
		configs = append(configs, config)
		first = append(first, len(s))
		for child := range t.Children(h) {
			s = append(s, Standing{Node: child, Parent: h})
		}
	}
	first = append(first, len(s))

	for i := len(s) - 1; i >= 0; i-- {
		if more, job := t.Wants(s[i].Node); job {
			s[i].Wants = s[i].Usage.Add(more)
		}
		for _, child := range s[first[i]:first[i+1]] {
			s[i].Wants = s[i].Wants.Add(child.Wants)
		}
		if high := configs[i].Max; high != nil {
			s[i].Wants = s[i].Wants.Min(*high)
		}
	}
	s[0].Fair = s[0].Wants.Min(t.Total())
	s[0].Min = s[0].Fair.Min(configs[0].Min)
	var turn turns
	var d division
	for i := range s {
		if from, to := first[i], first[i+1]; from < to {
			places, ends := turn.of(&t.core, configs[i].Order, s[from:to])
			d.divide(&s[i].Fair, s[from:to], configs[from:to], places, ends)
		}
	}
	return s
}

// division divides what pools have, one after the other, and keeps its memory.
type division struct {
	water  water
	claims []claim
	shares []int64
}

// divide computes Min and Fair of siblings, in turns.
func (d *division) divide(fair *resources.Vector, siblings []Standing, configs []Config, places, ends []int) {
	d.claims, d.shares = d.claims[:0], d.shares[:0]
	for _, p := range places {
		d.claims = append(d.claims, claim{weight: massOf(configs[p].Weight)})
		d.shares = append(d.shares, 0)
	}
	for k, total := range fair {
		if total == 0 {
			continue // nothing is due to anybody
		}
		for i, p := range places {
			high := siblings[p].Wants[k]
			d.claims[i].low, d.claims[i].high = min(configs[p].Min[k], high), high
		}
		d.water.promise(total, d.claims, d.shares)
		d.inTurn(total, ends)
		for i, p := range places {
			siblings[p].Min[k], siblings[p].Fair[k] = d.claims[i].low, d.shares[i]
		}
	}
}

// inTurn divides the total, from which all get their lows, and what is left goes
// to one turn after the other.
func (d *division) inTurn(total int64, ends []int) {
	for _, c := range d.claims {
		total -= c.low
	}
	from := 0
	for _, to := range ends {
		for _, c := range d.claims[from:to] {
			total += c.low
		}
		d.water.divide(total, d.claims[from:to], d.shares[from:to])
		for _, share := range d.shares[from:to] {
			total -= share
		}
		from = to
	}
}

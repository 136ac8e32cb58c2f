package pools

import "github.com/cellsched/cellsched/resources"

// Standing is a pool's or a job's usage beside its wants, min share and fair share.
// Vectors are in base units, and in every kind Min <= Fair <= Wants.
type Standing struct {
	Node   Node
	Parent Node // the pool that it is in; the root's is the zero Node

	// Usage is the amount that the node holds, all below it included. It may exceed
	// Min, Fair and Wants.
	Usage resources.Vector
	// Wants is the amount that the node would hold alone: its usage plus
	// [Tree.Wants] of its jobs, but no more than the max shares.
	Wants resources.Vector
	// Min is its min share, as far as it wants it and its pool can keep the
	// promise. If the min shares of siblings exceed the fair share of their pool,
	// each gets the same part of its own.
	Min resources.Vector
	// Fair is its fair share.
	Fair resources.Vector
}

// Standings returns the standing of every pool and job, the root first, and parents
// before children, which are in the order of [Tree.Children]. It changes nothing.
//
// The fair share of the root is the total, as far as it is wanted. The share of a
// pool is divided among its children kind by kind, as in the Hadoop Fair Scheduler.
// A child gets its weight times a level that is the same for all, but at least its
// min share and at most its wants. So an unwanted share is lent to the others, and
// goes back as soon as it is wanted. Children together get the share of their pool,
// to the unit. Each share is within one unit of the exact one; indivisible units go
// to the first children.
//
// This holds for pools shared by DRF, kind by kind, and for an [Order] that puts
// the smaller usage first, such as [Fair]. Under an Order that does not share, such
// as [FIFO] and [Priority], all children get their min shares. The first then gets
// as much as it wants, and the next ones the rest.
//
// The fair share has to follow the Order, since the Order decides which child gets
// free room. Otherwise [Tree.Pick] would return to the first child the room that is
// preempted from it, for ever. To find out whether siblings share, the Order is
// called with children that hold nothing and have no min share. It is also called
// with one that holds all of the cell.
//
// Cost: O(n log n) for n nodes, in each kind that is wanted, and about a kilobyte a
// node.
func (t *Tree[K]) Standings() []Standing {
	if t.none() {
		return nil
	}
	s := make([]Standing, 1, t.Len()+1)
	s[0].Node = t.Root()
	configs := make([]Config, 0, t.Len()+1)
	first := make([]int, 0, t.Len()+2) // index of the first child of each; its last is before the next one's first
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
	var turn rounds
	var d division
	for i := range s {
		if from, to := first[i], first[i+1]; from < to {
			places, ends := turn.of(&t.core, configs[i].Order, s[from:to])
			d.divide(&s[i].Fair, s[from:to], configs[from:to], places, ends)
		}
	}
	return s
}

// division divides the fair shares of pools, one after the other, and keeps its
// memory.
type division struct {
	water  water
	claims []claim
	shares []int64
}

// divide computes Min and Fair of siblings, in rounds.
func (d *division) divide(fair *resources.Vector, siblings []Standing, configs []Config, places, ends []int) {
	d.claims, d.shares = d.claims[:0], d.shares[:0]
	for _, p := range places {
		d.claims = append(d.claims, claim{weight: massOf(configs[p].Weight)})
		d.shares = append(d.shares, 0)
	}
	for k, total := range fair {
		if total == 0 {
			continue // all fair shares are 0
		}
		for i, p := range places {
			high := siblings[p].Wants[k]
			d.claims[i].low, d.claims[i].high = min(configs[p].Min[k], high), high
		}
		d.water.promise(total, d.claims, d.shares)
		d.byRounds(total, ends)
		for i, p := range places {
			siblings[p].Min[k], siblings[p].Fair[k] = d.claims[i].low, d.shares[i]
		}
	}
}

// byRounds divides the total, in which all lows fit: the rest goes to one round
// after the other.
func (d *division) byRounds(total int64, ends []int) {
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

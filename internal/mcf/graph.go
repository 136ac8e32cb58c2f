package mcf

import (
	"errors"
	"math"

	"github.com/cellsched/cellsched/internal/fault"
)

// What is wrong with a graph. The text of the error names the node or arc.
var (
	// ErrUnbalanced is for supplies that do not add up to zero.
	ErrUnbalanced = errors.New("quincy: supplies and demands differ")
	// ErrInfeasible is for graphs in which no flow meets all demands.
	ErrInfeasible = errors.New("quincy: infeasible")
	// ErrRange is for figures that are outside of what is allowed.
	ErrRange = errors.New("quincy: out of range")
)

// Limits of what a graph may hold.
const (
	MaxCost     = 1 << 40 // largest absolute cost of an arc
	MaxCapacity = 1 << 40 // largest capacity of an arc, and supply of a node
	MaxNodes    = 1 << 24
	MaxArcs     = 1 << 28
	// MaxUnits is the largest sum of all capacities and absolute supplies.
	MaxUnits = 1 << 62
)

// Graph is a directed graph with supplies at nodes, which count from 0.
type Graph struct {
	// Supply is the amount that each node adds to the flow; demands are negative.
	Supply []int64
	Arcs   []Arc
}

// Arc carries from Low to Cap units, each at Cost. An arc from a node to itself
// carries Low, or Cap if that costs less.
type Arc struct {
	From, To       int32
	Low, Cap, Cost int64
}

// loop reports whether a leads from a node to itself.
func (a *Arc) loop() bool { return a.From == a.To }

// Check returns an error if g is invalid: ends of arcs that are no nodes, figures out of
// range, supplies that do not add up to zero. Cost: O(nodes + arcs).
func (g *Graph) Check() error {
	if n := len(g.Supply); n > MaxNodes {
		return fault.Newf("quincy", ErrRange, "%d nodes, at most %d", n, MaxNodes)
	}
	if m := len(g.Arcs); m > MaxArcs {
		return fault.Newf("quincy", ErrRange, "%d arcs, at most %d", m, MaxArcs)
	}
	var sum, units int64
	for v, s := range g.Supply {
		if s > MaxCapacity || s < -MaxCapacity {
			return fault.Newf("quincy", ErrRange, "node %d: supply %d, at most ±%d", v+1, s, int64(MaxCapacity))
		}
		sum += s
		if units += max(s, -s); units > MaxUnits {
			return fault.Newf("quincy", ErrRange, "node %d: all supplies come to more than 2^62", v+1)
		}
	}
	for i := range g.Arcs {
		if err := g.Arcs[i].check(len(g.Supply)); err != nil {
			return fault.Newf("quincy", err, "arc %d", i+1)
		}
		if units += g.Arcs[i].Cap; units > MaxUnits {
			return fault.Newf("quincy", ErrRange, "arc %d: all capacities and supplies come to more than 2^62", i+1)
		}
	}
	if sum != 0 {
		return fault.Newf("quincy", ErrUnbalanced, "all supplies add up to %d, want 0", sum)
	}
	return nil
}

// check returns an error if a is invalid in a graph of n nodes. The text counts nodes
// from 1, as files do.
func (a *Arc) check(n int) error {
	switch {
	case a.From < 0 || int(a.From) >= n:
		return fault.Newf("quincy", ErrRange, "from node %d, want 1 to %d", a.From+1, n)
	case a.To < 0 || int(a.To) >= n:
		return fault.Newf("quincy", ErrRange, "to node %d, want 1 to %d", a.To+1, n)
	case a.Low < 0 || a.Low > a.Cap:
		return fault.Newf("quincy", ErrRange, "lower bound %d, want 0 to the capacity of %d", a.Low, a.Cap)
	case a.Cap > MaxCapacity:
		return fault.Newf("quincy", ErrRange, "capacity %d, at most %d", a.Cap, int64(MaxCapacity))
	case a.Cost > MaxCost || a.Cost < -MaxCost:
		return fault.Newf("quincy", ErrRange, "cost %d, at most ±%d", a.Cost, int64(MaxCost))
	}
	return nil
}

// Cost returns what flow costs, flow[i] being what arc i carries, or says why
// it is no flow of g. Sums beyond the range of an int64 are an error.
func (g *Graph) Cost(flow []int64) (int64, error) {
	if len(flow) != len(g.Arcs) {
		return 0, fault.Newf("quincy", ErrRange, "flow on %d arcs, want %d", len(flow), len(g.Arcs))
	}
	var cost int64
	left := make([]int64, len(g.Supply))
	copy(left, g.Supply)
	for i, a := range g.Arcs {
		if flow[i] < a.Low || flow[i] > a.Cap {
			return 0, fault.Newf("quincy", ErrInfeasible, "arc %d: flow %d, want %d to %d", i+1, flow[i], a.Low, a.Cap)
		}
		left[a.From] -= flow[i]
		left[a.To] += flow[i]
		if f := flow[i]; f != 0 && (a.Cost > math.MaxInt64/2/f || a.Cost < math.MinInt64/2/f) {
			return 0, fault.Newf("quincy", ErrRange, "arc %d: %d units at %d", i+1, f, a.Cost)
		}
		cost += flow[i] * a.Cost
		if cost > math.MaxInt64/2 || cost < math.MinInt64/2 {
			return 0, fault.Newf("quincy", ErrRange, "cost of the flow, at arc %d", i+1)
		}
	}
	for v, rest := range left {
		if rest != 0 {
			return 0, fault.Newf("quincy", ErrInfeasible, "node %d: %d units left over", v+1, rest)
		}
	}
	return cost, nil
}

package mcf

import (
	"errors"
	"fmt"
	"math"
)

// What is wrong with a graph. The text of the error names the node or arc.
var (
	// ErrUnbalanced is for supplies that do not add up to zero.
	ErrUnbalanced = errors.New("supplies and demands differ")
	// ErrInfeasible is for graphs in which no flow meets all demands.
	ErrInfeasible = errors.New("infeasible")
	// ErrRange is for figures that are outside of what is allowed.
	ErrRange = errors.New("out of range")
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
	// Supply is what each node adds to the flow; demands are negative.
	Supply []int64
	Arcs   []Arc
}

// Arc carries from Low to Cap units, each at Cost.
type Arc struct {
	From, To       int32
	Low, Cap, Cost int64
}

// Check says what is wrong with g: ends of arcs that are no nodes, figures out
// of range, supplies that do not add up to zero. Cost: O(nodes + arcs).
func (g *Graph) Check() error {
	if n := len(g.Supply); n > MaxNodes {
		return fmt.Errorf("%d nodes, at most %d: %w", n, MaxNodes, ErrRange)
	}
	if m := len(g.Arcs); m > MaxArcs {
		return fmt.Errorf("%d arcs, at most %d: %w", m, MaxArcs, ErrRange)
	}
	var sum, units int64
	for v, s := range g.Supply {
		if s > MaxCapacity || s < -MaxCapacity {
			return fmt.Errorf("node %d: supply %d, at most ±%d: %w", v+1, s, int64(MaxCapacity), ErrRange)
		}
		sum += s
		if units += max(s, -s); units > MaxUnits {
			return fmt.Errorf("node %d: all supplies come to more than 2^62: %w", v+1, ErrRange)
		}
	}
	for i := range g.Arcs {
		if err := g.Arcs[i].check(len(g.Supply)); err != nil {
			return fmt.Errorf("arc %d: %w", i+1, err)
		}
		if units += g.Arcs[i].Cap; units > MaxUnits {
			return fmt.Errorf("arc %d: all capacities and supplies come to more than 2^62: %w", i+1, ErrRange)
		}
	}
	if sum != 0 {
		return fmt.Errorf("all supplies add up to %d, want 0: %w", sum, ErrUnbalanced)
	}
	return nil
}

// check says what is wrong with a in a graph of n nodes, which are counted
// from 1 in the text as in files.
func (a *Arc) check(n int) error {
	switch {
	case a.From < 0 || int(a.From) >= n:
		return fmt.Errorf("from node %d, want 1 to %d: %w", a.From+1, n, ErrRange)
	case a.To < 0 || int(a.To) >= n:
		return fmt.Errorf("to node %d, want 1 to %d: %w", a.To+1, n, ErrRange)
	case a.From == a.To:
		return fmt.Errorf("from node %d to itself: %w", a.From+1, ErrRange)
	case a.Low < 0 || a.Low > a.Cap:
		return fmt.Errorf("lower bound %d, want 0 to the capacity of %d: %w", a.Low, a.Cap, ErrRange)
	case a.Cap > MaxCapacity:
		return fmt.Errorf("capacity %d, at most %d: %w", a.Cap, int64(MaxCapacity), ErrRange)
	case a.Cost > MaxCost || a.Cost < -MaxCost:
		return fmt.Errorf("cost %d, at most ±%d: %w", a.Cost, int64(MaxCost), ErrRange)
	}
	return nil
}

// Cost returns what flow costs, flow[i] being what arc i carries, or says why
// it is no flow of g. Sums beyond the range of an int64 are an error.
func (g *Graph) Cost(flow []int64) (int64, error) {
	if len(flow) != len(g.Arcs) {
		return 0, fmt.Errorf("flow on %d arcs, want %d: %w", len(flow), len(g.Arcs), ErrRange)
	}
	var cost int64
	left := make([]int64, len(g.Supply))
	copy(left, g.Supply)
	for i, a := range g.Arcs {
		if flow[i] < a.Low || flow[i] > a.Cap {
			return 0, fmt.Errorf("arc %d: flow %d, want %d to %d: %w", i+1, flow[i], a.Low, a.Cap, ErrInfeasible)
		}
		left[a.From] -= flow[i]
		left[a.To] += flow[i]
		if f := flow[i]; f != 0 && (a.Cost > math.MaxInt64/2/f || a.Cost < math.MinInt64/2/f) {
			return 0, fmt.Errorf("arc %d: %d units at %d: %w", i+1, f, a.Cost, ErrRange)
		}
		cost += flow[i] * a.Cost
		if cost > math.MaxInt64/2 || cost < math.MinInt64/2 {
			return 0, fmt.Errorf("cost of the flow, at arc %d: %w", i+1, ErrRange)
		}
	}
	for v, rest := range left {
		if rest != 0 {
			return 0, fmt.Errorf("node %d: %d units left over: %w", v+1, rest, ErrInfeasible)
		}
	}
	return cost, nil
}

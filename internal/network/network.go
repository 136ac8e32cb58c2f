// Package network has min-cost-flow problems of any shape: to be read from a file, solved,
// and compared. They are an oracle for the planner of locality/quincy, and its commands
// for files.
package network

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/internal/mcf"
	"github.com/cellsched/cellsched/internal/slots"
)

// Network is a problem. It does not change and is safe for concurrent use.
type Network struct {
	graph *mcf.Graph
}

// Read reads the DIMACS format for min-cost flow. It has a line "p min NODES
// ARCS", lines "n NODE SUPPLY" and "a FROM TO LOW CAPACITY COST", and comments,
// which start with c. Cost: O(bytes), and 8 bytes of memory for each node of the p
// line, 2^24 at most.
//
// Errors name the line or arc, or the sum of the supplies:
//
//   - malformed text;
//   - costs beyond ±2^40, capacities below 0 or beyond 2^40, or beyond 2^62
//     together with all supplies;
//   - supplies that do not add up to 0.
func Read(r io.Reader) (*Network, error) {
	g, err := mcf.Read(r)
	if err != nil {
		return nil, refuse(err, "read")
	}
	return &Network{g}, nil
}

// Write writes the network as [Read] reads it. Errors are the writer's.
func (n *Network) Write(w io.Writer) error { return n.graph.Write(w) }

// Nodes returns the number of nodes.
func (n *Network) Nodes() int { return len(n.graph.Supply) }

// Arcs returns the number of arcs.
func (n *Network) Arcs() int { return len(n.graph.Arcs) }

// Solver is a way to solve a [Network].
type Solver uint8

const (
	// Auto is Special if the network has the shape for it, otherwise Generic.
	Auto Solver = iota
	// Special is the solver of the planner. It takes networks of unit tasks, groups
	// in trees, and leaves, in which only arcs out of tasks have a cost.
	Special
	// Generic is cost scaling, for any shape.
	Generic
)

// String returns the solver's name as flags spell it.
func (s Solver) String() string {
	switch s {
	case Auto:
		return "auto"
	case Special:
		return "special"
	case Generic:
		return "generic"
	}
	return fmt.Sprintf("Solver(%d)", uint8(s))
}

// Run is a network, ready to be solved once by one solver. It belongs to one
// goroutine.
type Run struct {
	// Solver is Special or Generic.
	Solver Solver
	// Reason is the reason why the special solver does not take the network. It is
	// empty if it does, or was not asked for.
	Reason string

	graph    *mcf.Graph
	shape    *shape
	solution mcf.Solution // of the generic solver
}

// Prepare builds the input of a solver. Errors: [ErrShape] if Special is asked for
// and the network does not have the shape, and [mcf.ErrRange] for an unknown solver.
// Cost: O(nodes + arcs).
func (n *Network) Prepare(solver Solver) (*Run, error) {
	if solver > Generic {
		return nil, refuse(mcf.ErrRange, "%v, want %v, %v or %v", solver, Auto, Special, Generic)
	}
	run := &Run{Solver: Generic, graph: n.graph}
	if solver == Generic {
		return run, nil
	}
	run.shape, run.Reason = recognise(n.graph)
	if run.shape != nil {
		run.Solver = Special
	} else if solver == Special {
		return nil, refuse(ErrShape, "special solver: %s", run.Reason)
	}
	return run, nil
}

// Solve returns the least cost at which all demands can be met. Errors:
// [mcf.ErrInfeasible] if there is none, and [mcf.ErrRange] if prices would not fit 64 bits.
// If ctx is cancelled, its cause is returned within some milliseconds.
func (r *Run) Solve(ctx context.Context) (int64, error) {
	if r.shape == nil {
		s, err := r.graph.Solve(ctx)
		if err != nil {
			return 0, refuse(err, "solve")
		}
		r.solution = s
		return s.Cost, nil
	}
	if err := r.shape.net.Solve(ctx, 0); err != nil {
		if !errors.Is(err, slots.ErrInfeasible) {
			return 0, refuse(err, "solve")
		}
		if unplaced := r.shape.net.Unplaced(); len(unplaced) > 0 {
			return 0, refuse(mcf.ErrInfeasible, "node %d and %d others cannot send their supply", r.shape.tasks[unplaced[0]]+1, len(unplaced)-1)
		}
		return 0, refuse(mcf.ErrInfeasible, "solve")
	}
	return r.shape.net.Cost(), nil
}

// Verify proves that the result of Solve is optimal, from the prices of either
// solver: no arc with room has a negative reduced cost. It returns [slots.ErrNotOptimal]
// if there is no result. Cost: O(nodes + arcs).
func (r *Run) Verify() error {
	if r.shape != nil {
		return r.shape.net.Verify()
	}
	if err := r.graph.Verify(r.solution); err != nil {
		return fault.New("network", "not optimal", err, slots.ErrNotOptimal)
	}
	return nil
}

// refuse returns an error of this package that wraps cause.
func refuse(cause error, format string, args ...any) error {
	return fault.Newf("network", cause, format, args...)
}

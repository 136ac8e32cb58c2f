package quincy

import (
	"fmt"

	"github.com/cellsched/cellsched/locality"
)

const (
	// MaxCost is the largest absolute cost of an arc.
	MaxCost = 1 << 40
	// maxRate is the largest absolute rate at which it changes.
	maxRate = 1 << 15
)

// Target is the end of a task's arc. The zero Target is the cluster: any machine.
type Target struct {
	kind targetKind
	at   uint32
}

type targetKind uint8

const (
	toCluster targetKind = iota
	toRack
	toMachine
	toUnscheduled
)

// Cluster returns the target that is any machine.
func Cluster() Target { return Target{} }

// InRack returns the target that is any machine of rack.
func InRack(rack Rack) Target { return Target{toRack, uint32(rack)} }

// OnMachine returns the target that is the machine n.
func OnMachine(n locality.Node) Target { return Target{toMachine, uint32(n)} }

// Unscheduled returns the target that is to wait, or to be preempted.
func Unscheduled() Target { return Target{kind: toUnscheduled} }

// String returns the name of t in errors.
func (t Target) String() string {
	switch t.kind {
	case toRack:
		return fmt.Sprintf("rack %d", t.at)
	case toMachine:
		return fmt.Sprintf("machine %d", t.at)
	case toUnscheduled:
		return "unscheduled"
	}
	return "cluster"
}

// Arc is a possible place for a task, with its cost. Costs are in a unit that all
// arcs share, within ±[MaxCost].
type Arc struct {
	To Target
	// Cost is the present cost.
	Cost int64
	// Rate is the growth of Cost in a unit of time, within ±2^15. It is looked
	// up when needed, so that time alone changes no arcs.
	Rate int32
}

// waitArc returns the arc of a task to wait: unscheduled plus the cost of its time.
func waitArc(unscheduled int64, wait int32, s State, now int64) Arc {
	if s.Running {
		return Arc{Unscheduled(), clampCost(unscheduled, int64(wait)*s.Waited), 0}
	}
	return Arc{Unscheduled(), clampCost(unscheduled, int64(wait)*(s.Waited+now-s.Since)), wait}
}

// clampCost returns a + b within ±MaxCost.
func clampCost(a, b int64) int64 {
	const far = 1 << 61 // beyond all costs, and sums do not overflow
	return min(max(min(max(a, -far), far)+min(max(b, -far), far), -MaxCost), MaxCost)
}

// State is the state of a task when a planner asks for its arcs.
type State struct {
	// Running reports that the task was placed on On; otherwise it waits.
	Running bool
	On      locality.Node
	// Since is the time at which it was placed there, or began to wait.
	Since int64
	// Waited is its total wait before Since.
	Waited int64
	// Racks are those of the planner.
	Racks *Racks
}

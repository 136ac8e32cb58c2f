package quincy

import (
	"fmt"

	"github.com/cellsched/cellsched/locality"
)

const (
	// MaxCost is the largest absolute cost of an arc.
	MaxCost = 1 << 40
	// MaxRate is the largest absolute rate at which it changes.
	MaxRate = 1 << 15
)

// Target is where an arc of a task leads. The zero Target is the cluster: any
// machine.
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

// String returns what t is called in errors.
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

// Arc says what it costs that a task goes to a target. Costs are in whatever
// unit all arcs share, within ±[MaxCost].
type Arc struct {
	To Target
	// Cost is what it costs now.
	Cost int64
	// Rate is by how much Cost grows in a unit of time. It is looked up when
	// needed, so that time passing changes nothing but the time. It is within
	// ±[MaxRate].
	Rate int32
}

// waitArc is the arc of a task to wait, for so much and what its time costs.
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

// State is what a planner knows of a task when it asks for its arcs.
type State struct {
	// Running says that the task was placed on On; it waits if not.
	Running bool
	On      locality.Node
	// Since is when it was placed there, or began to wait.
	Since int64
	// Waited is how long it had waited in total before Since.
	Waited int64
	// Racks are those of the planner.
	Racks *Racks
}

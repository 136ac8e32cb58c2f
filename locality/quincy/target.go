package quincy

import "github.com/cellsched/cellsched/locality"

// Machine returns the machine of t, and false if t is none.
func (t Target) Machine() (locality.Node, bool) {
	return locality.Node(t.at), t.kind == toMachine
}

// Rack returns the rack of t, and false if t is none.
func (t Target) Rack() (Rack, bool) { return Rack(t.at), t.kind == toRack }

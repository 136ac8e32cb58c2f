package quincy

import (
	"slices"

	"github.com/cellsched/cellsched/locality"
)

// Rack is the number of a rack, of the caller's choice.
type Rack uint32

// Racks maps machines to racks. It changes with the planner's machines, and is
// read-only for others. Calls take O(1).
type Racks struct {
	of   numbered[locality.Node, int32] // 1 more than the index in all
	at   numbered[Rack, int32]          // likewise
	all  []rackNodes
	gone []int32 // dropped racks, likewise
	used int     // racks with machines
}

// rackNodes are the machines of a rack.
type rackNodes struct {
	rack  Rack
	nodes []locality.Node
}

// Of returns the rack of machine n; false if there is no such machine.
func (r *Racks) Of(n locality.Node) (Rack, bool) {
	at := r.of.get(n)
	if at == 0 {
		return 0, false
	}
	return r.all[at-1].rack, true
}

// Nodes returns the machines of a rack in the order in which they were added.
// The slice must not be modified, nor kept for longer than a call of Arcs.
func (r *Racks) Nodes(rack Rack) []locality.Node {
	at := r.at.get(rack)
	if at == 0 {
		return nil
	}
	return r.all[at-1].nodes
}

// count returns the number of racks with machines.
func (r *Racks) count() int { return r.used }

// add puts n into rack.
func (r *Racks) add(n locality.Node, rack Rack) {
	at := r.at.get(rack)
	if at == 0 {
		at = r.place()
		r.all[at-1].rack = rack
		r.at.set(rack, at)
	}
	r.of.set(n, at)
	r.set(at, append(r.all[at-1].nodes, n))
}

// place returns a place in all that is free.
func (r *Racks) place() int32 {
	if last := len(r.gone) - 1; last >= 0 {
		at := r.gone[last]
		r.gone = r.gone[:last]
		return at
	}
	r.all = append(r.all, rackNodes{})
	return int32(len(r.all))
}

// drop forgets a rack without machines.
func (r *Racks) drop(rack Rack) {
	at := r.at.get(rack)
	r.at.set(rack, 0)
	r.all[at-1] = rackNodes{}
	r.gone = append(r.gone, at)
}

// remove forgets n and leaves the list that it was in as it is. Undo brings n back.
func (r *Racks) remove(n locality.Node) (undo func()) {
	at := r.of.get(n)
	nodes := r.all[at-1].nodes
	r.of.set(n, 0)
	r.set(at, slices.DeleteFunc(slices.Clone(nodes), func(m locality.Node) bool { return m == n }))
	return func() {
		r.of.set(n, at)
		r.set(at, nodes)
	}
}

// set replaces the list of a rack.
func (r *Racks) set(at int32, nodes []locality.Node) {
	l := &r.all[at-1].nodes
	r.used += min(1, len(nodes)) - min(1, len(*l))
	*l = nodes
}

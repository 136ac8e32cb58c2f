package offers

import (
	"github.com/cellsched/cellsched/resources"
)

// within returns the part of the free room of a machine that the terms let the master
// take. Cost: O(allocations of the machine) where the terms offer a part of each.
func (fl *floor) within(n *node, free *resources.Vector) (room resources.Vector) {
	t := &fl.cfg.Terms
	switch {
	case !t.Machines.Has(n.id.Node()):
		return room
	case t.whole():
		return *free
	}
	held := fl.holding(n)
	return fl.beside(n, &held, free)
}

// holding returns the amount that offers, and tasks of frameworks, hold of a machine.
func (fl *floor) holding(n *node) (sum resources.Vector) {
	for _, a := range fl.cell.AllocationsOn(n.id) {
		if a.Scheduler == fl.cfg.Name || fl.registry.ownerOf(&a) != nil {
			sum = sum.Add(a.Need)
		}
	}
	return sum
}

// beside returns the part of the free room of a machine that the terms let the master
// take, if it and its frameworks hold so much.
func (fl *floor) beside(n *node, held, free *resources.Vector) resources.Vector {
	if fl.cfg.Terms.whole() {
		return *free
	}
	most := part(n.capacity, fl.cfg.Terms.Percent)
	for k, q := range held {
		most[k] = max(0, min(most[k]-q, free[k]))
	}
	return most
}

// over returns how much more of a machine is held than the terms let the master take.
func (fl *floor) over(n *node, held *resources.Vector) (over resources.Vector) {
	if fl.cfg.Terms.whole() {
		return over
	}
	most := part(n.capacity, fl.cfg.Terms.Percent)
	for k, q := range held {
		over[k] = max(0, q-most[k])
	}
	return over
}

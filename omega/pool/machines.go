package pool

import (
	"fmt"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// AddMachine adds a machine and serves the tenants that wait for room. Numbers are not
// used again. Errors: [ErrMachine] for a name that is bad or taken,
// [resources.ErrQuantity] for a capacity, alone or in sum. Where the pool has a cell, it
// fails with [ErrConfig], as do the other methods that change machines.
func (p *Pool) AddMachine(m omega.Machine) (locality.Node, error) {
	if p.none() {
		return 0, absent("receiver")
	}
	if p.lend != nil {
		return 0, ofTheCell(m.Name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	node, err := p.books.add(&m)
	if err != nil {
		return 0, err
	}
	p.retotal(&resources.Vector{})
	return node, nil
}

// DrainMachine takes a machine out of use for new leases, or back into use. Its
// leases stay, and requests that only this machine could hold wait until it is
// back or removed. Errors: [ErrMachine].
func (p *Pool) DrainMachine(name string, drain bool) error {
	if p.none() {
		return absent("receiver")
	}
	return p.change(name, func(node int, m *machine) error {
		m.draining = drain
		return nil
	})
}

// ResizeMachine changes the capacity of a machine. Leases stay; a machine that
// holds more than its capacity grants nothing until enough is released. Errors:
// [ErrMachine], [resources.ErrQuantity].
func (p *Pool) ResizeMachine(name string, capacity resources.Vector) error {
	if p.none() {
		return absent("receiver")
	}
	return p.change(name, func(node int, m *machine) error {
		if err := p.books.checkCapacity(name, capacity, m.capacity); err != nil {
			return err
		}
		rest, _ := p.books.total.Sub(m.capacity)
		p.books.most.cover(&capacity)
		p.books.total, m.capacity, m.block, m.shrunk = rest.Add(capacity), capacity, capacity, true
		return nil
	})
}

// RemoveMachine removes a machine without leases. The name is free again, the
// number is not. Errors: [ErrMachine] if there is no such machine;
// [ErrMachineInUse] if it has leases: drain it first, and wait for their release.
func (p *Pool) RemoveMachine(name string) error {
	if p.none() {
		return absent("receiver")
	}
	return p.change(name, func(node int, m *machine) error {
		if m.leases > 0 {
			return fault.New("pool", fmt.Sprintf("remove machine %q: leases on it: %d, want none", name, m.leases), ErrMachineInUse, ErrMachine)
		}
		p.books.total, _ = p.books.total.Sub(m.capacity)
		m.gone, m.capacity, m.block = true, resources.Vector{}, resources.Vector{}
		delete(p.books.byName, name)
		return nil
	})
}

// change changes a machine, and all that follows from it.
func (p *Pool) change(name string, change func(node int, m *machine) error) error {
	if p.lend != nil {
		return ofTheCell(name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	node, ok := p.books.byName[name]
	if !ok {
		return refuse(ErrMachine, fmt.Sprintf("machine %s: the pool has none of that name", fault.Quote(name)))
	}
	m := &p.books.machines[node]
	was := m.capacity
	if err := change(int(node), m); err != nil {
		return err
	}
	p.reserving.unreserveOn(node)
	p.books.settle(int(node))
	switch {
	case was == m.capacity:
		p.retotal(nil)
	case resources.Fits(&was, &m.capacity):
		p.retotal(&resources.Vector{})
	default:
		p.retotal(&was)
	}
	return nil
}

// ofTheCell refuses a change of a machine that a cell lends.
func ofTheCell(name string) error {
	return refuse(ErrConfig, fmt.Sprintf("machine %s: the pool has a cell, change the machines there", fault.Quote(name)))
}

// retotal tells the order the new total, refuses waiters that have become impossible, and
// serves the others. Was is the capacity of a machine before it shrank or went. It is
// zero where one came or grew, and nil where neither is so. Cost:
//
//   - O(tenants + machines);
//   - where no other machine has as much as was, O(waiters) more;
//   - up to O(machines) for each request of several needs or with required machines.
func (p *Pool) retotal(was *resources.Vector) {
	p.search.index = nil // it knows the machines by number
	p.tick()
	if p.books.total != (resources.Vector{}) {
		_ = p.tenants.fair.SetTotal(p.books.total, p.at) // a sum that was checked
	}
	if was != nil {
		p.admission.refuseImpossible(was)
		p.admission.refuseNested()
	}
	p.tenants.scale()
	p.books.epoch++ // requests that wait for their data look again
	p.next()
}

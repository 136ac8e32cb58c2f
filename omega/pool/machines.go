package pool

import (
	"fmt"
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// AddMachine adds a machine and serves the tenants that wait for room. Numbers
// are not used again. Errors: [ErrMachine] for a name that is bad or taken,
// [resources.ErrQuantity] for a capacity, alone or in sum.
func (p *Pool) AddMachine(m omega.Machine) (locality.Node, error) {
	if p.none() {
		return 0, absent("receiver")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	node, err := p.addMachine(&m)
	if err != nil {
		return 0, err
	}
	p.retotal()
	return node, nil
}

// addMachine adds a machine to the books.
func (p *Pool) addMachine(m *omega.Machine) (locality.Node, error) {
	b := &p.books
	if err := resources.CheckName(m.Name); err != nil {
		return 0, because(ErrMachine, "machine", err)
	}
	if _, taken := b.byName[m.Name]; taken {
		return 0, refuse(ErrMachine, fmt.Sprintf("machine %q: the name is taken", m.Name))
	}
	if err := p.checkCapacity(m.Name, m.Capacity, resources.Vector{}); err != nil {
		return 0, err
	}
	node := len(b.machines)
	b.machines = append(b.machines, machine{name: m.Name, capacity: m.Capacity})
	b.byName[m.Name] = locality.Node(node)
	b.total = b.total.Add(m.Capacity)
	b.most.grow(node + 1)
	b.settle(node)
	return locality.Node(node), nil
}

// checkCapacity refuses a capacity in place of one that counts already.
func (p *Pool) checkCapacity(name string, capacity, instead resources.Vector) error {
	if err := capacity.Check(); err != nil {
		return refuse(resources.ErrQuantity, fmt.Sprintf("machine %q: %s, want 0 to 2^62 of each kind", name, p.space.Format(capacity)))
	}
	rest, _ := p.books.total.Sub(instead)
	for k := range rest {
		if rest[k] > resources.MaxQuantity-capacity[k] {
			return refuse(resources.ErrQuantity, fmt.Sprintf("machine %q: kind %d of all machines is more than 2^62", name, k))
		}
	}
	return nil
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
		if err := p.checkCapacity(name, capacity, m.capacity); err != nil {
			return err
		}
		rest, _ := p.books.total.Sub(m.capacity)
		p.books.total, m.capacity, m.shrunk = rest.Add(capacity), capacity, true
		return nil
	})
}

// RemoveMachine removes a machine without leases. The name is free again, the
// number is not. Errors: [ErrMachine] if there is no such machine or it has
// leases: drain it first.
func (p *Pool) RemoveMachine(name string) error {
	if p.none() {
		return absent("receiver")
	}
	return p.change(name, func(node int, m *machine) error {
		if m.leases > 0 {
			return refuse(ErrMachine, fmt.Sprintf("remove machine %q: it has %d leases, want none", name, m.leases))
		}
		p.books.total, _ = p.books.total.Sub(m.capacity)
		m.gone, m.capacity = true, resources.Vector{}
		delete(p.books.byName, name)
		return nil
	})
}

// change changes a machine, and all that follows from it.
func (p *Pool) change(name string, change func(node int, m *machine) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	node, ok := p.books.byName[name]
	if !ok {
		return refuse(ErrMachine, fmt.Sprintf("machine %q: the pool has none of that name", name))
	}
	m := &p.books.machines[node]
	if err := change(int(node), m); err != nil {
		return err
	}
	for i := len(p.reserves) - 1; i >= 0; i-- {
		if w := p.reserves[i]; slices.Contains(w.kept.nodes, node) {
			p.unreserve(w) // it is made anew, where it is due
		}
	}
	p.books.settle(int(node))
	p.retotal()
	return nil
}

// retotal tells the order what there is, refuses waiters that have become
// impossible, and serves the others.
func (p *Pool) retotal() {
	p.victimIndex = nil // it knows the machines by number
	p.tick()
	if p.books.total != (resources.Vector{}) {
		_ = p.fair.SetTotal(p.books.total, p.at) // a sum that was checked
	}
	for t := range p.all() {
		for w := t.first; w != nil; {
			next := w.next
			if p.empty(w) == nil {
				w.err = refuse(ErrNeed, fmt.Sprintf("request of %q: %s, no machine has as much any more", t.name, p.space.Format(w.need)))
				p.serve(w)
			}
			w = next
		}
	}
	p.epoch++ // requests that wait for their data look again
	p.dispatch()
	p.launch()
}

// machineName returns the name of a machine by number.
func (p *Pool) machineName(node uint32) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.books.machines[node].name
}

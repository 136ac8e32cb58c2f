package offers

import (
	"fmt"
	"slices"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Terms say which part of a cell a master offers, and whether it keeps what it
// offers. The rest is for schedulers that ask nobody. The zero Terms offer all of
// it, to one framework at a time.
type Terms struct {
	// Machines are those that are offered, nil for all. Schedulers that are to
	// keep to the others are restricted to [Terms.Rest].
	Machines omega.Mask
	// Percent is how much of each machine the master's offers and the tasks of
	// its frameworks may hold, of each kind; 0 is 100. Who holds more when it becomes
	// less keeps that, and what is offered already can be accepted, unless the offer
	// is optimistic.
	Percent int
	// Optimistic offers what is free to every framework at once, and claims none of
	// it: whoever accepts first has it, and others conflict. This is Omega's way,
	// with offers for snapshots. Orders and what is offered at once play no part
	// then, since nothing is kept from anybody.
	Optimistic bool
}

func (t *Terms) check() error {
	if t.Percent < 0 || t.Percent > 100 {
		return fmt.Errorf("%w: %d per cent of each machine: want 0 to 100", ErrFraction, t.Percent)
	}
	return nil
}

// Rest returns the machines that are not offered, of the first so many node
// numbers of the cell: a mask for [omega.Scheduler.Restrict].
func (t *Terms) Rest(nodes int) omega.Mask {
	rest := make(omega.Mask, (max(0, nodes)+63)/64)
	if t == nil || t.Machines == nil {
		return rest
	}
	for n := range nodes {
		if n/64 >= len(t.Machines) || t.Machines[n/64]>>(n%64)&1 == 0 {
			rest[n/64] |= 1 << (n % 64)
		}
	}
	return rest
}

// SetTerms changes what is offered, and how, at run time. Nobody loses anything:
// tasks stay, and so do offers until they are answered or expire, each as it was
// made. What is not offered any more is free for others at once.
//
// Cost: O(machines), and that of offering what there is. Errors: [ErrFraction],
// [ErrFenced].
func (m *Master) SetTerms(now time.Time, t Terms) error {
	if err := m.check(); err != nil {
		return err
	}
	if err := t.check(); err != nil {
		return err
	}
	t.Machines = slices.Clone(t.Machines)
	m.mu.Lock()
	defer m.unlock()
	if err := m.at(now); err != nil {
		return err
	}
	m.cfg.Terms = t
	m.queue.rescale()
	for _, n := range m.floor.nodes {
		if !n.gone {
			m.floor.markDirty(n)
		}
	}
	m.replan(revocations)
	return m.fenced
}

// within returns what the terms let the master take on a machine of what is free
// there. Cost: O(allocations of the machine) where they offer a part of each.
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

// whole tells whether all of each machine is offered.
func (t *Terms) whole() bool { return t.Percent == 0 || t.Percent == 100 }

// holding returns what offers, and tasks of frameworks, hold of a machine.
func (fl *floor) holding(n *node) (sum resources.Vector) {
	for _, a := range fl.cell.AllocationsOn(n.id) {
		if a.Scheduler == fl.cfg.Name || fl.registry.ownerOf(&a) != nil {
			sum = sum.Add(a.Need)
		}
	}
	return sum
}

// beside returns how much of what is free on a machine the terms let the master
// take where it and its frameworks hold so much.
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

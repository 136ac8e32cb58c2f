package pool

import (
	"fmt"
	"slices"

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
	node, err := p.addMachine(&m)
	if err != nil {
		return 0, err
	}
	p.retotal(&resources.Vector{})
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
	b.machines = append(b.machines, machine{name: m.Name, capacity: m.Capacity, block: m.Capacity})
	b.byName[m.Name] = locality.Node(node)
	b.total = b.total.Add(m.Capacity)
	b.most.grow(node + 1)
	b.most.cover(&m.Capacity)
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
	p.unreserveOn(node)
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

// unreserveOn takes back what is reserved on a machine that has changed. It is made
// anew, where it is due.
func (p *Pool) unreserveOn(node locality.Node) {
	for _, list := range [...][]*waiter{p.reserves, p.promised} {
		for _, w := range slices.Backward(slices.Clone(list)) {
			if slices.Contains(w.kept.nodes, node) {
				p.unreserve(w)
			}
		}
	}
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
	p.victimIndex = nil // it knows the machines by number
	p.tick()
	if p.books.total != (resources.Vector{}) {
		_ = p.fair.SetTotal(p.books.total, p.at) // a sum that was checked
	}
	if was != nil {
		p.refuseImpossible(was)
		p.refuseNested()
	}
	p.scale()
	p.epoch++ // requests that wait for their data look again
	p.next()
}

// refuseImpossible refuses the requests that no machine could hold any more after
// one of a capacity has shrunk or gone. Several needs may have become impossible
// where a machine came or grew, too: first fit then tries them in another order.
func (p *Pool) refuseImpossible(was *resources.Vector) {
	largest := p.books.largest()
	// Where another machine has as much, a request of one need fits as before.
	covered := fitsAny(was, largest)
	if covered && p.picky == 0 {
		return
	}
	for t := range p.all() {
		for w := t.first; w != nil; {
			next := w.next
			if !p.still(w, was, largest, covered) {
				p.refuseWaiter(w, &impossibleError{tenant: t, need: w.need})
			}
			w = next
		}
	}
}

// refuseWaiter ends the wait of w, which can never be served any more.
func (p *Pool) refuseWaiter(w *waiter, err error) {
	w.err = err
	w.tenant.never++
	p.serve(w)
}

// still reports whether w, which could be placed before a machine shrank, can be
// placed if all machines are empty.
func (p *Pool) still(w *waiter, was *resources.Vector, largest []resources.Vector, covered bool) bool {
	switch {
	case w.near() != nil && w.near().required:
		return p.empty(w) != nil
	case w.many() != nil: // one machine may do for all of it
		return fitsAny(&w.need, largest) || p.empty(w) != nil
	}
	return covered || !resources.Fits(&w.need, was) || fitsAny(&w.need, largest)
}

// largest returns the capacities of machines, without those that are no more than
// another one's.
func (b *books) largest() (all []resources.Vector) {
	for i := range b.machines {
		m := &b.machines[i]
		if fitsAny(&m.capacity, all) { // nothing of those that are gone
			continue
		}
		all = slices.DeleteFunc(all, func(v resources.Vector) bool { return resources.Fits(&v, &m.capacity) })
		all = append(all, m.capacity)
	}
	return all
}

// fitsAny reports whether v fits in one of some vectors.
func fitsAny(v *resources.Vector, in []resources.Vector) bool {
	for i := range in {
		if resources.Fits(v, &in[i]) {
			return true
		}
	}
	return false
}

// impossibleError refuses a request that waits and fits on no machine, or within no
// limit, any more. Its text is made when it is read: there may be many at a time.
type impossibleError struct {
	tenant  *Tenant
	need    resources.Vector
	limited *Tenant // itself or a group, with a limit below the need; nil for machines
	limit   resources.Vector
}

func (e *impossibleError) Error() string {
	need := e.tenant.pool.space.Format(e.need)
	if e.limited != nil {
		return refuse(ErrNeed, fmt.Sprintf("request of %q: %s, more than the limit %s of %q",
			e.tenant.name, need, e.tenant.pool.formatLimit(e.limit), e.limited.name)).Error()
	}
	return refuse(ErrNeed, fmt.Sprintf("request of %q: %s, no machine has as much any more", e.tenant.name, need)).Error()
}

func (e *impossibleError) Unwrap() error { return ErrNeed }

// machineName returns the name of a machine by number.
func (p *Pool) machineName(node uint32) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.books.machines[node].name
}

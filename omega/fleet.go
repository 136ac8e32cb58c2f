package omega

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Add adds a machine and returns its ID. It takes the number of a removed machine, if
// there is one, with a new generation. Errors: [ErrName], [resources.ErrQuantity],
// [ErrTooMany] beyond 2^20 machines.
func (c *Cell) Add(m Machine) (MachineID, error) {
	if c.none() {
		return 0, absent("cell")
	}
	if c.journal != nil {
		op := &Operation{kind: addOp, described: m}
		err := c.through(context.Background(), op)
		return op.machine, err
	}
	return c.add(m)
}

// add is Add for an operation that is applied.
func (c *Cell) add(m Machine) (MachineID, error) {
	if err := checkName("machine", m.Name); err != nil {
		return 0, err
	}
	if err := m.Capacity.Check(); err != nil {
		return 0, refuse(c.inUnits(err, &m.Capacity), "machine %q: capacity", m.Name)
	}
	m.Attributes = maps.Clone(m.Attributes)
	if err := checkAttributes(m.Attributes); err != nil {
		return 0, refuse(err, "machine %q", m.Name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.machines.Load(m.Name); taken {
		return 0, fmt.Errorf("%w: machine %q is in the cell already", ErrName, m.Name)
	}

	node := c.nodes.Load()
	if len(c.spare) == 0 && node == maxIndex {
		return 0, refuse(ErrTooMany, "machine %q is one more than %d", m.Name, maxIndex)
	}
	total, err := c.admit(m.Name, resources.Vector{}, m.Capacity)
	if err != nil {
		return 0, err
	}
	c.total = total
	var id MachineID
	if last := len(c.spare) - 1; last >= 0 {
		node, c.spare = c.spare[last], c.spare[:last]
		c.swap(node, func(old, next *version) bool {
			id = c.machine(node, old.spec.id.generation()+1)
			next.spec, next.cond = &spec{Machine: m, id: id}, Ready
			next.setFree(&m.Capacity)
			return true
		})
	} else {
		id = c.machine(node, 0)
		first := &object{V: version{seq: 1, spec: &spec{Machine: m, id: id}}}
		first.V.setFree(&m.Capacity)
		c.extend(node, first)
	}
	c.machines.Store(m.Name, id)
	c.describe(id, m.Attributes)
	c.arrange(time.Time{})
	c.wake(node)
	c.tellNews(nil)
	return id, nil
}

// admit returns the total capacity after that of one machine has changed. The total
// stays within [resources.MaxQuantity], so that no sum of allocations can overflow.
// Called with the mutex held.
func (c *Cell) admit(name string, from, to resources.Vector) (resources.Vector, error) {
	rest, _ := c.total.Sub(from)
	for k, q := range to {
		if q > resources.MaxQuantity-rest[k] {
			return rest, refuse(resources.ErrQuantity, "machine %q: capacity %s: with %s in the cell it is more than 2^62 of a kind",
				name, c.space.Format(to), c.space.Format(rest))
		}
	}
	return rest.Add(to), nil
}

// extend gives the cell one node number more, with the mutex held.
func (c *Cell) extend(node uint32, v *object) {
	if c.layout.size == 0 {
		c.layout = layoutFor(kindsOf(&v.V.spec.Capacity)) // seen by all to which nodes, below, shows a machine
	}
	c.slots.grow(node)
	if node >= unstamped {
		c.stamps.grow((node - unstamped) / stampBlock)
	}
	c.words.grow(node).Store(v)
	c.nodes.Store(node + 1)
}

// Drain makes a machine refuse new claims. Its allocations stay, and may be resized and
// exchanged. Errors: [ErrUnknown], [ErrRemoved].
func (c *Cell) Drain(m MachineID) error {
	if c.none() {
		return absent("cell")
	}
	if c.journal != nil {
		return c.through(context.Background(), &Operation{kind: drainOp, machine: m})
	}
	return c.drain(m)
}

// drain is Drain for an operation that is applied.
func (c *Cell) drain(m MachineID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.setCondition(m, Draining)
	if err == nil {
		c.arrange(time.Time{})
	}
	return err
}

// Resume makes a draining machine take claims again. Errors: as for Drain.
func (c *Cell) Resume(m MachineID) error {
	if c.none() {
		return absent("cell")
	}
	if c.journal != nil {
		return c.through(context.Background(), &Operation{kind: resumeOp, machine: m})
	}
	return c.resume(m)
}

// resume is Resume for an operation that is applied.
func (c *Cell) resume(m MachineID) error {
	err := c.setCondition(m, Ready)
	if err == nil {
		c.wake(uint32(m.Node()))
	}
	return err
}

func (c *Cell) setCondition(m MachineID, cond Condition) error {
	err := c.change(m, func(old, next *version) bool {
		if old.cond == cond {
			return false
		}
		next.cond = cond
		return true
	})
	if err == nil {
		c.tellNews(nil)
	}
	return err
}

// SetCapacity changes the capacity of a machine. Errors: [ErrInUse] below what is
// allocated there, [resources.ErrQuantity], [ErrUnknown], [ErrRemoved].
func (c *Cell) SetCapacity(m MachineID, capacity resources.Vector) error {
	if c.none() {
		return absent("cell")
	}
	if c.journal != nil {
		return c.through(context.Background(), &Operation{kind: capacityOp, machine: m, described: Machine{Capacity: capacity}})
	}
	return c.setCapacity(m, capacity)
}

// setCapacity is SetCapacity for an operation that is applied.
func (c *Cell) setCapacity(m MachineID, capacity resources.Vector) error {
	if err := capacity.Check(); err != nil {
		return refuse(c.inUnits(err, &capacity), "%s: capacity", c.called(m))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var inUse error
	var before, total resources.Vector
	err := c.change(m, func(old, next *version) bool {
		before = old.spec.Capacity
		used, _ := old.spec.Capacity.Sub(old.free())
		free, ok := capacity.Sub(used)
		if inUse = nil; !ok {
			inUse = refuse(ErrInUse, "machine %q: capacity %s, %s is allocated",
				old.spec.Name, c.space.Format(capacity), c.space.Format(used))
			return false
		}
		changed := *old.spec
		if total, inUse = c.admit(changed.Name, changed.Capacity, capacity); inUse != nil {
			return false
		}
		changed.Capacity = capacity
		next.spec = &changed
		next.setFree(&free)
		return true
	})
	if err == nil && inUse == nil {
		c.total = total
		c.arrange(time.Time{})
		if !before.Fits(capacity) {
			c.wakeHoped(&before)
		}
		c.wake(uint32(m.Node()))
		c.tellNews(nil)
	}
	return cmp.Or(err, inUse)
}

// SetAttributes replaces the attributes of a machine. Errors: [ErrName],
// [ErrUnknown], [ErrRemoved].
func (c *Cell) SetAttributes(m MachineID, attributes map[string]string) error {
	if c.none() {
		return absent("cell")
	}
	if c.journal != nil {
		return c.through(context.Background(), &Operation{kind: attributesOp, machine: m, described: Machine{Attributes: attributes}})
	}
	return c.setAttributes(m, attributes)
}

// setAttributes is SetAttributes for an operation that is applied.
func (c *Cell) setAttributes(m MachineID, attributes map[string]string) error {
	attributes = maps.Clone(attributes)
	if err := checkAttributes(attributes); err != nil {
		return refuse(err, "machine %v", m)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.change(m, func(old, next *version) bool {
		changed := *old.spec
		changed.Attributes = attributes
		next.spec = &changed
		return true
	})
	if err == nil {
		c.describe(m, attributes)
		c.wake(uint32(m.Node())) // a constraint may allow it now
		c.tellNews(nil)
	}
	return err
}

// Remove takes a machine out of the cell at once and returns the allocations lost with
// it. Their owners find them in [Scheduler.Marked] and release them. Cost: O(allocations
// lost). Errors: [ErrUnknown], [ErrRemoved].
func (c *Cell) Remove(m MachineID) ([]Allocation, error) {
	if c.none() {
		return nil, absent("cell")
	}
	if c.journal != nil {
		op := &Operation{kind: removeOp, machine: m}
		err := c.through(context.Background(), op)
		return op.lost, err
	}
	return c.remove(m)
}

// remove is Remove for an operation that is applied.
func (c *Cell) remove(m MachineID) ([]Allocation, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	node := uint32(m.Node())
	var lost []Allocation
	var tallies []*tally
	err := c.change(m, func(old, next *version) bool {
		lost, tallies = lost[:0], tallies[:0]
		held := c.heldIn(old)
		for h, rec := range held.records() {
			lost, tallies = append(lost, c.allocation(rec, m, h.slot, h.seq)), append(tallies, rec.tally)
		}
		next.cond, next.room, next.live, next.rare, next.keeps = Removed, half{}, live{}, nil, false
		return true
	})
	if err != nil {
		return nil, err
	}
	for i, t := range tallies {
		t.sub(&lost[i].Need)
		t.owner.push(c, Mark{Allocation: lost[i], Fate: Lost})
	}
	spec := load(c.words.at(node)).spec
	c.total, _ = c.total.Sub(spec.Capacity)
	c.machines.Delete(spec.Name)
	for _, f := range c.followers {
		f.forget(m.Node())
	}
	c.arrange(time.Time{})
	c.wakeHoped(&spec.Capacity)
	if reusable(spec) {
		c.spare = append(c.spare, node)
	}
	c.tellNews(nil)
	return lost, nil
}

// reusable reports whether the number of a removed machine can be given out again.
func reusable(sp *spec) bool { return sp.id.generation() < lastGeneration }

// change replaces the version of machine m by its successor once edit has changed the
// successor, unless edit returns false. edit may be called several times.
func (c *Cell) change(m MachineID, edit func(old, next *version) bool) error {
	if c.word(m) == nil {
		return unknown("%s", c.called(m))
	}
	gone := false
	c.swap(uint32(m.Node()), func(old, next *version) bool {
		gone = old.cond == Removed || old.spec.id != m
		return !gone && edit(old, next)
	})
	if gone {
		return refuse(ErrRemoved, "machine %v", m)
	}
	return nil
}

// swap is change for the machine that has the number at present. It linearizes at the
// swap, which fails only if some commit succeeded.
func (c *Cell) swap(node uint32, edit func(old, next *version) bool) {
	w := c.words.at(node)
	for {
		raw, old := settle(w)
		next := c.nextVersion(old, c.present())
		if !edit(old, &next.V) {
			return
		}
		c.opening(node)
		swapped := w.CompareAndSwap(raw, next)
		c.closed(node)
		if swapped {
			return
		}
	}
}

package omega

import (
	"fmt"
	"iter"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/resources"
)

// Allocations walks the live allocations, machine by machine; those of one machine were
// live together at one moment. It retries a machine that changes while it is read, and
// keeps no scheduler from committing. The cell may change meanwhile, by the loop body
// too.
func (c *Cell) Allocations() iter.Seq[Allocation] {
	return func(yield func(Allocation) bool) {
		if c.none() {
			return
		}
		for node := range c.nodes.Load() {
			_, records := c.read(node)
			for _, a := range records {
				if !yield(a) {
					return
				}
			}
		}
	}
}

// read returns a machine's value and its live allocations at one moment.
func (c *Cell) read(node uint32) (*version, []Allocation) {
	w := c.words.at(node)
	for {
		val := load(w)
		allocations := c.liveIn(val)
		if load(w) == val {
			return val, allocations
		}
	}
}

// AllocationsOn returns the live allocations of one machine at one moment, by slot, none
// for a machine that the cell does not have. It retries while the machine changes. Cost:
// O(allocations of the machine).
func (c *Cell) AllocationsOn(m MachineID) []Allocation {
	if c.none() {
		return nil
	}
	if c.word(m) == nil {
		return nil
	}
	val, allocations := c.read(uint32(m.Node()))
	if val.spec.id != m {
		return nil
	}
	return allocations
}

// Check verifies the invariants of the cell and returns an error that names the first
// violation. For each machine:
//
//   - free plus the needs of the live allocations is the capacity, no amount is
//     negative, and no allocation needs nothing; a removed machine has neither;
//   - each live allocation has a record in a slot of its own;
//   - its reservations are in their order, and its name leads to it.
//
// The usage of an account is not below its allocations, and the capacities add up to the
// total. Check may run beside commits: it is exact machine by machine, and compares usage
// only if it finds a moment without a commit. Cost: O(machines + allocations).
func (c *Cell) Check() error {
	if c.none() {
		return absent("cell")
	}
	for node := range c.nodes.Load() {
		val, allocations := c.read(node)
		if err := c.checkMachine(val, allocations); err != nil {
			return fmt.Errorf("omega: machine %q: %w", val.spec.Name, err)
		}
	}
	if err := c.checkTotal(); err != nil {
		return err
	}
	for range 3 {
		if quiet, err := c.checkUsage(); quiet || err != nil {
			return err
		}
	}
	return nil
}

// checkTotal compares the total with the capacities. They change only with the mutex
// held.
func (c *Cell) checkTotal() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var sum resources.Vector
	for node := range c.nodes.Load() {
		if val := load(c.words.at(node)); val.cond != Removed {
			sum = sum.Add(val.spec.Capacity)
		}
	}
	if sum != c.total {
		return fmt.Errorf("omega: total capacity %s, want %s, the sum over the machines", c.space.Format(c.total), c.space.Format(sum))
	}
	return nil
}

func (c *Cell) checkMachine(val *version, allocations []Allocation) error {
	if live := val.live.count(); len(allocations) != live {
		return fmt.Errorf("%d live slots, %d of them with a record", live, len(allocations))
	}
	free := val.free()
	if err := free.Check(); err != nil {
		return fmt.Errorf("free: %s", fault.Bare(err))
	}
	var sum resources.Vector
	for _, a := range allocations {
		if err := a.Need.CheckNeed(); err != nil {
			return fmt.Errorf("allocation %v: %s", a.ID, fault.Bare(err))
		}
		if a.ID.seq == 0 || a.ID.seq > val.seq {
			return fmt.Errorf("allocation %v was granted after change %d", a.ID, val.seq)
		}
		sum = sum.Add(a.Need)
	}
	if val.cond == Removed {
		if got := free.Add(sum); got != (resources.Vector{}) {
			return fmt.Errorf("removed, but free %s + allocated %s", c.space.Format(free), c.space.Format(sum))
		}
		return nil
	}
	if got := free.Add(sum); got != val.spec.Capacity {
		return fmt.Errorf("free %s + allocated %s = %s, want capacity %s",
			c.space.Format(free), c.space.Format(sum), c.space.Format(got), c.space.Format(val.spec.Capacity))
	}
	if err := c.checkReserved(val); err != nil {
		return err
	}
	return c.checkName(val.spec)
}

// checkReserved verifies the parts of reservations on a machine.
func (c *Cell) checkReserved(val *version) error {
	parts := val.reserved()
	if val.keeps != (len(parts) > 0) {
		return fmt.Errorf("%d reservations, and keeps room: %t", len(parts), val.keeps)
	}
	for i := range parts {
		one := &parts[i]
		if err := one.need.CheckNeed(); err != nil {
			return fmt.Errorf("reservation %d: %s", one.by.id, fault.Bare(err))
		}
		if i > 0 && !parts[i-1].by.before(one.by) {
			return fmt.Errorf("reservation %d behind %d, want the order of precedence and age", one.by.id, parts[i-1].by.id)
		}
	}
	return nil
}

func (c *Cell) checkName(sp *spec) error {
	if id, ok := c.machines.Load(sp.Name); ok && id == sp.id {
		return nil
	}
	// It was being added or removed, unless it still is so with the mutex held.
	c.mu.Lock()
	defer c.mu.Unlock()
	now := load(c.words.at(uint32(sp.id.Node())))
	if id, ok := c.machines.Load(sp.Name); now.spec.id == sp.id && now.cond != Removed && (!ok || id != sp.id) {
		return fmt.Errorf("its name leads to machine %v, want %v", id, sp.id)
	}
	return nil
}

// checkUsage compares usage with the amounts allocated. It returns quiet as false if a
// machine changed meanwhile.
func (c *Cell) checkUsage() (quiet bool, err error) {
	machines := make([]*version, c.nodes.Load())
	want := make(map[Account]resources.Vector)
	for node := range machines {
		val, allocations := c.read(uint32(node))
		machines[node] = val
		for _, a := range allocations {
			want[a.Account] = want[a.Account].Add(a.Need)
		}
	}
	got := make(map[Account]resources.Vector, len(want))
	for account := range want {
		got[account] = c.ledger(account).used()
	}
	for node, val := range machines {
		if load(c.words.at(uint32(node))) != val {
			return false, nil
		}
	}
	for account, sum := range want {
		if !sum.Fits(got[account]) {
			return true, fmt.Errorf("omega: account %q: usage %s is below what is allocated, %s",
				c.ledger(account).name, c.space.Format(got[account]), c.space.Format(sum))
		}
	}
	return true, nil
}

// Package blocks keeps the allocations from which a pool grants its leases: on each
// machine of a cell one block for each account and precedence that is charged.
//
// The cell is the truth. A block changes by a commit of [Blocks.Commit], or by a claim
// that preempts, of which [Blocks.Sync] tells. No method takes a lock of the pool.
package blocks

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Charge is an account and a precedence to which a block is charged.
type Charge struct {
	Account    omega.Account
	Precedence omega.Precedence
}

// Block is an amount on one machine.
type Block struct {
	Charge
	Size resources.Vector
}

// Machine is the state of one machine as Blocks has seen it last.
type Machine struct {
	ID       omega.MachineID // 0 where no machine has the number
	Name     string
	Capacity resources.Vector
	Free     resources.Vector // that the scheduler may claim
	Draining bool
	Usable   resources.Vector // what its blocks add up to and may be used now
	Until    time.Time        // by then what was preempted is to have stopped

	blocks []block
	marked []omega.AllocationID // preempted and not acknowledged
}

// block is a block with its allocation.
type block struct {
	Block
	id   omega.AllocationID
	wait resources.Vector // part that others are still leaving
}

// Order lists the wanted blocks of one machine. Blocks of size zero are left out.
type Order struct {
	Node        locality.Node
	Want        []Block
	Reservation omega.ReservationID // that the blocks grow by, 0 for none
}

// Blocks are the blocks of one scheduler. It belongs to one goroutine, which is the
// only user of the scheduler's snapshot.
type Blocks struct {
	s        *omega.Scheduler
	attempt  omega.Attempt
	machines []Machine
	noted    map[omega.AllocationID]uint64 // marks that Sync has told of, with the last Sync that found each
	syncs    uint64
	stale    bool                   // a Wait has refreshed the snapshot
	waiting  map[locality.Node]bool // machines with a part that others are leaving
	sent     []sent
}

// sent is an order within a transaction.
type sent struct {
	order  *Order
	first  int   // item of the first claim, -1 for none
	claims []int // blocks of Want that are claimed
	from   []omega.AllocationID
}

// New returns the blocks of a scheduler, with the allocations that it has. A nil store is
// the cell itself.
func New(s *omega.Scheduler, store omega.Store) *Blocks {
	if store == nil {
		store = omega.Local{Scheduler: s}
	}
	b := &Blocks{s: s, attempt: omega.Attempt{Store: store}, noted: make(map[omega.AllocationID]uint64), waiting: make(map[locality.Node]bool), stale: true}
	return b
}

// Len returns the number of node numbers that were seen.
func (b *Blocks) Len() int { return len(b.machines) }

// At returns what is known of the machine of a number.
func (b *Blocks) At(node locality.Node) *Machine { return &b.machines[node] }

// Size returns what is charged to c on a machine.
func (m *Machine) Size(c Charge) (size resources.Vector) {
	for i := range m.blocks {
		if m.blocks[i].Charge == c {
			size = size.Add(m.blocks[i].Size)
		}
	}
	return size
}

// Blocks returns the blocks of a machine.
func (m *Machine) Blocks() []Block {
	all := make([]Block, len(m.blocks))
	for i := range m.blocks {
		all[i] = m.blocks[i].Block
	}
	return all
}

// Total returns what the blocks of a machine add up to.
func (m *Machine) Total() (sum resources.Vector) {
	for i := range m.blocks {
		sum = sum.Add(m.blocks[i].Size)
	}
	return sum
}

// Marked reports whether preempted allocations of a machine wait for [Blocks.Acknowledge].
func (m *Machine) Marked() bool { return len(m.marked) > 0 }

// Sync brings all up to date and returns the machines that have changed, in no order.
// A machine whose ID has changed was replaced: all its blocks are lost. Errors: the
// store's.
func (b *Blocks) Sync(ctx context.Context, now time.Time) ([]locality.Node, error) {
	changed := make(map[locality.Node]bool)
	mask := b.s.Limits().Machines
	visit := func(state omega.MachineState) {
		if b.saw(state, mask) {
			changed[state.ID.Node()] = true
		}
	}
	var each func(omega.MachineState)
	if !b.stale {
		each = visit
	}
	snap, err := b.attempt.BeginEach(ctx, now, each)
	if err != nil {
		return nil, err
	}
	if b.stale {
		// A Wait has refreshed the snapshot and visited nothing. Removed machines are
		// not walked, but their marks are.
		b.stale = false
		for state := range snap.Machines() {
			visit(state)
		}
		for node := range b.machines {
			m := &b.machines[node]
			if _, there := b.s.Cell().State(m.ID); m.ID != 0 && !there {
				visit(omega.MachineState{ID: m.ID, Condition: omega.Removed})
			}
		}
	}
	b.syncs++
	for m := range b.s.Marked() {
		_, told := b.noted[m.Allocation.ID]
		if b.noted[m.Allocation.ID] = b.syncs; told {
			continue
		}
		node := m.Allocation.ID.Node()
		b.grow(node)
		at := &b.machines[node]
		if m.Fate == omega.Lost || at.ID != m.Allocation.Machine {
			_ = b.release(m.Allocation.ID) // nothing runs there any more; a refused release is sent by the next Sync
		} else {
			at.marked = append(at.marked, m.Allocation.ID)
			if m.Until.After(at.Until) {
				at.Until = m.Until
			}
		}
		b.reconcile(node)
		changed[node] = true
	}
	// A mark stands until the journal applies its release. It is told of once until then.
	maps.DeleteFunc(b.noted, func(_ omega.AllocationID, found uint64) bool { return found != b.syncs })
	for node := range b.waiting {
		if b.settle(node) {
			changed[node] = true
		}
	}
	all := make([]locality.Node, 0, len(changed))
	for node := range changed {
		all = append(all, node)
	}
	slices.Sort(all)
	return all, nil
}

// saw notes the state of a machine, and reports whether it is news.
func (b *Blocks) saw(state omega.MachineState, mask omega.Mask) bool {
	node := state.ID.Node()
	b.grow(node)
	m := &b.machines[node]
	free := state.Free
	if state.Condition != omega.Ready || !mask.Has(node) {
		free = resources.Vector{}
	}
	if state.Condition == omega.Removed {
		if m.ID == 0 {
			return false
		}
		*m = Machine{marked: m.marked}
		_ = b.acknowledge(m) // Sync finds the mark of a refused release
		return true
	}
	was := *m
	if m.ID != state.ID {
		_ = b.acknowledge(m)
		*m = Machine{ID: state.ID}
		b.reconcile(node)
	}
	m.Name, m.Capacity, m.Free, m.Draining = state.Name, state.Capacity, free, state.Condition == omega.Draining
	return was.ID != m.ID || was.Capacity != m.Capacity || was.Free != m.Free || was.Draining != m.Draining || was.Name != m.Name
}

func (b *Blocks) grow(node locality.Node) {
	for int(node) >= len(b.machines) {
		b.machines = append(b.machines, Machine{})
	}
}

// reconcile reads the blocks of a machine from the cell.
func (b *Blocks) reconcile(node locality.Node) {
	m := &b.machines[node]
	old := m.blocks
	m.blocks = nil
	for _, a := range b.s.Cell().AllocationsOn(m.ID) {
		if a.Scheduler != b.s.Name() {
			continue
		}
		one := block{Block: Block{Charge{a.Account, a.Precedence}, a.Need}, id: a.ID}
		for i := range old {
			if old[i].Charge == one.Charge { // it may be the rest of that
				one.wait = old[i].wait.Min(a.Need)
			}
		}
		m.blocks = append(m.blocks, one)
	}
	b.settle(node)
}

// settle recomputes what may be used on a machine, and reports whether that has changed.
func (b *Blocks) settle(node locality.Node) bool {
	m := &b.machines[node]
	was := m.Usable
	m.Usable = resources.Vector{}
	delete(b.waiting, node)
	for i := range m.blocks {
		one := &m.blocks[i]
		if one.wait != (resources.Vector{}) {
			if at, err := b.s.Cell().ReadyAt(one.id); err == nil && !at.IsZero() && time.Now().Before(at) {
				b.waiting[node] = true
			} else {
				one.wait = resources.Vector{}
			}
		}
		now, _ := one.Size.Sub(one.wait)
		m.Usable = m.Usable.Add(now)
	}
	return was != m.Usable
}

// NextReady returns when a part of a block may be used at the latest, the zero time if
// none waits.
func (b *Blocks) NextReady() (next time.Time) {
	for node := range b.waiting {
		for i := range b.machines[node].blocks {
			one := &b.machines[node].blocks[i]
			if at, err := b.s.Cell().ReadyAt(one.id); err == nil && !at.IsZero() && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
	}
	return next
}

// Acknowledge tells the cell that the preempted allocations on a machine have stopped. The
// next Sync tells again of an allocation after a refused release. Errors: those of
// [omega.Scheduler.ReleaseLater], but for an allocation that is released already.
func (b *Blocks) Acknowledge(node locality.Node) error { return b.acknowledge(&b.machines[node]) }

func (b *Blocks) acknowledge(m *Machine) (err error) {
	for _, id := range m.marked {
		err = errors.Join(err, b.release(id))
	}
	m.marked, m.Until = nil, time.Time{}
	return err
}

func (b *Blocks) release(id omega.AllocationID) error {
	_, err := b.s.ReleaseLater(id)
	if err == nil || errors.Is(err, omega.ErrReleased) {
		return nil
	}
	delete(b.noted, id)
	return err
}

// Wait blocks until room for one of the needs may have appeared: see
// [omega.Scheduler.WaitAny].
func (b *Blocks) Wait(ctx context.Context, needs []resources.Vector) error {
	b.stale = true
	gangs := make([][]resources.Vector, len(needs))
	for i := range needs {
		gangs[i] = needs[i : i+1]
	}
	return b.s.WaitAny(ctx, gangs...)
}

// Pass lets the next scheduler that waits have room of which Wait told: see
// [omega.Scheduler.Pass]. A Commit or a Wait does so, too.
func (b *Blocks) Pass() { b.s.Pass() }

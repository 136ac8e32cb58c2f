package omega

import (
	"cmp"
	"iter"
	"slices"
)

// past is the state of a machine at the moment when a cut began: a version and its live
// allocations. The slots may not have the records of those any more.
type past struct {
	val  *version
	held held
}

// permit holds the epoch, the jobs and the machines of a scheduler at the moment when a
// cut began.
type permit struct {
	owner *owner
	epoch uint64
	jobs  int64
	mask  *Mask

	chief      *owner
	chiefEpoch uint64
}

// Cut is a consistent, immutable state of the whole cell: with any change it has all
// changes that led to it, and gangs as a whole. Amounts of its machines can be added up.
// It is safe for concurrent use.
type Cut struct {
	cell       *Cell
	machines   []past   // by node number
	spare      []uint32 // node numbers of removed machines
	ledgers    []*ledger
	schedulers []permit // in the order in which they registered

	line            []lined // in the order of reservations
	lastReservation ReservationID
	enrolled        uint64

	// unreleased are the preempted and lost allocations that their owners had not
	// released, with their records. marks are their marks. See settle.
	unreleased map[AllocationID]*record
	marks      []pendingMark
}

// Cut takes a consistent cut of the whole cell: all that was committed before the call,
// nothing that began after its return. Commits go on. Cuts are taken one at a time.
//
// Cost: O(machines + allocations), and one swap for each machine. Each machine keeps one
// earlier state meanwhile, a commit in progress there retries, and the next refresh of
// each snapshot copies the machine.
func (c *Cell) Cut() *Cut {
	if c.none() {
		return &Cut{}
	}
	// The cell's epoch is odd while a cut is taken. The cut is consistent:
	//
	//  1. A version carries the epoch that its maker read after it had read the machine.
	//  2. The cut moves the word of each machine on by one swap in the new epoch. After
	//     that no version of an earlier epoch can be put there: it was there before, or
	//     fails.
	//  3. The cut takes the last version of an earlier epoch of each machine.
	//  4. All that happens after a commit of the new epoch reads the epoch later still,
	//     so it is not in the cut either.
	//  5. A gang is of one epoch, and all its words were read in it. So it is in the cut
	//     as a whole or not at all.
	//  6. Jobs admitted are counted by epoch likewise. Releases that change no word are
	//     listed by epoch. All changes with the mutex held come before the epoch or after
	//     it.
	c.cutting.Lock()
	defer c.cutting.Unlock()
	cut := c.beginCut()
	defer c.epoch.Add(1)
	for node := range cut.machines {
		// The swap makes a commit in progress on the machine retry, and the next refresh of
		// each snapshot copy the machine. A commit that comes first keeps the past for us.
		// A version that follows the fence need not keep the past any longer.
		cut.machines[node] = *c.fence(uint32(node)).past.Swap(nil)
	}
	cut.settle()
	return cut
}

// beginCut begins an epoch. No machine and no scheduler comes or goes meanwhile.
func (c *Cell) beginCut() *Cut {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch.Add(1)
	cut := &Cut{
		cell:       c,
		machines:   make([]past, c.nodes.Load()),
		spare:      slices.Clone(c.spare),
		ledgers:    *c.ledgers.Load(),
		schedulers: make([]permit, 0, len(c.owners)),

		line:            c.reserved(),
		lastReservation: c.lastReservation,
		enrolled:        c.enrolled,
	}
	for _, o := range c.owners {
		cut.schedulers = append(cut.schedulers, permit{owner: o, chief: o.chief, chiefEpoch: o.chiefEpoch})
	}
	slices.SortFunc(cut.schedulers, func(a, b permit) int { return cmp.Compare(a.owner.num, b.owner.num) })
	for i := range cut.schedulers {
		p := &cut.schedulers[i]
		p.epoch, p.jobs, p.mask = p.owner.epoch.Load(), p.owner.jobs.before(c.epoch.Load()), p.owner.mask.Load()
	}
	return cut
}

// place returns the place of a scheduler in the cut, by its num, from 1; 0 for one
// that had left and for 0.
func (k *Cut) place(num uint64) uint64 {
	i, ok := slices.BinarySearchFunc(k.schedulers, num, func(p permit, num uint64) int { return cmp.Compare(p.owner.num, num) })
	if !ok {
		return 0
	}
	return uint64(i) + 1
}

// Machines walks the machines of the cut by node number, with their
// allocations by slot; removed machines are left out.
func (k *Cut) Machines() iter.Seq2[MachineState, []Allocation] {
	return func(yield func(MachineState, []Allocation) bool) {
		if k == nil {
			return
		}
		for _, m := range k.machines {
			if m.val.cond == Removed {
				continue
			}
			if !yield(m.val.state(), k.cell.allocations(m.val, &m.held)) {
				return
			}
		}
	}
}

// present returns the epoch.
func (c *Cell) present() uint16 { return uint16(c.epoch.Load()) }

// fence replaces the version of a machine by an equal one of the present epoch, and
// returns that. So every commit that has read the machine before fails to swap its word.
func (c *Cell) fence(node uint32) *version {
	w := c.words.at(node)
	for {
		raw, old := settle(w)
		next := c.nextVersion(old, c.present())
		next.V.seq = old.seq // the state is the same
		c.opening(node)
		swapped := w.CompareAndSwap(raw, next)
		c.closed(node)
		if swapped {
			return &next.V
		}
	}
}

// keepPast gives next the past of the machine that the cut needs. next is to follow old
// in the epoch of a cut.
func (c *Cell) keepPast(next, old *version) {
	if old.epoch == next.epoch {
		next.past.Store(old.past.Load())
		return
	}
	// old is the machine's last version before the cut. The allocations are right if next
	// gets in place. old is not used again: commits in the epoch of a cut retire no
	// version.
	next.past.Store(&past{old, c.heldIn(old)})
}

// liveIn returns the live allocations of val. They are right if val was still
// the machine's value when it returned.
func (c *Cell) liveIn(val *version) []Allocation {
	held := c.heldIn(val)
	return c.allocations(val, &held)
}

// allocations returns the allocations on a machine for the caller.
func (c *Cell) allocations(val *version, held *held) []Allocation {
	allocations := make([]Allocation, 0, len(held.all))
	for h, rec := range held.records() {
		allocations = append(allocations, c.allocation(rec, val.spec.id, h.slot, h.seq))
	}
	return allocations
}

package omega

import (
	"fmt"
	"sync/atomic"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// Account is whom an allocation is charged to: a tenant. Accounts are numbered
// by [Cell.Account]; the zero Account is nobody in particular.
type Account uint32

// AllocationID names one allocation for ever: no other allocation of the cell
// ever has the same, and those of other cells are told apart by a random
// number. The zero AllocationID names none. IDs are plain values.
type AllocationID struct {
	node, slot uint32
	owner      uint32 // the scheduler's number
	cell       uint32 // the cell's tag
	serial     uint64 // counts the owner's records
}

// Node returns the number of the machine that the allocation is on.
func (a AllocationID) Node() locality.Node { return locality.Node(a.node) }

// String returns the node, the slot there, the scheduler's number and its
// count of allocations.
func (a AllocationID) String() string {
	return fmt.Sprintf("%d/%d/%d/%d", a.node, a.slot, a.owner, a.serial)
}

// Allocation is what a cell knows about a claim it granted.
type Allocation struct {
	ID        AllocationID
	Machine   MachineID
	Account   Account
	Scheduler string
	Need      resources.Vector
}

// record is what a slot holds. It is immutable once it is in a slot.
type record struct {
	need    resources.Vector
	serial  uint64
	owner   uint32
	account Account
}

// is tells whether an ID that points to the record's slot means the record.
func (r *record) is(a AllocationID) bool { return r.serial == a.serial && r.owner == a.owner }

// slots are the places of a machine's allocations. A slot is nil, or holds the
// record of an allocation that is live, of one about to be granted, or of one
// just given up. Which of these it is says the live set in the machine's word,
// and nothing else.
//
// A claim takes a slot by swapping its record in for nil before it tries for
// the word; only the claim's own commit can make that slot live, and only the
// commit that made it dead again, or gave up, empties it. So while a slot is
// live its record stays, and a record read after the live set it belongs to is
// the right one as long as the word has not moved.
type slots struct {
	segments[atomic.Pointer[record]]

	// lowest is where a search for a free slot starts: a hint, which says what
	// was the lowest free slot lately. Nothing depends on its being right.
	lowest atomic.Uint32
}

// reserve puts rec in a slot that is not live in l and not taken, and returns
// its number; ok is false if the machine has none left.
func (s *slots) reserve(l *live, rec *record) (slot uint32, ok bool) {
	from := s.lowest.Load()
	for {
		for slot := range l.free(from) {
			// The hint may have drifted above slots that are free: look there
			// before growing.
			if slot >= MaxAllocations || from > 0 && s.at(slot) == nil {
				break
			}
			if at := s.grow(slot); at.Load() == nil && at.CompareAndSwap(nil, rec) {
				if slot != from {
					s.lowest.Store(slot)
				}
				return slot, true
			}
		}
		if from == 0 {
			return 0, false
		}
		from = 0
	}
}

// clear empties a slot. The caller alone may do so: it made the slot dead, or
// reserved it and gave up.
func (s *slots) clear(slot uint32) {
	s.at(slot).Store(nil)
	if slot < s.lowest.Load() {
		s.lowest.Store(slot)
	}
}

// get returns the record in a slot, or nil.
func (s *slots) get(slot uint32) *record {
	at := s.at(slot)
	if at == nil {
		return nil
	}
	return at.Load()
}

// allocation describes what is in a slot of machine m to the outside; names
// are those of the schedulers.
func (c *Cell) allocation(r *record, m MachineID, slot uint32, names []string) Allocation {
	return Allocation{
		ID:        AllocationID{uint32(m.Node()), slot, r.owner, c.tag, r.serial},
		Machine:   m,
		Account:   r.account,
		Scheduler: names[r.owner-1],
		Need:      r.need,
	}
}

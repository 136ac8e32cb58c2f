package omega

import (
	"fmt"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// AllocationID names one allocation for ever, across cells. The zero AllocationID names
// none. IDs are plain values of 16 bytes.
type AllocationID struct {
	place uint64 // the node in the low 20 bits, the slot in the next, the cell's tag above
	seq   uint64 // of the machine's version in which it became live, from 2
}

const (
	indexBits = 20 // of a node or slot number: maxIndex is 2^20
	indexMask = 1<<indexBits - 1
	tagMask   = 1<<(64-2*indexBits) - 1
)

func allocationID(node, slot, tag uint32, seq uint64) AllocationID {
	return AllocationID{uint64(node) | uint64(slot)<<indexBits | uint64(tag)<<(2*indexBits), seq}
}

func (a AllocationID) node() uint32 { return uint32(a.place & indexMask) }
func (a AllocationID) slot() uint32 { return uint32(a.place >> indexBits & indexMask) }
func (a AllocationID) tag() uint32  { return uint32(a.place >> (2 * indexBits)) }

// Node returns the number of the machine that the allocation is on.
func (a AllocationID) Node() locality.Node { return locality.Node(a.node()) }

// Seq returns the number of the machine's change that granted the allocation. It orders
// the allocations of one machine by age; those granted in one step have the same.
func (a AllocationID) Seq() uint64 { return a.seq }

// String returns the node, the slot there, and the number of the machine's
// change that granted it.
func (a AllocationID) String() string {
	return fmt.Sprintf("%d/%d/%d", a.node(), a.slot(), a.seq)
}

// Precedence is the rank of a claim in preemption: a claim may take the place of
// allocations of lower precedence. All schedulers of a cell share the one scale; 0 is
// in its middle.
type Precedence int32

// Allocation is the cell's description of a granted claim.
type Allocation struct {
	ID         AllocationID
	Machine    MachineID
	Account    Account
	Scheduler  string
	Precedence Precedence
	Need       resources.Vector
}

// record describes an allocation.
type record struct {
	need    resources.Vector
	tally   *tally
	grantee uint64     // owner.num of the grantee, which may exchange it, too; 0 for most
	ext     *extension // nil for most
}

// extension describes an allocation that waits for preempted ones to leave.
type extension struct {
	after *leaving         // must have left before it may start
	had   resources.Vector // the amount that it runs with before that, if it was resized
}

func (r *record) mayTake(o *owner) bool {
	return r.tally.owner == o || r.grantee == o.num
}

// lives reports whether a, which was granted, is live.
func (c *Cell) lives(a AllocationID) bool {
	val := load(c.words.at(a.node()))
	return c.holds(a) && val.live.has(a.slot())
}

// holds reports whether a was granted and its owner has not yet released it.
func (c *Cell) holds(a AllocationID) bool {
	at := c.table(a.node()).at(a.slot())
	return at != nil && at.seq().Load()&^releasing == a.seq
}

// record returns the record of a, live or not, and false if the cell does not have it
// (any more).
func (c *Cell) record(a AllocationID) (rec record, ok bool) {
	if !c.may(a) {
		return record{}, false
	}
	ok = c.table(a.node()).get(a, &rec)
	return rec, ok
}

// tallyOf returns the tally that a is charged to, live or not, and nil if the cell does not have it
// (any more). It is record for a caller that needs no more: it reads no need.
func (c *Cell) tallyOf(a AllocationID) *tally {
	if !c.may(a) {
		return nil
	}
	return c.table(a.node()).tally(a)
}

// may reports whether the cell may have given out a.
func (c *Cell) may(a AllocationID) bool {
	return a.node() < c.nodes.Load() && a.tag() == c.tag && a.seq != 0 && a.seq&(releasing|vacant) == 0
}

// allocation describes the allocation in a slot of machine m to the outside.
func (c *Cell) allocation(r *record, m MachineID, slot uint32, seq uint64) Allocation {
	return Allocation{
		ID:         allocationID(uint32(m.Node()), slot, c.tag, seq),
		Machine:    m,
		Account:    r.tally.account,
		Scheduler:  r.tally.owner.name,
		Precedence: r.tally.precedence,
		Need:       r.need,
	}
}

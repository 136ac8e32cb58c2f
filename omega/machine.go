package omega

import (
	"fmt"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega/internal/atomics"
	"github.com/cellsched/cellsched/omega/internal/reclaim"
	"github.com/cellsched/cellsched/resources"
)

// Machine describes a machine to be added to a cell.
type Machine struct {
	Name     string           // as [resources.CheckName] has it; unique in the cell
	Capacity resources.Vector // the largest sum of its allocations
	// Attributes say what else the machine has, for placement constraints. Keys
	// and values are as [resources.CheckName] has it; a value may be empty. The
	// cell keeps a copy; those that it returns are shared and read only.
	Attributes map[string]string
}

// MachineID names a machine of one cell: by the cell's random tag, the node number, and a
// generation that tells the machines of one number apart. A cell refuses the IDs of other
// cells, but of one in 2^24. The zero MachineID names no machine. IDs are plain values,
// and compare by generation, then by number.
type MachineID uint64

// Where the parts of a MachineID are: the node is in the low bits, the
// generation plus one above, and the tag, as in an AllocationID, on top.
const (
	generationBits = indexBits
	tagShift       = indexBits + generationBits
)

// Node returns the number of the machine in topologies and masks. A cell uses the number
// again once the machine was removed.
func (m MachineID) Node() locality.Node { return locality.Node(m & indexMask) }

// lastGeneration is the largest generation that an ID has room for. The number of a
// machine that has it is not given out again.
const lastGeneration = 1<<generationBits - 2

// generation counts the machines that had this node number before. It has no
// meaning where m names no machine.
func (m MachineID) generation() uint32 { return uint32(m>>indexBits)&(1<<generationBits-1) - 1 }

// tag returns that of the cell which gave m out.
func (m MachineID) tag() uint32 { return uint32(m >> tagShift) }

// named reports whether m has the form of an ID that a cell gave out.
func (m MachineID) named() bool { return m>>indexBits&(1<<generationBits-1) != 0 }

// String returns the node number, with the generation behind it from the second machine
// of the number on: "7", "7.2". It is "none" for the zero MachineID.
func (m MachineID) String() string {
	node := uint32(m.Node())
	switch {
	case m == 0:
		return "none"
	case !m.named():
		return fmt.Sprintf("%d.none", node)
	case m.generation() > 0:
		return fmt.Sprintf("%d.%d", node, m.generation())
	}
	return fmt.Sprintf("%d", node)
}

// machineID returns the ID of a machine; generation <= lastGeneration.
func machineID(node, generation, tag uint32) MachineID {
	return MachineID(tag)<<tagShift | MachineID(generation+1)<<indexBits | MachineID(node)
}

// machine returns the ID of a machine of c.
func (c *Cell) machine(node, generation uint32) MachineID {
	return machineID(node, generation, c.tag)
}

// Condition is the state of a machine toward claims.
type Condition uint8

// The conditions of a machine.
const (
	Ready    Condition = iota // takes claims
	Draining                  // keeps its allocations, takes no new ones
	Removed                   // gone, and its allocations with it
)

// String returns the condition in lower case.
func (c Condition) String() string {
	switch c {
	case Ready:
		return "ready"
	case Draining:
		return "draining"
	case Removed:
		return "removed"
	}
	return fmt.Sprintf("condition %d", uint8(c))
}

// spec holds the properties that a machine keeps through most of its versions. It is
// immutable.
type spec struct {
	Machine
	id MachineID
}

// version is one state of a machine. A cell's word for the machine points to
// the current one, which is replaced and never written through, except that
// prev and past are dropped. A goroutine that has loaded a version from the word
// may read it at leisure: the word keeps it. Only the scheduler that made a version
// writes it anew, once it is in no word and was not kept: see package reclaim.
//
// Invariant, in every version that is a machine's value: free plus the needs
// of the live allocations is the capacity; a removed machine has neither.
type version struct {
	// The fields that a snapshot copies come first, in as few cache lines as possible.

	// op is the gang that put this version in place, nil for a commit to this
	// machine alone. Until op is decided the machine's value is still prev; if
	// it fails, prev stays the value for good. Once it is granted prev is
	// dropped, or every version would keep all earlier ones alive.
	op *gang

	claims uint32 // versions so far that granted something, modulo 2^32

	// epoch is the cell's when this version was made, modulo 2^16. A cut brings all
	// versions up to its own epoch, so the numbers of versions that can meet do not
	// come round. While a cut is being taken, past is the machine as it was when the
	// cut began.
	epoch uint16
	cond  Condition
	keeps bool // it keeps room for reservations, which are in rare

	spec *spec
	room half // free room of the first kinds; see free

	seq  uint64 // changes of this node so far; strictly increasing but for a cut
	live live

	// rare has the preempted allocations that may still be running here, and the
	// reservations. Both have their room as a part of free. Most versions have none.
	rare *rare

	prev word                  // see op
	past atomics.Pointer[past] // see epoch

	// An object has whole cache lines: its scheduler writes it anew while others read
	// theirs. So version has a multiple of 64 bytes less 8.
}

// half is an amount of each of the first kinds of resources, or of each of the others.
type half [resources.MaxKinds / 2]int64

// halves returns the first kinds of v, and the others.
func halves(v *resources.Vector) (low, high *half) {
	return (*half)(v[:len(half{})]), (*half)(v[len(half{}):])
}

// wide is the part of a version that only two sorts of machines have: those with more
// kinds of resources than a half, and those that once had more than firstLive
// allocations. It belongs to one version, and is written and read as a field of it.
type wide struct {
	rest rest // of the live slots
	room half // free room of the other kinds
}

// noRoom is the room for the other kinds in a version that has no wide.
var noRoom half

// free returns the room that is not allocated.
func (v *version) free() (free resources.Vector) {
	v.unpack(&free)
	return free
}

// unpack is free to a place in memory.
func (v *version) unpack(free *resources.Vector) {
	low, high := halves(free)
	*low, *high = v.room, *v.others()
}

// others returns the room of the other kinds, to be read.
func (v *version) others() *half {
	if v.live.wide == nil {
		return &noRoom
	}
	return &v.live.wide.room
}

// setFree sets the room that is not allocated. V is in no word yet.
func (v *version) setFree(free *resources.Vector) {
	low, high := halves(free)
	v.room = *low
	if v.live.wide != nil || *high != noRoom {
		v.live.widen().room = *high
	}
}

// fits is [resources.Fits] for the room of v.
func (v *version) fits(need *resources.Vector) bool {
	low, high := halves(need)
	if v.live.wide == nil {
		return *high == noRoom && low.fits(&v.room)
	}
	return low.fits(&v.room) && high.fits(&v.live.wide.room)
}

// addRoom and subRoom change the room of v by a need that fits in the machine. V is in no word
// yet.
func (v *version) addRoom(need *resources.Vector) {
	low, high := halves(need)
	v.room.add(low)
	if v.live.wide != nil {
		v.live.wide.room.add(high)
	}
}

func (v *version) subRoom(need *resources.Vector) {
	low, high := halves(need)
	v.room.sub(low)
	if v.live.wide != nil {
		v.live.wide.room.sub(high)
	}
}

func (h *half) add(b *half) {
	for k, q := range b {
		h[k] += q
	}
}

func (h *half) sub(b *half) {
	for k, q := range b {
		h[k] -= q
	}
}

// fits reports whether h is no more than room. As in [resources.Fits] a negative amount
// fits nowhere, and nothing fits in one.
func (h *half) fits(room *half) bool {
	r0, r1, r2, r3 := uint64(room[0]), uint64(room[1]), uint64(room[2]), uint64(room[3])
	if uint64(h[0]) > r0 || uint64(h[1]) > r1 || uint64(h[2]) > r2 || uint64(h[3]) > r3 {
		return false
	}
	const most = uint64(resources.MaxQuantity)
	return r0|r1|r2|r3 <= most || max(r0, r1, r2, r3) <= most
}

// object is a version with its maker, for words to point to.
type object = reclaim.Object[version]

// nextVersion returns an object with a version that follows old in the given epoch and
// differs from it in nothing else yet. The object is never used again.
func (c *Cell) nextVersion(old *version, epoch uint16) *object {
	next := objectFor(old)
	next.V.follow(old)
	c.date(&next.V, old, epoch)
	return next
}

// objectFor returns a new object for a version that is to follow old: one piece of memory,
// also where that has a wide.
func objectFor(old *version) *object {
	if old.live.wide == nil {
		return &object{}
	}
	both := &struct {
		object
		wide wide
	}{}
	both.V.live.wide = &both.wide
	return &both.object
}

// objectFor is objectFor for the scheduler to use again. Its callers ask for the spare
// object first, and seldom call it: so it is not inlined.
//
//go:noinline
func (s *Scheduler) objectFor(old *version) *object {
	next := objectFor(old)
	s.maker.Own(next)
	return next
}

// giveBack gives a spare object back that was in no word since. Its past, if it has one,
// is of a cut that ends without it.
func (s *Scheduler) giveBack(next *object) {
	if next.V.past.Load() != nil {
		next.V.past.Store(nil)
	}
	s.maker.Return(next)
}

// follow makes v a version as succeed has it, but for the epoch. V may have been
// another version before.
func (v *version) follow(old *version) {
	v.claims, v.cond, v.keeps = old.claims, old.cond, old.keeps
	v.spec, v.room, v.seq = old.spec, old.room, old.seq+1
	v.live.follow(&old.live)
	v.rare = old.rare
	v.op = nil // prev is nil: that of a gang is dropped before its versions are used again
}

// date gives next, which follows old, an epoch.
func (c *Cell) date(next, old *version, epoch uint16) {
	next.epoch = epoch
	if epoch&1 == 1 {
		c.keepPast(next, old)
	} else if next.past.Load() != nil {
		next.past.Store(nil)
	}
}

// value returns the version that v stands for, and whether that is final: it
// is not while a gang is undecided. The value is a version without a gang or
// of a granted one, never of a failed one.
//
// A reader linearizes where it loads the gang's status: while that says undecided, v is
// still in the machine's word. No goroutine replaces v before the gang is decided.
func (v *version) value() (_ *version, settled bool) {
	if v.op == nil {
		return v, true
	}
	return v.valueByGang()
}

// valueByGang is value for a version of a gang. It is a function of its own, so that value
// is inlined.
func (v *version) valueByGang() (_ *version, settled bool) {
	switch v.op.status.Load() {
	case granted:
		return v, true
	case failed:
		return &v.prev.Keep().V, true // it is never dropped
	}
	if prev := v.prev.Keep(); prev != nil {
		return &prev.V, false
	}
	return v, true // prev is only dropped after the gang was granted
}

// word is the one place where a machine's state is decided.
type word = reclaim.Word[version]

// load returns the value of the machine at w.
func load(w *word) *version {
	v, _ := w.Keep().V.value()
	return v
}

// settle returns what is in w and the value it stands for, helping a gang that
// is not yet decided. It ends: each round decides one gang, and a gang that is
// in a word was put there by a commit in progress.
func settle(w *word) (raw *object, val *version) { return settleFor(w, 0) }

// settleFor is settle for a commit of the scheduler with that maker: it does not keep
// the scheduler's own versions. That is safe for a gang, too, although its helpers have
// val in their hands: see gang.
func settleFor(w *word, maker uint32) (raw *object, val *version) {
	for {
		raw = w.KeepFor(maker)
		val, settled := raw.V.value()
		if settled {
			if val.op != nil && !val.prev.Peek().Is(nil) {
				val.prev.Store(nil) // granted; its owner may be stalled
			}
			return raw, val
		}
		raw.V.op.help()
	}
}

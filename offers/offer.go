package offers

import (
	"fmt"
	"time"

	"github.com/cellsched/cellsched/offers/internal/timers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// OfferID names one offer for ever, also beside those of the master's
// predecessors in the same cell. The zero OfferID names none. IDs are plain
// values.
type OfferID struct {
	slot, epoch uint32
	serial      uint64
}

// String returns the epoch of the master and the number of the offer.
func (id OfferID) String() string { return fmt.Sprintf("%d.%d", id.epoch, id.serial) }

// Offer is room on one machine that is a framework's until it has answered, or
// the deadline: nobody else can claim it meanwhile.
type Offer struct {
	ID      OfferID
	Machine omega.MachineID
	Room    resources.Vector
	// Long is how much of Room may be long tasks: all of it unless a cap, of which
	// others have some, leaves less (see [Config], LongOnMachine). That much is kept
	// for the framework from when it reads of the offer until the offer has ended,
	// even if machines go meanwhile: an accept whose long tasks take no more, on each
	// machine, than its offers there say together is not refused for a cap. One that
	// takes more is, unless there is more by then: try, if what others were offered
	// and did not use is worth it.
	//
	// An optimistic offer keeps nothing: it says what there was when it was read.
	// Where others were faster, or the framework itself has taken more than it was
	// told, the accept fails with [ErrExceeds], and the offer has ended, as in a
	// conflict about room.
	Long resources.Vector
	// Deadline is when it expires, the zero time if it does not.
	Deadline time.Time
	// Ready is when tasks may start: the zero time if at once, else the time by
	// which what was preempted for them is to have stopped.
	Ready time.Time
	// Leave is by when the machine was asked to be left when the offer was read, the
	// zero time if it was not: see [Master.Vacate].
	Leave time.Time
}

// fate is what became of an offer.
type fate uint8

const (
	vacant fate = iota // there is none
	outstanding
	accepted // its accept is on the way, or in doubt: see accepting
	used
	declined
	rescinded
	expired
)

// reason returns what an answer to an offer fails with that has ended.
func (f fate) reason() error {
	switch f {
	case used:
		return ErrUsed
	case declined:
		return ErrDeclined
	case rescinded:
		return ErrRescinded
	case expired:
		return ErrExpired
	case accepted:
		return ErrPending
	case vacant, outstanding:
	}
	return ErrUnknown
}

// offer is an offer, or the last one that there was in its slot: the claim in
// the cell is what keeps the room.
type offer struct {
	Offer
	to    *member
	node  *node
	claim omega.AllocationID // zero if it is optimistic
	state fate
	told  bool // who speaks for the framework has read of it
	owed  bool // it answers a request that may revoke, see assured
	seen  bool // or somebody who did so before: it is not merged with others
	named uint64
	timer timers.Timer

	ofNode, ofMember int // places in their lists
}

// forgotten is how many offers that have ended are remembered at least.
const forgotten = 1024

// offerTable is all offers. Slots are used again in the order in which they
// became vacant, and objects with them.
type offerTable struct {
	slots  []*offer
	vacant []uint32
	head   int // of vacant
	serial uint64
	warmed uint64
}

// warm reads what the next n offers are to be made of, for the caches alone: slots
// that became vacant long ago are in none, and their misses overlap here.
func (t *offerTable) warm(n int) {
	next := t.vacant[t.head:]
	for _, slot := range next[:min(n, len(next))] {
		o := t.slots[slot]
		t.warmed += o.ID.serial + uint64(o.Room[6]) + uint64(o.Long[6]) + o.named + uint64(o.ofNode)
		if o.node != nil {
			t.warmed += uint64(o.state)
		}
	}
}

// add returns an offer with a new ID in a vacant slot.
func (t *offerTable) add(epoch uint32) *offer {
	for len(t.vacant)-t.head <= forgotten {
		chunk := make([]offer, 256)
		for i := range chunk {
			chunk[i].ID.slot = uint32(len(t.slots))
			t.vacant = append(t.vacant, chunk[i].ID.slot)
			t.slots = append(t.slots, &chunk[i])
		}
	}
	o := t.slots[t.vacant[t.head]]
	if t.head++; t.head > len(t.vacant)/2 {
		t.vacant = append(t.vacant[:0], t.vacant[t.head:]...)
		t.head = 0
	}
	t.serial++
	o.ID.epoch, o.ID.serial = epoch, t.serial
	o.state, o.told, o.owed, o.seen, o.named = outstanding, false, false, false, 0
	return o
}

// find returns the outstanding offer of that ID, or why there is none.
func (t *offerTable) find(f *member, id OfferID) (*offer, error) {
	if uint64(id.slot) >= uint64(len(t.slots)) {
		return nil, ErrUnknown
	}
	o := t.slots[id.slot]
	switch {
	case o.ID != id:
		return nil, ErrUnknown
	case o.to != f:
		return nil, ErrForeign
	case o.state != outstanding:
		return nil, o.state.reason()
	}
	return o, nil
}

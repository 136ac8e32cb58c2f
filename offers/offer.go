package offers

import (
	"fmt"
	"time"

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

// Offer is room on one machine that is kept for a framework until it answers, or until
// the deadline. No other claim can take it meanwhile, with two exceptions. An optimistic
// offer keeps nothing: see [Terms]. An offer can be rescinded, for a
// guarantee say.
//
// With the defaults of [Config] an offer and a framework that does not answer go through
// these times:
//
//   - 30 s after the offer (Timeout) it expires, and its room goes to other frameworks. To
//     the framework it is as a decline: that room is hidden from it for 5 s, and longer
//     from the second such refusal on. See [Framework.Decline].
//   - 60 s after its last call (two Timeouts) the framework is silent. Its offers are
//     rescinded, and it gets no others until its next call.
//   - 10 min after its last call (Liveness) it is gone, and is unregistered if it has no
//     tasks.
//
// [Master.Step] follows the time.
type Offer struct {
	ID      OfferID
	Machine omega.MachineID
	Room    resources.Vector
	// Long is the part of Room that may be long tasks. It is all of Room unless a cap (see
	// [Config], LongOnMachine), of which others have some, leaves less. That much is kept
	// for the framework from when it reads of the offer until the offer has ended, even if
	// machines go meanwhile.
	//
	// An accept is not refused for a cap if its long tasks take no more, on each machine,
	// than the Long of its offers there together. An accept that takes more is refused,
	// unless more of the cap is free by then. It may be worth a try: other frameworks may
	// not have used their offers.
	//
	// An optimistic offer keeps nothing: Long is the amount at the time when it was read. If
	// others were faster, or the framework itself has taken more than Long, the accept fails
	// with [ErrExceeds]. Then the offer has ended, as in a conflict about room.
	Long resources.Vector
	// Deadline is the time of expiry, the zero time if the offer does not expire.
	Deadline time.Time
	// Ready is the earliest start of tasks, the zero time if they may start at once. It is
	// the time by which the tasks that were preempted for the offer are to have stopped.
	Ready time.Time
	// Leave is the time by which the machine is to be left, as of the reading of the offer.
	// It is the zero time if the machine need not be left: see [Master.Vacate].
	Leave time.Time
}

// Leave is an inverse offer: the master asks a framework to leave a machine. The answer
// is for the caller of [Master.Vacate]; nothing follows from it.
type Leave struct {
	Machine omega.MachineID
	By      time.Time // when the machine is to be left, such as for maintenance
	Tasks   []omega.AllocationID
}

// Reply is the answer of a framework to an inverse offer.
type Reply struct {
	Framework string
	Answered  bool
	Agreed    bool
}

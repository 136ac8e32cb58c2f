package pool

import (
	"context"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// waiter is a request that was not served at once, or a task that has not
// started. The pool's mutex guards it until it is served; then the goroutine that
// waits alone has it, or the worker that runs its task.
//
// Waiters are used again, those of each pool by the pool: a channel that leaves
// its synctest bubble must not be used in another.
type waiter struct {
	tenant     *Tenant
	next, prev *waiter // in the tenant's queue
	since      time.Duration
	need       resources.Vector // of several needs the sum
	priority   int32
	place      int32 // among the tasks of its group that wait
	queued     bool
	ready      chan struct{} // buffered: one token when lease or err is there
	lease      Lease
	err        error
	task       task         // to run when it is served, if it has a function
	extra      *extra       // of a request with more than a need, or nil
	kept       *reservation // room that is reserved for it, or nil
}

// task is work that waits in the queue of its tenant. A waiter with one takes
// 216 bytes.
type task struct {
	ctx   context.Context //nolint:containedctx // of the task, as long as it waits
	fn    func(context.Context, Lease) error
	group *Group // its Wait gets the error; nil: the pool's Shutdown
}

// extra is the part of a waiter that few requests have.
type extra struct {
	most  time.Duration // maximum wait; 0 for none
	label string
	full  bool    // it is refused where it would wait
	many  *gang   // of several needs
	near  *near   // of preferred machines
	own   []Lease // that its caller holds, as the context tells
}

// many returns the part of a waiter with several needs, or nil.
func (w *waiter) many() *gang {
	if w.extra == nil {
		return nil
	}
	return w.extra.many
}

// near returns the part of a waiter that prefers machines, or nil.
func (w *waiter) near() *near {
	if w.extra == nil {
		return nil
	}
	return w.extra.near
}

// picky reports whether w may be impossible to place although a machine has as much
// as it needs.
func (w *waiter) picky() bool {
	return w.extra != nil && (w.extra.many != nil || w.extra.near != nil && w.extra.near.required)
}

// reservation is room that is kept for a waiter.
type reservation struct {
	nodes []locality.Node // by need
	made  uint64          // grants when it was made
	at    time.Duration   // when that was
	until time.Duration   // when the older leases are expected to end
	timer *time.Timer     // fires when longer tasks may go on meanwhile
	short int             // reservations in the cell for it that were too short
	over  bool            // it was taken back or used
	older bool            // leases from before that leave no room for the needs
	owed  bool            // by a guarantee: others make room, and none is granted more

	taken    []Lease   // preempted for it
	spent    bool      // the promised room was granted, with a token of each rate
	renewed  bool      // the tokens are for a promise in place of this one
	promises []promise // of the promised room, by need
	missing  int       // promises that have not got all
}

// gang is the part of a waiter with several needs.
type gang struct {
	needs  []resources.Vector
	least  resources.Vector // each of them has at least this
	leases []Lease
	nodes  []locality.Node // where they go, as found last

	hopeless *Tenant // its guarantee found no room,
	looked   uint64  // up to this change of the index
}

// near is the part of a waiter that prefers machines.
type near struct {
	prefer   []locality.Node
	required bool           // no other will do
	best     locality.Level // the nearest that it could be placed
	job      delay.Job      // how far from that it accepts to run
	relax    *time.Timer    // fires when that changes
	delayed  bool           // when it was last tried, it waited for nothing else,
	tried    uint64         // which was in this epoch of the pool,
	kept     bool           // while room was reserved for others,
	offered  locality.Level // and this was the nearest that had room
	over     bool           // it has left its queue
}

// least returns a vector that each need of w has at least.
func (w *waiter) least() *resources.Vector {
	if g := w.many(); g != nil {
		return &g.least
	}
	return &w.need
}

// label returns the label of the request.
func (w *waiter) label() string {
	if w.extra == nil {
		return ""
	}
	return w.extra.label
}

// delayed reports whether w waits only for a nearer machine.
func (w *waiter) delayed() bool { return w.near() != nil && w.near().delayed }

// count returns how many needs w has.
func (w *waiter) count() int {
	if w.many() != nil {
		return len(w.many().needs)
	}
	return 1
}

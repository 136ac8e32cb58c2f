package offers

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cellsched/cellsched/offers/internal/line"
	"github.com/cellsched/cellsched/offers/internal/timers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// member is the master's record of a framework, under whichever handle.
type member struct {
	name string
	line.Place
	account    *account
	reg        Registration
	role       *role
	fits       omega.Mask       // machines that suit its other filters, nil if it has none at all
	meets      omega.Mask       // machines that meet its constraints, nil if there are none
	uses       omega.Mask       // both, nil for all: see index
	selective  bool             // those are few
	noMachines bool             // there are none
	sched      *omega.Scheduler // owns its tasks; nil until it has registered

	connected  bool // it is not away
	suppressed bool
	gone       bool
	evicted    bool
	timer      timers.Timer // of its return, while it is away

	watch    watch // of its calls
	silent   bool  // there were none for long
	vanished bool  // nor for so long that it was taken for gone, see comeBack

	offered        resources.Vector // what its outstanding offers add up to
	ended          resources.Vector // what of that is of offers that have ended, see discharge
	offers         []*offer
	plans          int    // revocations that have begun for it
	postponedTurn  uint64 // before that turn, or postponedUntil, nothing is reserved for it
	postponedUntil time.Time
	picked         int        // offers to be, of a round that is not committed yet, and of accept
	accept         *accepting // on the way or in doubt, nil if there is none
	most           float64    // the part of the cell that it is offered at once

	shown resources.Vector // of long tasks, by its optimistic offers

	here *offer // its optimistic offer on the machine that is being offered

	lapsed       time.Time // when it let offers expire last
	refusals     int       // since it accepted anything
	refusalClass uint8     // what follows from that
	filters      map[uint32]*filter

	fresh          bool // the order was not asked yet
	queued         bool // it is in line
	wantsLeftovers bool // it is to be offered what others have left
	seen           uint64

	short     resources.Vector // of what it is guaranteed, as it was told
	news      News
	unread    []OfferID
	notified  bool
	toldMarks map[omega.AllocationID]bool
}

// wants reports whether a framework is to be offered anything.
func (f *member) wants() bool { return f.connected && !f.suppressed && !f.noMachines && !f.silent }

// node is the master's record of a machine.
type node struct {
	// What a round looks at comes first, to be in few cache lines.
	number  uint32
	gone    bool
	dirty   bool
	known   bool // free is up to date
	refused bool // see last
	id      omega.MachineID
	idle    uint64     // its entry in the list of idle nodes, or 0
	kept    *request   // for which all that is free is kept, or what it reserves: see revoking
	offers  []*offer   // outstanding
	own     *[]*member // selective ones that can use it, nil if there never was one
	// free is the free room of the machine when the node was looked at.
	free resources.Vector

	// last is the framework that declined the room last, or let it expire, if the room is
	// refused. Since then nothing was accepted or released here.
	last     *member
	capacity resources.Vector
	labels   map[string]string
	long     resources.Vector // what long tasks hold
	promised resources.Vector // what offers keep for such
	leaveBy  time.Time        // by when it was asked to be left, and what was answered
	replies  []Reply
}

// revoking reports whether the free room of a machine is for a revocation alone.
func (n *node) revoking() bool { return n.kept != nil && n.kept.plan != nil }

// partReserved reports whether a part of a machine is reserved for a request.
func (n *node) partReserved() bool { return n.kept != nil && n.kept.plan == nil }

// offer is an offer, or the last one that there was in its slot. The claim in the cell
// keeps the room.
type offer struct {
	Offer
	to    *member
	node  *node
	claim omega.AllocationID // zero if it is optimistic
	state fate
	told  bool // the present handle of the framework has read of it
	owed  bool // it answers a request that may revoke, see assured
	seen  bool // or an earlier handle has: it is not merged with others
	named uint64
	timer timers.Timer

	ofNode, ofMember int // places in their lists
}

// kept reports whether the room of an offer is claimed; that of an optimistic one
// is not.
func (o *offer) kept() bool { return o.claim != omega.AllocationID{} }

// late reports whether an offer cannot be answered any more.
func (o *offer) late(now time.Time) bool { return !o.Deadline.IsZero() && !now.Before(o.Deadline) }

// assured reports whether no revocation takes an offer back. Such an offer answers a
// request that may revoke, and its framework is guaranteed all that it runs and is
// offered so.
func (o *offer) assured() bool {
	if !o.owed {
		return false
	}
	most := o.to.sched.Usage()
	for _, other := range o.to.offers {
		if other.owed {
			most = most.Add(other.Room)
		}
	}
	if a := o.to.accept; a != nil {
		for _, other := range a.offers {
			if other.owed {
				most = most.Add(other.Room)
			}
		}
	}
	for k, q := range o.Room {
		if q > 0 && most[k] > o.to.reg.Guaranteed[k] {
			return false
		}
	}
	return true
}

// pick is an offer to be: room on a node that is to be claimed for a framework.
type pick struct {
	to      *member
	node    *node
	room    resources.Vector
	account omega.Account // that it is charged to
}

// charged reports whether a pick is charged to its framework.
func (p *pick) charged() bool { return !p.to.gone && p.to.account.id == p.account }

// stands reports whether a pick is still to be offered.
func (p *pick) stands() bool { return p.charged() && !p.to.silent }

// request is one that is not answered.
type request struct {
	Request
	id    RequestID
	of    *member
	since time.Time
	timer timers.Timer

	tried   []*node // that were reserved for it, and did not become free
	expired int     // so many reservations of it were too short
	plan    *plan   // of a revocation that has begun

	dropped bool // it is answered, or was taken back
}

// overdue reports whether the deadline of a request has passed.
func (r *request) overdue(now time.Time) bool { return !r.Deadline.IsZero() && !now.Before(r.Deadline) }

// plan is a revocation that has begun: the machines whose room is to become free, and the
// victims on each. No other framework is offered room there meanwhile.
type plan struct {
	of      *request
	nodes   []*node
	victims [][]victim // by node
	until   time.Time  // the zero time if they have for ever
	timer   timers.Timer
}

// victim is a task that may be revoked.
type victim struct {
	task omega.Allocation
	of   *member
}

// filter hides room on one machine from one framework: all room that is contained in what
// it refused there.
type filter struct {
	of           *member
	node         uint32
	room         resources.Vector
	timer        timers.Timer
	next         *filter   // another one there
	backoffUntil time.Time // until then it holds whatever the framework asks for
	unread       bool      // it is of an offer that expired unread
}

// account is a unit of charging, of one framework or several. Each of several that share
// one is as far from its fair share as the others: together they are offered what one
// alone would be.
type account struct {
	id      omega.Account
	held    resources.Vector
	sharers []*member
	stakes  []stake // by role, each of which counts the account once
	moved   bool    // it was charged, and not all that share it stand where they belong
}

// stake counts the frameworks of a role that share an account.
type stake struct {
	role    *role
	sharers int
}

func (a *account) stake(r *role) int {
	return slices.IndexFunc(a.stakes, func(s stake) bool { return s.role == r })
}

// role is the group of frameworks that work for the same user. Frameworks that may be
// offered something stand in line, each class by rank.
type role struct {
	name       string
	weight     float64
	precedence omega.Precedence // the highest of the frameworks that want offers
	members    int
	held       resources.Vector
	line.Place
	known bool // the order has been asked
	moved bool // see realign
	lines [classes]line.Line[member]
}

// classes is the number of classes of frameworks, by refusals (declines and expiries)
// since the last accept. The classes are 0, 1, 2 or 3, up to 7, 15 and 31 refusals, and
// more.
const classes = 7

// watch notices that a framework makes no calls any more. Its timer is set anew only when
// it goes off: a call of the framework just notes its time.
type watch struct {
	of    *member
	timer timers.Timer
	heard time.Time // when the framework called last
	lax   bool      // the timer is set for later than the first question after that
	// asked is the time when the framework was asked whether it is there. It is the zero
	// time if that was not since its last call. All that follows is measured from it. So
	// frameworks have as much time to answer a master that was not told the time for long as
	// any other.
	asked time.Time
	quiet bool          // it has not answered for long
	slow  time.Duration // after how long a slow one is quiet, 0 for others
	// missed counts refusals of offers that expired unread since the framework called.
	missed int
}

// accepting is an accept while it is checked, on the way to the cell, or in doubt.
//
//	offers:  outstanding ──▶ accepted ──▶ used          granted
//	                            ├───────▶ outstanding   refused
//	                            └───────▶ rescinded, expired: refused, and the master would
//	                                      have taken them back meanwhile
//
// Invariants, also while the mutex is free:
//
//   - An accepted offer is in no list and has no timer, so that nothing else ends it. It
//     still counts in member.offered, in what is promised of caps, and is charged. It
//     counts in member.picked in place of member.offers.
//   - A framework has one accept on the way, or in doubt, at most: member.accept. Only
//     the call that made the accept, or one that asks again, applies the outcome. That
//     holds for any fate of the framework and the machines in between.
//   - A framework that ends meanwhile has its tasks released after that: see departure.
type accepting struct {
	omega.Attempt

	of       *member
	by       *omega.Scheduler
	account  omega.Account
	flying   bool
	launches []Launch // copies, once in doubt
	usage    resources.Vector
	reads    uint64 // client.reads, at launch

	serial uint64
	claims []omega.AllocationID // of all launches; each has a part
	tasks  []omega.Claim        // of one launch
	offers []*offer             // of all launches
	sums   []sums               // by launch
	longs  []longLaunch         // by launch, where there are caps

	optimistic bool // one of the offers is
}

// sums are three amounts of a launch: the room of its offers, the part of that which is
// claimed, and its need.
type sums struct{ room, claimed, need resources.Vector }

// longTask is a task that its framework has called long. The paper, section 4.3, proposes
// that such tasks leave a part of each machine to others. Otherwise all slots of a
// machine may be full of them, with nothing left that ends soon.
type longTask struct {
	of      *member
	machine omega.MachineID
	need    resources.Vector
}

// longLaunch sums up the long tasks of a launch, or of several on one machine or in the
// cell. It holds their need, the amount that their offers keep for them, and the amount
// that the optimistic ones among these have shown.
type longLaunch struct {
	on                *node
	need, kept, shown resources.Vector
}

func (l *longLaunch) add(one *longLaunch) {
	l.need, l.kept, l.shown = l.need.Add(one.need), l.kept.Add(one.kept), l.shown.Add(one.shown)
}

// runs returns the amount that the tasks of a framework hold. Tasks of an accept on the
// way do not count yet: they are offered to it.
func (f *member) runs() resources.Vector {
	if f.accept != nil && f.reg.Guaranteed != (resources.Vector{}) {
		return f.accept.usage
	}
	return f.sched.Usage()
}

// keepsGuarantee reports whether a framework still has its guarantee after such a loss, of all
// kinds that the last task holds. Only its own tasks count, whichever schedulers charge
// its account.
func (f *member) keepsGuarantee(lost, last resources.Vector) bool {
	left, ok := f.sched.Usage().Sub(lost)
	if !ok {
		return false
	}
	for k, q := range last {
		if q > 0 && left[k] < f.reg.Guaranteed[k] {
			return false
		}
	}
	return true
}

// over returns the error of a framework that has ended.
func (f *member) over() error {
	if f.evicted {
		return fmt.Errorf("%w: framework %q", ErrEvicted, f.name)
	}
	return fmt.Errorf("%w: framework %q", ErrUnregistered, f.name)
}

// idle is the list of nodes with room that no framework wanted, in the order in which
// that turned out. A framework that wants more looks at those that it has not seen.
type idle struct {
	entries []idler
	last    uint64
	live    int
}

// idler is an entry of idle: it counts while its node names it.
type idler struct {
	node *node
	seq  uint64
}

// highest is the precedence of claims for guarantees.
const highest = omega.Precedence(math.MaxInt32)

package offers

import (
	"errors"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/resources"
)

// Defaults of [Config] and [Registration].
const (
	defaultName     = "offers"
	defaultTimeout  = 30 * time.Second // of an offer
	defaultRefuse   = 5 * time.Second  // of a decline
	DefaultInterval = time.Second
	defaultRecovery = 10 * time.Minute
	defaultGrace    = 30 * time.Second // of a revocation
	defaultLiveness = 10 * time.Minute
	// maxRefuse is the longest that a decline hides room: 365 days.
	maxRefuse = 365 * 24 * time.Hour
)

// Config holds the settings of a master. The zero Config shares a cell by dominant
// resource fairness, with offers that last for 30 s.
type Config struct {
	// Name is the name of the master's scheduler in the cell; "" is "offers". A successor
	// finds the master's offers by it. The schedulers of its frameworks are called
	// Name/framework.
	Name string
	// Order ranks the frameworks of a role, and Roles the roles; nil is [DRF]. Frameworks of
	// one role are ordered by Order alone.
	Order, Roles Order
	// Timeout is the time after which an unanswered offer expires; the default is 30 s. With
	// [Never] it lasts until it is answered.
	Timeout Span
	// Interval is the unit of back-off, and the shortest time for which a decline hides
	// room. Only a decline with For(0) hides room for less than Interval. The default is
	// 1 s.
	Interval Span
	// Recovery is the time for which a new master leaves alone the tasks of frameworks that
	// it finds in the cell, until these register. The default is 10 min.
	Recovery Span
	// Grace is the time from the notice of a revocation to the preemption of its tasks; the
	// default is 30 s.
	Grace Span
	// Liveness is the time without a call after which a framework counts as gone. The
	// default is the longer one of 10 min and 20 times Timeout, so never where offers do not
	// expire. A framework that is gone is treated by its tasks:
	//
	//   - Without tasks it ends as by [Framework.Unregister].
	//   - With tasks and Registration.Failover set they last as by [Framework.Disconnect].
	//   - Other tasks go on until the framework is evicted: see [Master.Evict].
	//
	// Its next call registers it anew, as it was, unless another framework has its name by
	// then. A framework that is suppressed, waits for no answer and has no Notify is exempt:
	// it has no reason to call.
	//
	// Two Timeouts without a call make a framework silent. Its offers are rescinded, it
	// is offered nothing, and its requests wait. Its weight does not count for the fair
	// shares of Registration.Outstanding. Its next call ends the silence, and it is
	// offered the room that there is. A framework is slow if it calls again within four
	// Timeouts. It is then silent after twice the time of its absence. Where all
	// frameworks that want offers are silent, each is treated as if it were not.
	//
	// A framework is notified halfway, after one Timeout or half of Liveness. The second
	// half begins with the [Master.Step] that does so, so a program that was suspended gives
	// its frameworks time.
	//
	// Bound: vanished frameworks of any number keep unaccepted room from others for two
	// Timeouts, slow ones for eight.
	Liveness Span
	// Smallest is the least that a machine must have free to be offered, of all kinds.
	// Smaller pieces are left to add up until a large task may fit.
	Smallest resources.Vector
	// Terms are the part of the cell that is offered, and the way, until [Master.SetTerms]
	// changes them.
	Terms Terms
	// Store returns the store through which a scheduler, the master's or that of a
	// framework, refreshes and commits. A nil Store means [omega.Local], whose commits do
	// not wait. With a store that may wait, [Master.StepContext] alone makes offers and
	// answers requests, and [Framework.AcceptContext] waits for its own commit. No other
	// call waits. Where the cell has a journal it is the same. [Master.Register],
	// [Framework.Release] and the first call of a framework that was taken for gone then wait
	// for the journal, too, and hold up no call of another framework.
	Store func(*omega.Scheduler) omega.Store
	// Events, if not nil, is told of offers, of tasks that start, of accepts that are refused,
	// of tasks that are to be preempted, and of rounds of offers.
	Events *observe.Stream
	// LongOnMachine and LongInCell cap the amount that long tasks may hold of a machine and
	// of the cell. They are in per cent of each kind; 0 is no cap. See [Task] and
	// Offer.Long.
	LongOnMachine, LongInCell int
}

func (c *Config) check() error {
	if c.Name != "" {
		if err := checkName("master", c.Name); err != nil {
			return err
		}
	}
	for _, p := range []int{c.LongOnMachine, c.LongInCell} {
		if p < 0 || p > 100 {
			return fmt.Errorf("%w: %d per cent for long tasks: want 0 to 100", errFraction, p)
		}
	}
	if err := c.Smallest.Check(); err != nil {
		return fault.New("offers", "smallest offer", err)
	}
	return errors.Join(
		c.Terms.check(),
		c.Timeout.check("offer timeout", 1),
		c.Interval.check("interval", 1),
		c.Recovery.check("recovery", 0),
		c.Grace.check("grace", 0),
		c.Liveness.check("liveness", 1),
	)
}

// checkWeight keeps weights where shares divided by them, and their sums, stay
// finite.
func checkWeight(w float64) error {
	if w >= drf.MinWeight && w <= drf.MaxWeight { // false for NaN
		return nil
	}
	return fmt.Errorf("%w: %v: want %v to %v", errWeight, w, drf.MinWeight, drf.MaxWeight)
}

// Terms are the part of a cell that a master offers, and whether it keeps what it offers.
// The rest is for schedulers that work without the master. The zero Terms offer the whole
// cell, each piece of room to one framework at a time.
type Terms struct {
	// Machines are the machines that are offered, nil for all. Schedulers that are to keep
	// to the other machines are restricted to [Terms.Rest].
	Machines omega.Mask
	// Percent is the most, of each kind, that the master's offers and the tasks of its
	// frameworks may hold of each machine; 0 is 100. When it is lowered, tasks that exceed
	// it go on. Outstanding offers can still be accepted, unless they are optimistic.
	Percent int
	// Optimistic offers free room to every framework at once, and claims none of it. The
	// first framework to accept has it, and the others conflict. This is Omega's way, with
	// offers in place of snapshots. Orders and Registration.Outstanding have no effect then,
	// since no room is kept from any framework.
	Optimistic bool
}

func (t *Terms) check() error {
	if t.Percent < 0 || t.Percent > 100 {
		return fmt.Errorf("%w: %d per cent of each machine: want 0 to 100", errFraction, t.Percent)
	}
	return nil
}

// Rest returns the machines that are not offered, of the first so many node
// numbers of the cell: a mask for [omega.Scheduler.Restrict].
func (t *Terms) Rest(nodes int) omega.Mask {
	rest := make(omega.Mask, (max(0, nodes)+63)/64)
	if t == nil || t.Machines == nil {
		return rest
	}
	for n := range nodes {
		if n/64 >= len(t.Machines) || t.Machines[n/64]>>(n%64)&1 == 0 {
			rest[n/64] |= 1 << (n % 64)
		}
	}
	return rest
}

// whole reports whether all of each machine is offered.
func (t *Terms) whole() bool { return t.Percent == 0 || t.Percent == 100 }

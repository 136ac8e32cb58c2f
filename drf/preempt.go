package drf

import (
	"errors"

	"github.com/cellsched/cellsched/resources"
)

// ErrMachine is what [Preempt] fails with when an allocation is on a machine
// that is not in the list.
var ErrMachine = errors.New("drf: no such machine")

// Running is an allocation that [Preempt] may take.
type Running struct {
	User    int              // whose it is, by its index
	Machine int              // where it is, by its index
	Need    resources.Vector // what it holds, in base units
	// Started is larger the later it was started: a time, or a number that
	// counts. Of equal ones, the one listed later is taken for the younger.
	Started int64
}

// Preemption is what [Preempt] says to do, or why there is nothing to do.
type Preemption struct {
	Verdict Verdict
	// Machine is where the demand is to go: of [Yields] and [FitsAlready].
	Machine int
	// Victim is the user that loses Allocations: of [Yields].
	Victim int
	// Allocations are those to preempt, all on Machine, by index, the youngest
	// first: of [Yields].
	Allocations []int
}

// Verdict is what [Preempt] found.
type Verdict uint8

// The verdicts of [Preempt].
const (
	Yields      Verdict = iota + 1 // the victim yields what the demand needs
	FitsAlready                    // it fits on a machine as it is
	HasShare                       // its user is not below its fair share
	NoneOver                       // nobody else is above its own
	NoMachine                      // those above hold too little on each machine
	WouldFlip                      // they hold enough, but would end too low: see Preempt
)

// String returns the verdict in words.
func (v Verdict) String() string {
	switch v {
	case Yields:
		return "the victim yields"
	case FitsAlready:
		return "fits already"
	case HasShare:
		return "has its fair share"
	case NoneOver:
		return "nobody is over its fair share"
	case NoMachine:
		return "no machine with enough to take"
	case WouldFlip:
		return "whoever is over would end too low"
	}
	return "unknown verdict"
}

// Preempt says whose allocations, all on one machine, make room for the demand
// of users[user], which fits nowhere, where that user has less than its fair
// share while others have more, in a cell of the given total. Free is what is
// free on each machine where the demand may run, running what may be preempted
// there; the user's own are passed over.
//
// The victim is the user with the largest violation: the largest weighted
// dominant share, which exceeds its fair share, as of [Audit], by the largest
// factor. Of equal ones it is the one listed first. Where it has too little on
// each machine, the next is looked at, as long as it is above its fair share.
// Its allocations are taken from the youngest on, without those that have none
// of what is missing, until the demand fits, and those that turn out to be
// unnecessary are spared, the oldest first. Of several machines it is the one
// where the victim keeps the largest share, then where it loses the fewest
// allocations, then where the oldest of these is the youngest, then the one
// listed first.
//
// # No two users preempt each other in turn
//
// A victim never ends below the user, as weighted dominant shares after the
// swap go; and never at the same, unless the user's share rises by it. So the
// victim cannot take back from that user in turn. Moreover, as long as users
// only preempt by this rule or take what is free, while no task ends and totals
// and weights stay, they arrive at a state where nobody can preempt, whatever
// the order: no sequence of such steps ever leads back to where it began. An
// allocation that would break the rule is passed over. A victim may end below
// its own fair share, by which the cell gets as even as its tasks allow.
//
// Where taking one allocation alone would do, or all that a victim has on a
// machine, a plan is found; of what only some other sets would do, not all are:
// that would be a knapsack problem.
//
// It changes nothing: a pure function, so that a caller whose view may be stale,
// such as a global master, has the plan verified where it is carried out, and
// asks again if it fails. Cost: O(n log n + c log c + M) for n users, c
// allocations and M machines, where only the allocations of victims that are
// looked at are sorted, and O(n+c) memory.
//
// Errors name what is wrong, by its index: those of [Audit]; an [ErrUser] or an
// [ErrMachine] that is not in the list; an [ErrEmpty] for a demand of nothing; a
// [resources.ErrQuantity] for an invalid amount, or where the user would hold
// more than 2^62; an [ErrHeld] where a user's allocations are more than it holds.
//
// The rule is that of Megha, section IV-C; that victims end no lower than the
// user is not in there.
func Preempt(total resources.Vector, users []Holding, user int, free []resources.Vector, running []Running) (Preemption, error) {
	c := contest{total: &total, users: users, user: user, free: free, running: running}
	if err := c.check(); err != nil {
		return Preemption{}, err
	}
	for m := range free {
		if resources.Fits(c.demand, &free[m]) {
			return Preemption{Verdict: FitsAlready, Machine: m}, nil
		}
	}
	all := entitled(&total, users)
	before := users[user].portion(&users[user].Usage, &total)
	if before.over(all) >= 0 {
		return Preemption{Verdict: HasShare}, nil
	}
	c.rises = c.after.compare(before) > 0
	victims := c.over(all)
	if len(victims) == 0 {
		return Preemption{Verdict: NoneOver}, nil
	}
	return c.plan(victims), nil
}

// contest is a question to [Preempt].
type contest struct {
	total   *resources.Vector
	users   []Holding
	user    int
	demand  *resources.Vector
	free    []resources.Vector
	running []Running
	after   portion // the user's share with the demand
	rises   bool    // that is more than before
}

// check finds what is wrong with the question, and measures the user's share
// with the demand.
func (c *contest) check() error {
	if err := checkSome("preempt: total", *c.total); err != nil {
		return err
	}
	if err := checkHoldings("preempt", c.users); err != nil {
		return err
	}
	if c.user < 0 || c.user >= len(c.users) {
		return refuse(ErrUser, "preempt for user %d, want one of %d", c.user, len(c.users))
	}
	u := &c.users[c.user]
	if u.Demand == (resources.Vector{}) {
		return refuse(ErrEmpty, "preempt for user %d, whose demand is %v, want some of at least one kind", c.user, u.Demand)
	}
	c.demand = &u.Demand
	with := u.Usage
	if !add(&with, &u.Demand) {
		return refuse(resources.ErrQuantity, "preempt for user %d: demand %v on top of %v, want at most 2^62 in all", c.user, u.Demand, u.Usage)
	}
	c.after = u.portion(&with, c.total)
	for m := range c.free {
		if err := c.free[m].Check(); err != nil {
			return refuse(err, "preempt: machine %d has %v free", m, c.free[m])
		}
	}
	sums := make([]resources.Vector, len(c.users))
	for i := range c.running {
		r := &c.running[i]
		if r.User < 0 || r.User >= len(c.users) {
			return refuse(ErrUser, "preempt: allocation %d of user %d, want one of %d", i, r.User, len(c.users))
		}
		if r.Machine < 0 || r.Machine >= len(c.free) {
			return refuse(ErrMachine, "preempt: allocation %d on machine %d, want one of %d", i, r.Machine, len(c.free))
		}
		if err := r.Need.Check(); err != nil {
			return refuse(err, "preempt: allocation %d", i)
		}
		sum := &sums[r.User]
		if !add(sum, &r.Need) || !resources.Fits(sum, &c.users[r.User].Usage) {
			return refuse(ErrHeld, "preempt: allocations up to %d of user %d, which holds %v, are more than that", i, r.User, c.users[r.User].Usage)
		}
	}
	return nil
}

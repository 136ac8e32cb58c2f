package drf

import (
	"errors"

	"github.com/cellsched/cellsched/resources"
)

// ErrMachine reports an allocation of [Preempt] on a machine that is not in the
// list.
var ErrMachine = errors.New("drf: no such machine")

// Running is an allocation that [Preempt] may take back.
type Running struct {
	User    int              // its user, by index
	Machine int              // its machine, by index
	Need    resources.Vector // the amount that it holds, in base units
	// Started is the start as a time or a counter, larger for a later start. Of
	// equal ones the one listed later counts as the younger.
	Started int64
}

// Preemption is the plan of [Preempt], or the reason why there is none.
type Preemption struct {
	Verdict Verdict
	// Machine is the machine for the demand: with [Yields] and [FitsAlready].
	Machine int
	// Victim is the user that loses Allocations: with [Yields].
	Victim int
	// Allocations are the ones to preempt, by index, all on Machine, the youngest
	// first: with [Yields].
	Allocations []int
}

// Verdict is the outcome of [Preempt].
type Verdict uint8

// The verdicts of [Preempt].
const (
	Yields      Verdict = iota + 1 // the victim yields enough for the demand
	FitsAlready                    // the demand fits on a machine as it is
	HasShare                       // the user is not below its fair share
	NoneOver                       // no other user is above its fair share
	NoMachine                      // users above theirs hold too little on each machine
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
		return "no other user is over its fair share"
	case NoMachine:
		return "no machine has enough to preempt"
	case WouldFlip:
		return "each victim would end too low"
	}
	return "unknown verdict"
}

// Preempt plans a preemption: it chooses allocations of one victim on one machine
// that make room for the demand of users[user].
//
// It applies if the demand fits nowhere, the user is below its fair share of total,
// and other users are above theirs. Free is the free room of each machine where the
// demand may run. Running are the allocations there that may be preempted; the
// user's own are never chosen.
//
// The victim is the user with the largest weighted dominant share. It exceeds its
// fair share, as [Audit] defines it, by the largest factor. In a tie it is the user
// listed first. If it has too little on each machine the next user is tried, as
// long as that is above its fair share. On a machine:
//
//   - The victim's allocations are chosen from the youngest on, until the demand
//     fits.
//   - An allocation with none of a missing kind is left alone.
//   - Allocations that turn out to be unnecessary are spared, the oldest first.
//
// Of several machines the plan prefers, in this order: the largest share that the
// victim keeps, the fewest allocations, the youngest oldest allocation, the machine
// listed first.
//
// # No two users preempt each other in turn
//
// After the swap the victim's weighted dominant share is not below the user's. The
// two are equal only if the swap raises the user's share. So the victim cannot take
// back from that user in turn. An allocation that would break the rule is left
// alone.
//
// Moreover, preemptions end. Suppose that users only preempt by this rule or take
// free room, that no task ends, and that totals and weights stay. Then no sequence
// of steps, in any order, leads back to where it began, and users arrive at a state
// without a further preemption.
//
// A victim may end below its own fair share, which makes the cell as even as its
// tasks allow.
//
// # Limits, cost and errors
//
// A plan is found if one allocation is enough alone, or if all of a victim's on a
// machine are. Not all plans with other sets are found: that would be a knapsack
// problem.
//
// Preempt is a pure function. A caller with a stale view, such as a global master,
// has the plan verified where it is carried out, and asks again if it fails. Cost:
// O(n log n + c log c + M) for n users, c allocations and M machines, and O(n+c)
// memory. Only the allocations of victims that are tried are sorted.
//
// Errors name the index of the wrong value: those of [Audit]; [ErrUser] or
// [ErrMachine] for one that is not in the list; [ErrEmpty] for a demand of nothing.
// [resources.ErrQuantity] is for an invalid amount, or a user that would hold more
// than 2^62. [ErrHeld] is for a user with more allocations than its usage.
//
// The rule is that of Megha, section IV-C. The bound on the victim's share is not
// in that paper.
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

// contest is the input of one call of [Preempt].
type contest struct {
	total   *resources.Vector
	users   []Holding
	user    int
	demand  *resources.Vector
	free    []resources.Vector
	running []Running
	after   portion // the user's share with the demand
	rises   bool    // after is more than the share before
}

// check validates the input and measures the user's share with the demand.
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
		return refuse(ErrEmpty, "preempt for user %d: demand %v, want some of at least one kind", c.user, u.Demand)
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

package allot

import (
	"slices"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// Verdict is an answer to a user that wants room: others may lose allocations, or the
// reason why they may not.
type Verdict uint8

// The verdicts of [Preempt].
const (
	Yields   Verdict = iota + 1 // others may lose allocations
	HasShare                    // the user is not below its fair share
	NoneOver                    // no other user is above its fair share
)

// String returns the verdict in words.
func (v Verdict) String() string {
	switch v {
	case Yields:
		return "others yield"
	case HasShare:
		return "has its fair share"
	case NoneOver:
		return "no other user is over its fair share"
	}
	return "unknown verdict"
}

// Preemption ranks the users that lose allocations to a user's demand, and bounds their
// losses. [Preempt] makes one; the zero Preemption ranks none. It suits
// omega.ChooseVictims and omega.Ranking. It is not safe for concurrent use.
type Preemption struct {
	verdict Verdict
	total   resources.Vector
	ranks   []int // by user, below 0 for one that loses nothing
	users   []Holding
	left    []resources.Vector // by user, without its losses
	after   portion            // the user's share with the demand
	rises   bool               // after is more than the share before
}

// Preempt ranks users for a preemption, for the demand of users[user] that fits nowhere.
//
// Others lose allocations if the user is below its fair share of total. A user loses if
// it is above its own, as [Audit] defines it. Rank 0 is the largest weighted dominant
// share, which exceeds its fair share by the largest factor. Users with equal shares have
// equal ranks.
//
// # No two users preempt each other in turn
//
// After the swap no victim's weighted dominant share is below the user's. The two are
// equal only if the swap raises the user's share. So a victim cannot take back from that
// user in turn. [Preemption.Lose] refuses an allocation that would break the rule.
//
// Moreover, preemptions end. Suppose that users only preempt by this rule or take
// free room, that no task ends, and that totals and weights stay. Then no sequence
// of steps, in any order, leads back to where it began, and users arrive at a state
// without a further preemption.
//
// A victim may end below its own fair share, which makes the cell as even as its
// tasks allow.
//
// # Cost and errors
//
// Cost: O(n log n) for n users. The result keeps users, which must not change meanwhile.
// A caller with a stale view, such as a global master, has the choice verified where it is
// carried out, and asks again if it fails.
//
// Errors name the index of the wrong value: those of [Audit]; [drf.ErrUser] for a user that
// is not in the list; [drf.ErrEmpty] for a demand of nothing; [resources.ErrQuantity] for an
// invalid amount, or a user that would hold more than 2^62.
//
// The rule is that of Megha, section IV-C. The bound on the victim's share is not
// in that paper.
func Preempt(total resources.Vector, users []Holding, user int) (*Preemption, error) {
	p := &Preemption{total: total, users: users}
	if err := p.check(user); err != nil {
		return nil, err
	}
	all := entitled(&total, users)
	before := users[user].portion(&users[user].Usage, &total)
	if before.over(all) >= 0 {
		p.verdict = HasShare
		return p, nil
	}
	p.rises = p.after.compare(before) > 0
	var over []int
	shares := make([]portion, len(users))
	p.ranks, p.left = make([]int, len(users)), make([]resources.Vector, len(users))
	for i := range users {
		u := &users[i]
		p.ranks[i], p.left[i] = -1, u.Usage
		if shares[i] = u.portion(&u.Usage, &total); u.active() && shares[i].over(all) > 0 {
			over = append(over, i)
		}
	}
	slices.SortFunc(over, func(a, b int) int { return shares[b].compare(shares[a]) })
	for n, i := range over {
		if n > 0 && shares[i].compare(shares[over[n-1]]) == 0 {
			p.ranks[i] = p.ranks[over[n-1]]
		} else {
			p.ranks[i] = n
		}
	}
	if p.verdict = Yields; len(over) == 0 {
		p.verdict = NoneOver
	}
	return p, nil
}

// check validates the input and measures the user's share with the demand.
func (p *Preemption) check(user int) error {
	if err := self.Some("preempt: total", p.total); err != nil {
		return err
	}
	if err := checkHoldings("preempt", p.users); err != nil {
		return err
	}
	if user < 0 || user >= len(p.users) {
		return self.Refuse(drf.ErrUser, "preempt for user %d, want one of %d", user, len(p.users))
	}
	u := &p.users[user]
	if u.Demand == (resources.Vector{}) {
		return self.Refuse(drf.ErrEmpty, "preempt for user %d: demand %v, want some of at least one kind", user, u.Demand)
	}
	if room, _ := everything.Sub(u.Usage); !u.Demand.Fits(room) {
		return self.Refuse(resources.ErrQuantity, "preempt for user %d: demand %v plus %v held, want at most 2^62 in all", user, u.Demand, u.Usage)
	}
	with := u.Usage.Add(u.Demand)
	p.after = u.portion(&with, &p.total)
	return nil
}

// Verdict returns whether others may lose allocations, or why not.
func (p *Preemption) Verdict() Verdict {
	if p == nil {
		return 0
	}
	return p.verdict
}

// Rank returns the rank of a user's allocations, 0 for those to be preempted first. It
// returns false for a user that loses none.
func (p *Preemption) Rank(user int) (rank int, ok bool) {
	if p == nil || user < 0 || user >= len(p.ranks) || p.ranks[user] < 0 {
		return 0, false
	}
	return p.ranks[user], true
}

// Lose counts the loss of an allocation, and reports whether its user can lose it besides
// its losses so far. It counts nothing otherwise.
//
// The user has to end where it cannot preempt in turn: above the user that preempts, or
// level with it if that one's share rises.
//
// Claim: no sequence of preemptions comes back to its first state. Proof, by
// contradiction:
//
//  1. Suppose that a sequence does. Let s be the lowest share from which a user
//     acted in it, where acting is preempting or taking free room.
//  2. A victim ends no lower than the user that acts, which was at s or above. It
//     ends above s if that user stayed at s. So no victim is pushed down to s or
//     below.
//  3. So no user rose from s either: the number of users at s or below would shrink
//     and never grow back, and the sequence would not come back.
//  4. So each user that acted from s gained amounts that do not raise its share. It
//     must lose them again, and its share is then s at most.
//  5. It loses them as a victim of a user that ends no higher, so one that stayed
//     at s. By step 2 it ends above s: a contradiction.
func (p *Preemption) Lose(user int, need resources.Vector) bool {
	if _, ok := p.Rank(user); !ok {
		return false
	}
	left, ok := p.left[user].Sub(need)
	if !ok {
		return false
	}
	d := p.users[user].portion(&left, &p.total).compare(p.after)
	if d < 0 || d == 0 && !p.rises {
		return false
	}
	p.left[user] = left
	return true
}

// Keep takes back a loss that [Preemption.Lose] has counted.
func (p *Preemption) Keep(user int, need resources.Vector) {
	if _, ok := p.Rank(user); ok {
		p.left[user] = p.left[user].Add(need)
	}
}

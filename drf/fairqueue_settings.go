package drf

import (
	"math"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// SetWeight changes the weight of a tenant or group from now on: its place in the
// order stays, and service from now on counts by the new weight.
// Cost: O(k + log n). Errors: [ErrUser], [ErrWeight].
func (q *FairQueue) SetWeight(u User, weight float64, now time.Duration) error {
	if q.none() {
		return self.Absent("queue")
	}
	m := q.member(u)
	if m == nil {
		return badUser("set weight of")
	}
	if err := self.Weight("set weight", weight); err != nil {
		return err
	}
	q.advance(now)
	passed := q.touch(m)
	// Each kind keeps its key: (S+Z) is scaled with the weight.
	for k := range m.sums[:q.kinds] {
		s := &m.sums[k]
		keyed := s.received(passed) + s.ahead
		s.settled += int64(float64(keyed)*(weight/m.weight)) - keyed
	}
	m.weight = weight
	q.rerank(u.slot)
	return nil
}

// SetGuarantee sets the resources up to which a tenant or group goes before all
// siblings that are not below their own guarantee, in base units. The zero
// Vector takes the guarantee back. Cost: O(log n). Errors: [ErrUser],
// [resources.ErrQuantity].
func (q *FairQueue) SetGuarantee(u User, least resources.Vector) error {
	if q.none() {
		return self.Absent("queue")
	}
	m := q.member(u)
	if m == nil {
		return badUser("set guarantee of")
	}
	if err := least.Check(); err != nil {
		return self.Refuse(err, "guarantee of user %d", u.slot)
	}
	m.guarantee, m.owed = least, least != (resources.Vector{})
	q.rerank(u.slot)
	return nil
}

// SetLimit sets the resources that a tenant or group never exceeds, in base
// units; false lifts the limit. A tenant does not count as waiting while its next
// task would exceed its limit, nor a group while each next task in it would. Cost:
// O(log n). Errors: [ErrUser], [resources.ErrQuantity].
func (q *FairQueue) SetLimit(u User, most resources.Vector, limited bool, now time.Duration) error {
	if q.none() {
		return self.Absent("queue")
	}
	m := q.member(u)
	if m == nil {
		return badUser("set limit of")
	}
	if err := most.Check(); err != nil {
		return self.Refuse(err, "limit of user %d", u.slot)
	}
	q.advance(now)
	m.limit, m.limited = most, limited
	q.review(u.slot)
	return nil
}

// SetClass sets the priority class of a tenant or group. Among siblings a higher class
// goes first, whatever it has received. Shares are even within a class, from the
// change on. The default is 0. Cost: O(k + log n). Errors: [ErrUser].
func (q *FairQueue) SetClass(u User, class int32) error {
	if q.none() {
		return self.Absent("queue")
	}
	m := q.member(u)
	if m == nil {
		return badUser("set class of")
	}
	// The marks of a class are its own. The member keeps its place relative to them.
	passed, g := q.touch(m), q.members[m.parent].children
	q.fold(m)
	was := g.mark(m.class).levels[m.level].served
	now := g.mark(class).levels[0].served
	m.level, m.taken = 0, 0
	m.shift(math.Round((now-was)*m.weight/(1<<sumBits)) * (1 << sumBits)) // by whole ns
	m.raise(now-g.slack(m.weight), q.kinds, passed)
	m.class = class
	if m.state == inOrder {
		q.replay(&q.members[m.parent].children.order, m.place)
	}
	q.rerank(u.slot)
	return nil
}

// Throttle leaves a tenant or group out of [FairQueue.Pick] until another call with
// false. It suits a bound other than room, such as a rate. It is as a limit that is
// reached: children of a throttled group go on competing, and a member that comes
// back keeps its place. Cost: O(d*(k + log n)). Errors: [ErrUser].
func (q *FairQueue) Throttle(u User, on bool, now time.Duration) error {
	if q.none() {
		return self.Absent("queue")
	}
	m := q.member(u)
	if m == nil {
		return badUser("throttle")
	}
	q.advance(now)
	m.throttled = on
	q.review(u.slot)
	return nil
}

// Expect sets the expected length of the tenant's tasks. Without it the queue
// learns the length: it is the mean of all tasks at first, and each task that
// ends moves it by an eighth of the difference. Errors: [ErrUser];
// [ErrPatience] for a negative length.
func (q *FairQueue) Expect(u User, length time.Duration) error {
	if q.none() {
		return self.Absent("queue")
	}
	m := q.member(u)
	if m == nil {
		return badUser("expect of")
	}
	if length < 0 {
		return self.Refuse(ErrPatience, "expect of user %d: length %v, want 0 or more", u.slot, length)
	}
	m.expected = int64(length)
	return nil
}

// ByHeld orders by the share that is held at each moment, dominant resource
// fairness, instead of by received service. It suits allocations without end.
// Weights, guarantees, limits and groups apply as before; a waiting tenant that
// holds nothing has a key of zero, whatever its weight. Cost: O(tenants*k).
func (q *FairQueue) ByHeld(on bool, now time.Duration) {
	if q.none() {
		return
	}
	q.advance(now)
	q.byHeld = on
	for i := range q.members {
		q.rerank(uint32(i))
	}
}

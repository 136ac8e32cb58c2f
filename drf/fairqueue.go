package drf

import (
	"time"

	"github.com/cellsched/cellsched/resources"
)

// FairQueue orders tenants by the service that they have received: the integral
// over time of their dominant shares, divided by their weights. Pick returns
// the waiting tenant with the least.
//
// A [Heap] compares what users hold at this moment. Where tenants outnumber
// slots a waiting tenant holds nothing, so weights and the lengths of tasks have
// no effect there. In a FairQueue they have: over time, slot time converges to
// the weights, however many tenants there are for each slot.
//
//	Wait ──▶┌───────────┐  Pick  ┌──────────────┐
//	Park ──▶│ FairQueue ├───────▶│ caller starts│─ Start ─▶ Run
//	        │ least key │        │ a task       │            │ task ends
//	        └─────▲─────┘        └──────────────┘            │
//	              └───────────────────── End ◀───────────────┘
//
// The rule is start-time fair queueing over several resources. For a tenant of
// weight w and kind k, the received service S is the sum over its tasks of
// share times running time. Z is the sum over its running tasks of share times
// expected length. The key is max over k of (S+Z)/w. P. Goyal, H. Vin,
// H. Cheng, "Start-time fair queueing", SIGCOMM 1996; for several kinds,
// A. Ghodsi et al., "Multi-resource fair queueing for packet processing" (DRFQ),
// SIGCOMM 2012, where lengths are known in advance; here they are estimated.
//
// Contention: service of siblings counts only while one of them waits. When the last wait
// among them ends, their received service is forgotten. A tenant that was idle while
// others waited begins at the key of the tenant that is served then, so an idle hour
// earns no burst. Other tenants may lack room. It then begins beside the first of them
// that needs no more of any kind, since it would have lacked room, too.
//
// Groups: a tenant with children is a group. Each group orders its children in the same
// way and is itself ordered among its siblings. A group that its limit or
// [FairQueue.Throttle] holds back does not wait. Its children still compete for the part
// of the group, so their service counts.
//
// Bound: tenants f and m that wait throughout, with equal keys at first and no
// lack of room, limit or guarantee in between, satisfy
//
//	S_f/w_f - S_m/w_m <= (s*L + X*max(L-e, 0))/w_f + Z_m/w_m
//
// Here s is the share and L the longest length of a task of f. X is the share that f held
// before its last start, and e is the least estimate of a length of its tasks. Proof:
//
//  1. At the last start of f its key was no larger than that of m.
//  2. After it f receives service for the tasks that it then runs, and no more.
//  3. The key of m exceeds its service by Z_m/w_m.
//
// Lack of room: let some tenants lack one kind, say GPUs. Another tenant that needs none
// is served on, by the other kinds. The first tenants fall behind its service. The queue
// keeps four levels of tenants that have fallen behind. Lag beyond a bound is forgiven,
// for all tenants of a level alike. So tenants that lack one kind keep their weights
// among each other. At a start in the order the key of a tenant f of level i satisfies
//
//	K_f >= V - (B_0 + ... + B_i), B_j <= 8*A_j
//
// A tenant of level 0 may be served before one with a lesser key. V is the largest
// service by weight at which this happened. A_j is the mean of Z/w after starts of level
// j, or of the next level if that is larger. The proof is in the source, beside the
// levels. It needs no assumption on room, so an hour without room earns no burst either.
//
// Times are durations since any moment that the caller chooses. A time before the
// last one counts as no time passed. A FairQueue is not safe for concurrent use.
// The order holds for years of contention, and for siblings with weights of a ratio
// of 1,000,000. Costs are for n waiting tenants, d levels and k kinds of resource.
// The zero FairQueue is not usable; see [NewFairQueue]. Methods of a nil or zero
// FairQueue fail with [resources.ErrNil], or return nothing.
type FairQueue struct {
	total   resources.Vector
	scale   [resources.MaxKinds]float64 // 2^shareBits by the total
	kinds   int                         // total has nothing from this kind on
	members []member
	vacant  []uint32

	now       int64  // ns that have passed; steps back count as none
	last      int64  // time of the last call, in ns
	contended int    // groups in which a child waits
	turn      uint64 // starts and waits so far
	mean      int64  // mean length of all tasks, in ns; unknown at first
	walked    []uint32
	byHeld    bool
}

// root is the slot of all tenants' group, the parent that the zero User names.
const root = 0

// unknown is a length or a time that was not measured.
const unknown = -1

// NewFairQueue returns a queue without tenants over a cell of the given total,
// in base units.
//
// Errors: [resources.ErrQuantity] for a component outside [0, 2^62], [ErrEmpty]
// for a total of nothing.
func NewFairQueue(total resources.Vector) (*FairQueue, error) {
	q := &FairQueue{mean: unknown}
	q.members = append(q.members, member{weight: 1, gen: 1})
	q.members[root].children = &children{}
	if err := q.SetTotal(total, 0); err != nil {
		return nil, err
	}
	return q, nil
}

// none reports whether q is nil, or not made by [NewFairQueue].
func (q *FairQueue) none() bool { return q == nil || len(q.members) == 0 }

// SetTotal changes the resources that tenants share. Service received before
// keeps the shares that it was received with. Cost: O(tenants*k). Errors: those
// of [NewFairQueue].
func (q *FairQueue) SetTotal(total resources.Vector, now time.Duration) error {
	if q.none() {
		return self.Absent("queue")
	}
	if err := self.Some("total", total); err != nil {
		return err
	}
	q.advance(now)
	was := q.total
	q.total, q.kinds = total, 0
	for k, have := range total {
		if q.scale[k] = 0; have > 0 {
			q.kinds, q.scale[k] = k+1, (1<<shareBits)/float64(have)
		}
	}
	for i := range q.members {
		if m := &q.members[i]; m.gen&1 == 1 {
			m.rescale(q, &was, q.touch(m))
		}
	}
	for i := range q.members {
		q.rerank(uint32(i))
	}
	return nil
}

// Add registers a tenant that holds nothing and does not wait, as a child of
// parent. The zero User is the root. A parent that was a tenant becomes a group.
//
// Cost: O(1) amortised. Errors: [ErrUser] if there is no such parent, [ErrHeld]
// if it waits or holds something, [ErrWeight] for a weight outside [[MinWeight],
// [MaxWeight]].
func (q *FairQueue) Add(parent User, weight float64) (User, error) {
	if q.none() {
		return User{}, self.Absent("queue")
	}
	if err := self.Weight("add tenant", weight); err != nil {
		return User{}, err
	}
	at := uint32(root)
	if parent != (User{}) {
		m := q.member(parent)
		if m == nil {
			return User{}, badUser("add child of")
		}
		if m.children == nil && (m.state != notWaiting || m.held != (resources.Vector{})) {
			return User{}, self.Refuse(ErrHeld, "add child of user %d: it waits or holds %s, want neither", parent.slot, plain(m.held))
		}
		if at = parent.slot; m.children == nil {
			m.children = &children{}
		}
	}
	var slot uint32
	if n := len(q.vacant); n > 0 {
		slot, q.vacant = q.vacant[n-1], q.vacant[:n-1]
	} else {
		slot = uint32(len(q.members))
		q.members = append(q.members, member{})
	}
	m := &q.members[slot]
	g := q.members[at].children
	*m = member{weight: weight, gen: m.gen + 1, parent: at, expected: unknown, epoch: g.epoch}
	g.n++
	return User{slot, m.gen}, nil
}

// Remove forgets a tenant or an empty group. Cost: O(1). Errors: [ErrUser];
// [ErrHeld] if it waits, holds something or has children.
func (q *FairQueue) Remove(u User) error {
	if q.none() {
		return self.Absent("queue")
	}
	m := q.member(u)
	if m == nil {
		return badUser("remove")
	}
	if m.state != notWaiting || m.held != (resources.Vector{}) || m.children != nil && m.children.n > 0 {
		return self.Refuse(ErrHeld, "remove user %d: it waits, holds %s or has children, want none of these", u.slot, plain(m.held))
	}
	q.members[m.parent].children.n--
	*m = member{gen: m.gen + 1}
	if m.gen != 0 { // a slot that ran out of generations is not used again
		q.vacant = append(q.vacant, u.slot)
	}
	return nil
}

// Expected returns the expected length of the tenant's next task, and false
// where none is known. Errors: false too.
func (q *FairQueue) Expected(u User) (time.Duration, bool) {
	if q.none() {
		return 0, false
	}
	m := q.member(u)
	switch {
	case m == nil:
		return 0, false
	case m.expected != unknown:
		return time.Duration(m.expected), true
	}
	return time.Duration(max(q.mean, 0)), q.mean != unknown
}

// Settled reports whether forgetting the tenant loses nothing. It has to hold nothing,
// not wait, and have no children. Removed and added anew, it would not begin its next
// wait at an earlier place.
func (q *FairQueue) Settled(u User, now time.Duration) bool {
	if q.none() {
		return false
	}
	m := q.member(u)
	if m == nil || m.state != notWaiting || m.children != nil || m.held != (resources.Vector{}) {
		return false
	}
	g := q.members[m.parent].children
	if g.waiting == 0 || m.epoch != g.epoch {
		return true
	}
	q.advance(now)
	k := g.mark(m.class)
	least := k.levels[0].served
	if f := q.passedOver(g, m.class, &everything); f != nil {
		least = min(least, q.servedAt(k, f))
	}
	return q.place(m) <= least
}

// Due reports whether a tenant has received no more for its weight than the
// siblings that are served now. The same has to hold for each group that it is in.
// Cost: O(d*k). Errors: false.
func (q *FairQueue) Due(u User, now time.Duration) bool {
	if q.none() || q.member(u) == nil {
		return false
	}
	q.advance(now)
	for at := u.slot; at != root; at = q.members[at].parent {
		m := &q.members[at]
		if q.place(m) > q.members[m.parent].children.mark(m.class).levels[0].served {
			return false
		}
	}
	return true
}

// Held returns the amounts that a tenant or group holds, in base units, nothing
// for a handle that the queue does not have.
func (q *FairQueue) Held(u User) resources.Vector {
	if q.none() {
		return resources.Vector{}
	}
	if m := q.member(u); m != nil {
		return m.held
	}
	return resources.Vector{}
}

// Contended reports whether a tenant waits that is within its own limit and not
// throttled itself. Only then does service count, and only then do calls look at the
// time.
func (q *FairQueue) Contended() bool { return q != nil && q.contended > 0 }

// Received returns the service that a tenant or group has received in this
// period of contention: the largest over the kinds of its share integrated over
// time. One second of half the cell is 500 ms. Errors: [ErrUser].
func (q *FairQueue) Received(u User, now time.Duration) (time.Duration, error) {
	if q.none() {
		return 0, self.Absent("queue")
	}
	m := q.member(u)
	if m == nil {
		return 0, badUser("received by")
	}
	q.advance(now)
	passed := q.touch(m)
	return time.Duration(max(0, m.before+m.received(q.kinds, passed)>>sumBits)), nil
}

// member returns the member of a handle, or nil. The root has no handle.
func (q *FairQueue) member(u User) *member {
	if u.slot == root || int(u.slot) >= len(q.members) || u.gen&1 == 0 || q.members[u.slot].gen != u.gen {
		return nil
	}
	return &q.members[u.slot]
}

// longest is the longest time between two calls that is counted, 52 days.
const longest = 1 << 52

// advance moves the time to now. A step back counts as no time, and time goes on
// from there.
func (q *FairQueue) advance(now time.Duration) {
	if passed := int64(now) - q.last; passed > 0 {
		q.now = min(q.now+min(passed, longest), 1<<62)
	}
	q.last = int64(now)
}

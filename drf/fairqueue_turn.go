package drf

import (
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Wait says that the tenant waits with a task that needs at least this much, in
// base units. It waits until Park. Another call changes the need and keeps the
// tenant's place. A need of nothing leaves it to Pick's fits.
//
// A wait that begins while others wait starts at the service of the tenant that
// is served at this moment, or at the tenant's own if that is larger. Cost:
// O(d*(k + log n)), no allocation once there was as long a queue. Errors:
// [ErrUser], also for a group; [resources.ErrQuantity].
func (q *FairQueue) Wait(u User, need resources.Vector, now time.Duration) error {
	return q.wait(u, &need, now)
}

func (q *FairQueue) wait(u User, need *resources.Vector, now time.Duration) error {
	m := q.leaf(u)
	if m == nil {
		return q.noLeaf("wait", u)
	}
	q.advance(now)
	if m.state != notWaiting && m.need == *need {
		return nil
	}
	if !addable(&unheld, need) {
		return badNeed("wait", u, need)
	}
	m.need = *need
	if m.state != notWaiting {
		q.rewant(u.slot)
		q.review(u.slot)
		return nil
	}
	q.turn++
	m.since = q.turn
	if m.fits() {
		q.enter(u.slot, false)
	} else {
		m.state = atLimit
	}
	q.reopen(u.slot)
	return nil
}

// Park says that the tenant waits no more. It keeps what it holds. Cost:
// O(d*log n), no allocation. Errors: [ErrUser], also for a group.
func (q *FairQueue) Park(u User, now time.Duration) error {
	m := q.leaf(u)
	if m == nil {
		return q.noLeaf("park", u)
	}
	q.advance(now)
	if m.state == inOrder {
		q.leave(u.slot)
	}
	m.state = notWaiting
	return nil
}

// Pick returns the waiting tenant that is first in the order, whose need fits in
// most and for which fits returns true; false if there is none. Most is a bound:
// no machine has more of any kind; nil is no bound. Fits is called in the order,
// once for a tenant, and must not change the queue; nil returns true for all.
// Pick changes no tenant's place: the caller starts a task and calls
// [FairQueue.Start], then Wait or Park.
//
// Tenants and groups below their guarantee come first, then those of a higher
// class, then the least key. Ties go to the one that was served longest ago, then
// to the one that began to wait first. A member at its limit is left out.
//
// Cost: O(d*(k + log n)) for each tenant that fits was called for; each member
// whose key has grown past another since its last event adds as much, at most n.
// Where most has room for the least need of each kind but for few whole needs, it
// is O(n). No allocation once there was as long a walk.
func (q *FairQueue) Pick(now time.Duration, most *resources.Vector, fits func(User) bool) (User, bool) {
	if q.none() {
		return User{}, false
	}
	q.advance(now)
	if most == nil {
		most = &everything
	}
	if fits == nil {
		fits = anyone
	}
	u, ok, _ := q.pick(root, most, fits)
	return u, ok
}

func anyone(User) bool { return true }

// pick walks the children of a group in their order. Limited reports that each
// child is at a limit and none lacked room.
func (q *FairQueue) pick(group uint32, most *resources.Vector, fits func(User) bool) (u User, ok, limited bool) {
	t := &q.members[group].children.order
	from := len(q.walked)
	limited = true
	for !ok {
		slot := q.firstWithin(t, most)
		if slot == 0 {
			limited = limited && !t.any()
			break
		}
		m := &q.members[slot]
		switch {
		case m.children != nil:
			var held bool
			if u, ok, held = q.pick(slot, most, fits); !ok && held {
				// The group stops waiting until something in it ends. It has left
				// already if the last group in it did.
				if m.state == inOrder {
					q.leave(slot)
				}
				q.hold(slot)
				continue
			}
			limited = limited && ok
		case q.overLimit(slot):
		default:
			limited = false
			if u = (User{slot, m.gen}); fits(u) {
				ok = true
			}
		}
		if !ok {
			q.hide(t, slot)
			q.walked = append(q.walked, slot)
		}
	}
	for i := len(q.walked) - 1; i >= from; i-- {
		q.show(t, q.walked[i])
	}
	q.walked = q.walked[:from]
	return u, ok, limited && !ok && group != root
}

// overLimit reports whether the tenant's next task exceeds the limit of a group
// that it is in.
func (q *FairQueue) overLimit(slot uint32) bool {
	need := &q.members[slot].need
	for at := q.members[slot].parent; at != root; at = q.members[at].parent {
		if m := &q.members[at]; m.limited && !fitsIn(&m.held, need, &m.limit) {
			return true
		}
	}
	return false
}

// Start says that a task of the tenant starts, picked or not. Run.Need is its need.
//
// Cost: O(d*(k + log n)), no allocation. Errors: [ErrUser], also for a group;
// [ErrEmpty]; [resources.ErrQuantity] for an invalid need, or one that takes a
// tenant or group beyond 2^62; [ErrHeld] for a Run whose task runs;
// [resources.ErrNil].
func (q *FairQueue) Start(u User, run *Run, now time.Duration) error {
	m := q.leaf(u)
	if m == nil || run == nil || run.user != (User{}) {
		return q.badRun("start", u, run)
	}
	contended := q.Contended()
	if !contended && m.parent == root && m.state == notWaiting && q.startIdle(m, run) {
		run.user, q.last = u, int64(now)
		return nil
	}
	for at := u.slot; at != root; at = q.members[at].parent {
		if !addable(&q.members[at].held, &run.Need) {
			return q.badStart(at, &run.Need)
		}
	}
	if nothing(&run.Need) {
		return q.badStart(root, &run.Need)
	}
	q.advance(now)
	run.user, run.clock, run.epoch, run.expected, run.began = u, q.clock, q.epoch, m.expected, unknown
	if run.expected == unknown {
		run.expected = max(q.mean, 0)
	}
	if contended {
		run.began = int64(now)
	}
	q.turn++
	for at := u.slot; at != root; at = q.members[at].parent {
		q.touch(at)
		if contended && q.serve(at, &run.Need) {
			q.passOver(at)
		}
		q.charge(at, run) // which makes its place worse at most
	}
	if m.state == inOrder && !m.fits() {
		q.review(u.slot)
	}
	return nil
}

// startIdle is Start while no tenant waits, below the root: nothing is received
// then, and the clock is at zero. It leaves all else, errors included, to Start.
func (q *FairQueue) startIdle(m *member, run *Run) bool {
	need := &run.Need
	if !addable(&m.held, need) || nothing(need) {
		return false
	}
	run.expected = m.expected
	if run.expected == unknown {
		run.expected = max(q.mean, 0)
	}
	run.clock, run.epoch, run.began = 0, q.epoch, unknown
	q.turn++
	m.served = q.turn
	for k := range m.held {
		m.held[k] += need[k]
	}
	for k := range m.sums[:q.kinds] {
		if s := q.share(k, need[k]); s > 0 {
			m.sums[k].running += s
			m.sums[k].ahead += product64(s, run.expected)
		}
	}
	return true
}

// serve moves the marks of the parent's order for the start of a child, before
// the charge, and reports whether the start is one in the order: not owed.
func (q *FairQueue) serve(slot uint32, need *resources.Vector) bool {
	m := &q.members[slot]
	g := q.members[m.parent].children
	k := q.mark(g, m.class)
	if m.state != inOrder {
		// A start without a wait is one that begins and ends now: idle time
		// earns nothing here either.
		m.raise(q.entry(m.parent, m.class), q.kinds, q.clock)
	} else {
		m.raise(k.floor(m.weight), q.kinds, q.clock)
	}
	if m.owed && m.below(need) {
		// A start on a guarantee is owed whatever was received, so it moves no
		// mark, and does not put the member far behind for the rest.
		if most := k.served + g.slack(m.weight); m.raw(q.kinds, q.clock) > most {
			m.lower(most, q.kinds, q.clock)
		}
		return false
	}
	k.served = max(k.served, m.byWeight(m.received(q.kinds, q.clock)))
	return true
}

// passOver notes that a child is served before one with a lesser key, if so.
func (q *FairQueue) passOver(slot uint32) {
	m := &q.members[slot]
	g := q.members[m.parent].children
	first := q.first(&g.order)
	if first == 0 || first == slot {
		return
	}
	key := m.raw(q.kinds, q.clock)
	if f := &q.members[first]; f.class == m.class && f.key < key {
		q.mark(g, m.class).pass(key, g)
	}
}

// charge adds a started task to a member.
func (q *FairQueue) charge(slot uint32, run *Run) {
	m, need := &q.members[slot], &run.Need
	for k := range m.held {
		m.held[k] += need[k]
	}
	m.served = q.turn
	most := int64(0)
	for k := range m.sums[:q.kinds] {
		if s, sum := q.share(k, need[k]), &m.sums[k]; s > 0 {
			ahead := product64(s, run.expected)
			most = max(most, ahead)
			sum.running += s
			sum.offset += product64(s, run.clock)
			sum.ahead += ahead
		}
	}
	g := q.members[m.parent].children
	if q.Contended() {
		g.typical += (float64(most) - g.typical) / 8
	}
	if q.kinds == 1 {
		return
	}
	// A kind that the tenant used little so far is no credit without bound: no
	// kind stays further behind the largest than the slack.
	least := m.received(q.kinds, q.clock) - toSum(8*g.typical)
	for k := range m.sums[:q.kinds] {
		if below := least - m.sums[k].received(q.clock); below > 0 {
			m.sums[k].settled += below
		}
	}
}

// End says that a task has ended.
//
// Cost: O(d*(k + log n)), no allocation. Errors: [ErrHeld] for a Run whose task
// does not run, and if the tenant does not hold its need; [ErrUser] for a Run of
// another queue; [resources.ErrNil].
func (q *FairQueue) End(run *Run, now time.Duration) error {
	if run == nil {
		return q.badRun("end", User{}, nil)
	}
	u := run.user
	m := q.leaf(u)
	if m == nil || !resources.Fits(&run.Need, &m.held) {
		return q.badRun("end", u, run)
	}
	if m.parent == root && m.state == notWaiting && !q.Contended() {
		q.endIdle(m, run, now)
	} else {
		q.end(run, now)
	}
	run.user = User{}
	return nil
}

// endIdle is End while no tenant waits, below the root: nothing was received
// since the clock was set to zero.
func (q *FairQueue) endIdle(m *member, run *Run, now time.Duration) {
	need := &run.Need
	if run.began != unknown {
		q.learn(m, max(int64(now)-run.began, 0))
	}
	q.last = int64(now)
	for k := range m.held {
		m.held[k] -= need[k]
	}
	for k := range m.sums[:q.kinds] {
		if s, sum := q.share(k, need[k]), &m.sums[k]; s > 0 {
			sum.running = max(sum.running-s, 0)
			sum.ahead = max(sum.ahead-product64(s, run.expected), 0)
			if m.held[k] == 0 {
				sum.running, sum.ahead = 0, 0
			}
		}
	}
}

// end is End where tenants wait, or a group is above.
func (q *FairQueue) end(run *Run, now time.Duration) {
	q.advance(now)
	began := run.clock
	if run.epoch != q.epoch {
		began = 0
	}
	// Before the last change of the total all was settled.
	began = max(began, q.rebased)
	if run.began != unknown {
		q.learn(&q.members[run.user.slot], max(int64(now)-run.began, 0))
	}
	for at := run.user.slot; at != root; at = q.members[at].parent {
		q.touch(at)
		q.credit(at, &run.Need, began, run.expected)
		q.review(at)
	}
}

// Resize says that a running task needs another amount from now on. Errors and
// cost: as Start and End; then nothing has changed.
func (q *FairQueue) Resize(run *Run, need resources.Vector, now time.Duration) error {
	if run == nil {
		return q.badRun("resize", User{}, nil)
	}
	u, was := run.user, run.Need
	m := q.leaf(u)
	if m == nil || !resources.Fits(&was, &m.held) {
		return q.badRun("resize", u, run)
	}
	if err := checkSome("resize: need", need); err != nil {
		return err
	}
	for at := u.slot; at != root; at = q.members[at].parent {
		rest, _ := q.members[at].held.Sub(was)
		if !addable(&rest, &need) {
			return refuse(resources.ErrQuantity, "resize: user %d holds %s, with %s in place of %s it is over 2^62",
				at, plain(q.members[at].held), plain(need), plain(was))
		}
	}
	began := run.began
	run.began = unknown // the task goes on: nothing is learned of its length
	if err := q.End(run, now); err != nil {
		return err
	}
	run.user, run.Need, run.began, run.clock, run.epoch = u, need, began, q.clock, q.epoch
	for at := u.slot; at != root; at = q.members[at].parent {
		served := q.members[at].served
		q.charge(at, run)
		q.members[at].served = served
		q.review(at)
	}
	return nil
}

// learn notes how long a task took.
func (q *FairQueue) learn(m *member, length int64) {
	if q.mean == unknown {
		q.mean = length
	}
	if m.expected == unknown {
		m.expected = q.mean
	}
	m.expected += (length - m.expected) / 8
	q.mean += (length - q.mean) / 8
}

// credit takes an ended task from a member. What it has received stays.
func (q *FairQueue) credit(slot uint32, need *resources.Vector, began, expected int64) {
	m := &q.members[slot]
	for k := range m.held {
		m.held[k] -= need[k]
	}
	for k := range m.sums[:q.kinds] {
		sum := &m.sums[k]
		s := min(q.share(k, need[k]), sum.running)
		if s == 0 {
			continue
		}
		before := product64(s, began)
		sum.settled += product64(s, q.clock) - before
		sum.offset -= before
		sum.running -= s
		sum.ahead = max(sum.ahead-product64(s, expected), 0)
		if m.held[k] == 0 { // nothing runs: what rounding has left goes
			sum.settled = sum.received(q.clock)
			sum.running, sum.offset, sum.ahead = 0, 0, 0
		}
	}
}

// enter puts a member into the order of its parent, and the parent into that of
// its own. A member that a limit held back comes back at its own key, less than
// others' by the slack at most; one that begins to wait, at the present service.
func (q *FairQueue) enter(slot uint32, resumed bool) {
	m := &q.members[slot]
	q.touch(slot)
	q.touch(m.parent)
	g := q.members[m.parent].children
	level := q.entry(m.parent, m.class)
	if resumed {
		level -= g.slack(m.weight)
	}
	m.raise(level, q.kinds, q.clock)
	m.state = inOrder
	q.refresh(slot)
	first := g.waiting == 0
	g.waiting++
	q.insert(&g.order, slot)
	if m.parent != root {
		q.rewant(m.parent)
	}
	if parent := m.parent; first && parent != root && q.members[parent].state == notWaiting {
		q.turn++
		q.members[parent].since = q.turn
		q.enter(parent, false)
	}
}

// entry returns the service by weight at which a wait begins in a class of a
// group, and notes it.
func (q *FairQueue) entry(group uint32, class int32) float64 {
	g := q.members[group].children
	k := q.mark(g, class)
	// A member below its guarantee, or of a higher class, is first whatever it
	// has received.
	if first := q.first(&g.order); first != 0 && !q.members[first].urgent && q.members[first].class == class {
		f := &q.members[first]
		k.served = max(k.served, f.byWeight(f.received(q.kinds, q.clock)))
	}
	return k.served
}

// leave takes a waiting member out of the order of its parent, and the parent
// out of that of its own if it was the last. When none waits any more an epoch
// has ended.
func (q *FairQueue) leave(slot uint32) {
	m := &q.members[slot]
	m.state = notWaiting
	g := q.members[m.parent].children
	g.waiting--
	q.drop(&g.order, slot)
	if m.parent != root {
		q.rewant(m.parent)
	}
	switch {
	case g.waiting > 0: // the order may hide some of them from Pick
	case m.parent == root:
		q.epoch++
		q.clock, q.rebased = 0, 0
	case q.members[m.parent].state == inOrder:
		q.leave(m.parent)
	default:
		q.members[m.parent].state = notWaiting
	}
}

// hold notes that a group is left out because a limit, its own or one above, holds
// back all that waits in it.
func (q *FairQueue) hold(slot uint32) {
	m := &q.members[slot]
	if m.state = atLimit; !m.listed && m.parent != root {
		m.listed = true
		g := q.members[m.parent].children
		g.heldBack = append(g.heldBack, slot)
	}
}

// wake puts the groups below a group back into its order: its limit may have been
// what held them back.
func (q *FairQueue) wake(group uint32) {
	g := q.members[group].children
	for _, slot := range g.heldBack {
		m := &q.members[slot]
		if m.parent != group || m.children == nil {
			continue // forgotten since
		}
		m.listed = false
		if q.wake(slot); m.state == atLimit {
			q.enter(slot, true)
		}
	}
	g.heldBack = g.heldBack[:0]
}

// review puts a member into the order or takes it out, after its limit, its
// need or what it holds has changed.
func (q *FairQueue) review(slot uint32) {
	m := &q.members[slot]
	if m.children != nil {
		q.wake(slot)
	}
	switch {
	case m.state == inOrder && m.children == nil && !m.fits():
		q.leave(slot)
		m.state = atLimit
	case m.state == atLimit && (m.children != nil || m.fits()):
		// Whether a child of a group fits below its limit, Pick finds out.
		q.enter(slot, true)
	default:
		q.rerank(slot)
	}
	q.reopen(slot)
}

// reopen puts the groups above a member into the order again. They may have been
// left out because of what its need was.
func (q *FairQueue) reopen(slot uint32) {
	for at := q.members[slot].parent; at != root; at = q.members[at].parent {
		if q.members[at].state == atLimit {
			q.enter(at, true)
		}
	}
}

// leaf returns the member of a handle, nil if it is a group.
func (q *FairQueue) leaf(u User) *member {
	if q == nil {
		return nil
	}
	if m := q.member(u); m != nil && m.children == nil {
		return m
	}
	return nil
}

// The errors are made out of line: what they take of the stack would make the
// stack of each new goroutine that ends a task grow.

// noLeaf says why leaf returned nil.
//
//go:noinline
func (q *FairQueue) noLeaf(op string, u User) error {
	if q.none() {
		return absent("queue")
	}
	if q.member(u) == nil {
		return badUser(op, u)
	}
	return refuse(ErrUser, "%s user %d: it is a group, want a tenant", op, u.slot)
}

//go:noinline
func badNeed(op string, u User, need *resources.Vector) error {
	return refuse(need.Check(), "%s of user %d: need", op, u.slot)
}

// badStart says why a need cannot be charged to a member.
//
//go:noinline
func (q *FairQueue) badStart(slot uint32, need *resources.Vector) error {
	if err := checkSome("start: need", *need); err != nil {
		return err
	}
	return refuse(resources.ErrQuantity, "start: user %d holds %s, a task of %s more is over 2^62", slot, plain(q.members[slot].held), plain(*need))
}

// badRun says why a Run cannot be started, ended or resized.
//
//go:noinline
func (q *FairQueue) badRun(op string, u User, run *Run) error {
	switch m := q.leaf(u); {
	case q.none():
		return absent("queue")
	case run == nil:
		return refuse(resources.ErrNil, "%s: run", op)
	case op == "start" && run.user != (User{}):
		return refuse(ErrHeld, "start: the task of the run runs already, for user %d", run.user.slot)
	case op != "start" && run.user == (User{}):
		return refuse(ErrHeld, "%s: the task of the run does not run", op)
	case m == nil:
		return q.noLeaf(op, u)
	default:
		return refuse(ErrHeld, "%s: user %d holds %s, less than a task of %s", op, u.slot, plain(m.held), plain(run.Need))
	}
}

// next returns the need of a tenant's next task, nil of a group.
func (m *member) next() *resources.Vector {
	if m.children != nil {
		return nil
	}
	return &m.need
}

// fits reports whether the next task of a tenant stays within its limit.
func (m *member) fits() bool { return !m.limited || fitsIn(&m.held, &m.need, &m.limit) }

// below reports whether a member is below its guarantee, with the next task; a
// group, without one. Kinds of which the guarantee has nothing do not count.
func (m *member) below(need *resources.Vector) bool {
	if !m.owed {
		return false
	}
	less := false
	for k, least := range m.guarantee {
		if least == 0 {
			continue
		}
		next := int64(0)
		if need != nil {
			next = need[k]
		}
		if m.held[k] > least-next {
			return false
		}
		less = less || m.held[k] < least
	}
	return less
}

// fitsIn reports whether held and need together are at most the limit.
func fitsIn(held, need, limit *resources.Vector) bool {
	for k := range held {
		if held[k] > limit[k]-need[k] {
			return false
		}
	}
	return true
}

// plain formats a vector without names.
func plain(v resources.Vector) string { return (*resources.Space)(nil).Format(v) }

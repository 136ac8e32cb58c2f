package drf

import (
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Run is one task of a tenant, between [FairQueue.Start] and [FairQueue.End]. The
// caller sets the need and keeps the Run, uncopied and unchanged, while the task
// runs. After End it may be used again.
type Run struct {
	Need resources.Vector // of the task, in base units

	user     User  // zero while the task does not run
	began    int64 // unknown if no tenant waited then
	expected int64
}

// Timed reports whether the length of the task is measured: a tenant waited when
// it started. Only then does the end of the task look at the time.
func (r *Run) Timed() bool { return r != nil && r.user != (User{}) && r.began != unknown }

// Start charges the tenant for a task that starts. Pick need not have returned the
// tenant. Run.Need is its need.
//
// Cost: O(d*(k + log n)), no allocation. Errors:
//
//   - [ErrUser], also for a group;
//   - [ErrEmpty] for a need of nothing;
//   - [resources.ErrQuantity] for an invalid need, or one that takes a tenant or group
//     beyond 2^62;
//   - [ErrHeld] for a Run that is in use;
//   - [resources.ErrNil] for a nil Run or queue.
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
	run.user, run.expected, run.began = u, m.expected, unknown
	if run.expected == unknown {
		run.expected = max(q.mean, 0)
	}
	if contended {
		run.began = int64(now)
	}
	q.turn++
	for at := u.slot; at != root; at = q.members[at].parent {
		var l *level
		if q.members[q.members[at].parent].children.waiting > 0 {
			l = q.serve(at, &run.Need)
		}
		ahead := q.charge(at, run) // which makes its place worse at most
		if l != nil {
			l.ahead += (q.members[at].byWeight(ahead) - l.ahead) / 8
		}
		if q.members[at].owed {
			q.rerank(at) // serve may have made it better
		}
	}
	if m.state == inOrder && !m.fits() {
		q.review(u.slot)
	}
	return nil
}

// startIdle is Start while no tenant waits, below the root: nothing is received
// then, and the clock is at zero. Start handles the other cases and the errors.
func (q *FairQueue) startIdle(m *member, run *Run) bool {
	need := &run.Need
	if !addable(&m.held, need) || nothing(need) {
		return false
	}
	run.expected = m.expected
	if run.expected == unknown {
		run.expected = max(q.mean, 0)
	}
	run.began = unknown
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

// serve moves the marks of the parent's order for the start of a child, before the
// charge. It returns the level of a start in the order, nil for one that a guarantee
// owes.
func (q *FairQueue) serve(slot uint32, need *resources.Vector) *level {
	m := &q.members[slot]
	g := q.members[m.parent].children
	if q.now-g.rebased > rebaseAfter {
		q.rebase(m.parent)
	}
	k, passed := g.mark(m.class), q.touch(m)
	owed := m.owed && m.below(need)
	moved := true
	var key, received float64
	switch {
	case m.state != inOrder:
		// A start without a wait is one that begins and ends now: idle time
		// earns nothing here either.
		q.fold(m)
		m.level, m.taken = 0, 0
		m.raise(q.entry(m.parent, m.class), q.kinds, passed)
	case owed:
		q.fold(m)
	default:
		key, received = m.raw(q.kinds, passed), m.byWeight(m.received(q.kinds, passed))
		if moved = m.level > 0 || key < k.levels[0].floor; moved {
			m.add(k.settleLevel(m, key, received) - key)
			m.taken = k.levels[m.level].shift
		}
	}
	l := &k.levels[m.level]
	if owed {
		// A start on a guarantee is owed whatever was received, so it moves no
		// mark. It does not put the member far behind later either.
		if most := l.served + g.slack(m.weight); m.raw(q.kinds, passed) > most {
			m.lower(most, q.kinds, passed)
		}
		return nil
	}
	if moved {
		key, received = m.raw(q.kinds, passed), m.byWeight(m.received(q.kinds, passed))
	}
	l.served = max(l.served, received)
	if first := q.first(&g.order); first != 0 && first != slot {
		if f := &q.members[first]; f.class == m.class && f.key < key {
			k.pass(m.level, received)
		}
	}
	return l
}

// charge adds a started task to a member. It returns Z of the kinds that the task
// needs, the largest.
func (q *FairQueue) charge(slot uint32, run *Run) (all int64) {
	m, need := &q.members[slot], &run.Need
	q.settle(m)
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
			sum.ahead += ahead
			all = max(all, sum.ahead)
		}
	}
	g := q.members[m.parent].children
	if g.waiting > 0 {
		g.typical += (float64(most) - g.typical) / 8
	}
	if q.kinds == 1 {
		return all
	}
	// A kind that the tenant used little so far is no credit without bound: no
	// kind stays further behind the largest than the slack.
	least := m.received(q.kinds, 0) - toSum(8*g.typical)
	for k := range m.sums[:q.kinds] {
		m.sums[k].settled = max(m.sums[k].settled, least)
	}
	return all
}

// End credits the tenant for a task that has ended.
//
// Cost: O(d*(k + log n)), no allocation. Errors:
//
//   - [ErrHeld] for a Run that is not in use, or of more than the tenant holds;
//   - [ErrUser] for a Run of another queue;
//   - [resources.ErrNil] for a nil Run or queue.
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
	if run.began != unknown {
		q.learn(&q.members[run.user.slot], max(int64(now)-run.began, 0))
	}
	for at := run.user.slot; at != root; at = q.members[at].parent {
		q.credit(at, &run.Need, run.expected)
		q.review(at)
	}
}

// Resize changes the need of a running task from now on. Errors and cost: as Start
// and End. An error changes nothing.
func (q *FairQueue) Resize(run *Run, need resources.Vector, now time.Duration) error {
	if run == nil {
		return q.badRun("resize", User{}, nil)
	}
	u, was := run.user, run.Need
	m := q.leaf(u)
	if m == nil || !resources.Fits(&was, &m.held) {
		return q.badRun("resize", u, run)
	}
	if err := self.Some("resize: need", need); err != nil {
		return err
	}
	for at := u.slot; at != root; at = q.members[at].parent {
		rest, _ := q.members[at].held.Sub(was)
		if !addable(&rest, &need) {
			return self.Refuse(resources.ErrQuantity, "resize: user %d holds %s, with %s in place of %s it is over 2^62",
				at, plain(q.members[at].held), plain(need), plain(was))
		}
	}
	began := run.began
	run.began = unknown // the task goes on: nothing is learned of its length
	if err := q.End(run, now); err != nil {
		return err
	}
	run.user, run.Need, run.began = u, need, began
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

// credit takes an ended task from a member. Its received service stays.
func (q *FairQueue) credit(slot uint32, need *resources.Vector, expected int64) {
	m := &q.members[slot]
	q.settle(m)
	for k := range m.held {
		m.held[k] -= need[k]
	}
	for k := range m.sums[:q.kinds] {
		sum := &m.sums[k]
		s := min(q.share(k, need[k]), sum.running)
		if s == 0 {
			continue
		}
		sum.running -= s
		sum.ahead = max(sum.ahead-product64(s, expected), 0)
		if m.held[k] == 0 { // nothing runs: drop the rounding errors
			sum.running, sum.ahead = 0, 0
		}
	}
}

// badStart returns the reason why a need cannot be charged to a member.
//
//go:noinline
func (q *FairQueue) badStart(slot uint32, need *resources.Vector) error {
	if err := self.Some("start: need", *need); err != nil {
		return err
	}
	return self.Refuse(resources.ErrQuantity, "start: user %d holds %s, a task of %s more is over 2^62", slot, plain(q.members[slot].held), plain(*need))
}

// badRun returns the reason why a Run cannot be started, ended or resized.
//
//go:noinline
func (q *FairQueue) badRun(op string, u User, run *Run) error {
	switch m := q.leaf(u); {
	case q.none():
		return self.Absent("queue")
	case run == nil:
		return self.Refuse(resources.ErrNil, "%s: run", op)
	case op == "start" && run.user != (User{}):
		return self.Refuse(ErrHeld, "start: the task of the run runs already, for user %d", run.user.slot)
	case op != "start" && run.user == (User{}):
		return self.Refuse(ErrHeld, "%s: the task of the run does not run", op)
	case m == nil:
		return q.noLeaf(op, u)
	default:
		return self.Refuse(ErrHeld, "%s: user %d holds %s, less than a task of %s", op, u.slot, plain(m.held), plain(run.Need))
	}
}

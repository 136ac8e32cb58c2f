package drf

import (
	"math"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Wait puts the tenant into the order with a task that needs at least this much, in
// base units. It waits until Park. Another call changes the need and keeps the
// tenant's place. A need of nothing leaves it to Pick's fits.
//
// A wait that begins while others wait starts at the service of the tenant that is
// served then, or at that of a waiting tenant that lacks room and needs no more. It starts
// at the tenant's own service if that is larger. Cost: O(d*(k + log n)), no allocation once
// there was as long a queue. While tenants lack room it is O(n) at most, as for
// [FairQueue.Pick]. Errors: [ErrUser], also for a group; [resources.ErrQuantity].
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
	q.enter(u.slot, false)
	q.reopen(u.slot)
	return nil
}

// Park ends the tenant's wait. It keeps the amounts that it holds. Cost:
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

// Pick returns the first waiting tenant in the order with a need that fits in most and
// for which fits returns true, or false if there is none. Most is a bound: no machine
// has more of any kind; nil is no bound. Fits is called in the order,
// once for a tenant, and must not change the queue; nil returns true for all.
// Pick changes no tenant's place: the caller starts a task and calls
// [FairQueue.Start], then Wait or Park.
//
// Tenants and groups below their guarantee come first, then those of a higher
// class, then the least key. Ties go to the one that was served longest ago, then
// to the one that began to wait first. A member at its limit, or throttled, is left
// out.
//
// Cost: O(d*(k + log n)) for each tenant that fits was called for. The key of a member
// may have grown past another since the member was last started, ended or waiting. Each
// such member adds as much, n members at most. Where most has room for the least need of
// each kind but for few whole needs, it is O(n). No allocation once there was as long a
// walk.
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
	u, ok, _ := q.pick(root, 0, most, fits)
	return u, ok
}

func anyone(User) bool { return true }

// pick walks the children of a group in their order. Depth is that of the group, 0
// for the root.
//
// If it finds no tenant, bound is the largest depth of a group such that limits hold
// back each tenant here: limits of that group and of groups below. It is 0 if a tenant
// lacked room.
func (q *FairQueue) pick(group uint32, depth int, most *resources.Vector, fits func(User) bool) (u User, ok bool, bound int) {
	t := &q.members[group].children.order
	from := len(q.walked)
	bound = math.MaxInt
	for !ok {
		slot := q.firstWithin(t, most)
		if slot == 0 {
			if t.any() {
				bound = 0
			}
			break
		}
		m := &q.members[slot]
		below := 0
		switch {
		case m.children == nil:
			if below = q.overLimit(slot, depth); below == 0 {
				u = User{slot, m.gen}
				ok = fits(u)
			}
		case m.limited && !fitsIn(&m.held, m.leastNeed(), &m.limit):
			below = depth + 1 // no child has less need
		default:
			u, ok, below = q.pick(slot, depth+1, most, fits)
		}
		switch {
		case ok:
		case below > depth:
			q.hold(slot)
		default:
			bound = min(bound, below)
			q.hide(t, slot)
			q.walked = append(q.walked, slot)
		}
	}
	for i := len(q.walked) - 1; i >= from; i-- {
		q.show(t, q.walked[i])
	}
	q.walked = q.walked[:from]
	return u, ok, bound
}

// overLimit returns the depth of the lowest group above a tenant with a limit that the
// next task exceeds, 0 if there is none. Depth is that of its parent.
func (q *FairQueue) overLimit(slot uint32, depth int) int {
	need := &q.members[slot].need
	for at := q.members[slot].parent; at != root; at = q.members[at].parent {
		if m := &q.members[at]; m.limited && !fitsIn(&m.held, need, &m.limit) {
			return depth
		}
		depth--
	}
	return 0
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

// The errors are made out of line. Their stack frames would make the stack grow in
// each new goroutine that ends a task.

// noLeaf returns the reason why leaf returned nil.
//
//go:noinline
func (q *FairQueue) noLeaf(op string, u User) error {
	if q.none() {
		return self.Absent("queue")
	}
	if q.member(u) == nil {
		return badUser(op)
	}
	return self.Refuse(ErrUser, "%s user %d: it is a group, want a tenant", op, u.slot)
}

//go:noinline
func badNeed(op string, u User, need *resources.Vector) error {
	return self.Refuse(need.Check(), "%s of user %d: need", op, u.slot)
}

// next returns the need of a tenant's next task, nil of a group.
func (m *member) next() *resources.Vector {
	if m.children != nil {
		return nil
	}
	return &m.need
}

// fits reports whether the next task of a tenant stays within its limit. Of a group
// Pick finds out.
func (m *member) fits() bool {
	return m.children != nil || !m.limited || fitsIn(&m.held, &m.need, &m.limit)
}

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

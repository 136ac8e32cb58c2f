package pool

import "github.com/cellsched/cellsched/resources"

// overLimit returns the tenant or group with a limit that a need would exceed, or nil.
// Promises to others count. A request that is owed room has a reservation of its own.
func (t *Tenant) overLimit(need *resources.Vector, own *reservation) *Tenant {
	for ; t != nil; t = t.parent {
		if !t.set.Limited {
			continue
		}
		held := t.pool.tenants.fair.Held(t.user)
		if t.promises > 0 {
			held = held.Add(t.claimed(need, own))
		}
		if rs := t.pool.replicas; rs != nil && !rs.covers(t, &held, need) {
			return t
		}
		for k := range need {
			if held[k] > t.set.Limit[k]-need[k] {
				return t
			}
		}
	}
	return nil
}

// heldBack reports whether a need is held back by a limit or a rate of t or of its
// groups.
func (t *Tenant) heldBack(need *resources.Vector) bool {
	return t.throttled() > 0 || !t.within(need)
}

// within reports whether a need stays within the limits of t and its groups.
func (t *Tenant) within(need *resources.Vector) bool { return t.overLimit(need, nil) == nil }

// tooLow returns the tenant or group with a limit below a need, or nil. A need that is
// within all limits can be served once enough of the others is released.
func (t *Tenant) tooLow(need *resources.Vector) *Tenant {
	for ; t != nil; t = t.parent {
		if t.set.Limited && !resources.Fits(need, &t.set.Limit) {
			return t
		}
	}
	return nil
}

// refuseAbove refuses the requests of t, or below it, that its limit has come below:
// they would wait for ever. Called with mu held, after a tick.
func (t *Tenant) refuseAbove() {
	for c := range t.below() {
		for w := c.first; w != nil; {
			next := w.next
			if !resources.Fits(&w.need, &t.set.Limit) {
				t.pool.admission.refuseWaiter(w, &impossibleError{c, w.need, t, t.set.Limit})
			}
			w = next
		}
	}
}

// excess is the amount by which a promise would exceed the limit of a tenant or group.
type excess struct {
	of *Tenant
	by resources.Vector // no kind below 0
}

// overPromise returns a tenant or group with a limit that a promise to w would exceed, or
// nil.
func (w *waiter) overPromise() *Tenant {
	if all, _ := w.excesses(nil); all != nil {
		return all[0].of
	}
	return nil
}

// excesses returns the limits that a promise to w would exceed. It reports false if
// preemption by the guarantee of g cannot help, in two cases. The limit is that of g or
// of a tenant in it, which gives nothing up for itself; or the guarantee does not name
// the kind. A nil g is no such guarantee.
func (w *waiter) excesses(g *Tenant) (all []excess, ok bool) {
	for t := w.tenant; t != nil; t = t.parent {
		if !t.set.Limited {
			continue
		}
		held := t.pool.tenants.fair.Held(t.user)
		e, some := excess{of: t}, false
		for k := range held {
			// In this order no amount overflows: a limit may be 2^62.
			more := held[k] - t.returning[k] - t.set.Limit[k] + t.promised[k] + w.need[k]
			if more <= 0 {
				continue
			}
			if g != nil && (t.isIn(g) || g.guarantee[k] == 0) {
				return nil, false
			}
			e.by[k], some = more, true
		}
		if some {
			all = append(all, e)
		}
	}
	return all, true
}

// claimed returns the promises within t beyond the returning room of preempted leases. It
// leaves out own: the room that is owed to that reservation, and the leases that were
// preempted for it.
func (t *Tenant) claimed(need *resources.Vector, own *reservation) resources.Vector {
	claimed := sumOf(&t.promised, &t.returning, -1)
	if own != nil {
		claimed = sumOf(&claimed, need, -1)
		for _, l := range own.taken {
			if r := l.live(); r != nil && !r.late && r.tenant.isIn(t) {
				claimed = sumOf(&claimed, &r.run.Need, 1)
			}
		}
	}
	for k := range claimed {
		claimed[k] = max(0, claimed[k])
	}
	return claimed
}

// heldBack reports whether w is held back by a limit or a rate.
func (w *waiter) heldBack() bool {
	t := w.tenant
	if rs := t.pool.replicas; rs != nil && w.kept == nil && rs.yields(t, &w.need) {
		return true
	}
	if !t.bounded {
		return false
	}
	if w.isPromised() {
		return t.unpaid() || t.overLimit(&w.need, w.kept) != nil
	}
	return t.heldBack(&w.need)
}

// return adds an amount to what preempted leases of t will leave, or takes it away.
func (t *Tenant) returns(amount *resources.Vector, sign int64) {
	for ; t != nil; t = t.parent {
		t.returning = sumOf(&t.returning, amount, sign)
	}
}

// review withdraws promises within t, the latest first, until the limit and the rate
// of t leave room for the others.
func (t *Tenant) review() {
	p := t.pool
	for i := len(p.promises.list) - 1; i >= 0 && t.promises > 0 && t.overPromised(); i-- {
		if w := p.promises.list[i]; w.tenant.isIn(t) {
			p.reserving.unreserve(w)
		}
	}
}

// overPromised reports whether more is promised within t than its limit and its rate
// allow.
func (t *Tenant) overPromised() bool {
	if t.bucket.rate > 0 && t.bucket.free < 0 {
		return true
	}
	if !t.set.Limited {
		return false
	}
	held := t.pool.tenants.fair.Held(t.user)
	for k := range held {
		if t.promised[k] > 0 && held[k]-t.returning[k]-t.set.Limit[k]+t.promised[k] > 0 {
			return true
		}
	}
	return false
}

// Promises. Room that is owed to a request counts towards the limits of its tenant and
// groups, and takes a token of their rates that is not promised yet. So no guarantee
// takes back more than may start, and no other request takes the rest of a limit
// meanwhile.
//
// Invariant, for each limit and kind: held - returning + promised ≤ limit, unless the
// limit was lowered below held. Returning is the room of preempted leases.

// promise counts the need of w, which is owed room, for its tenant and groups.
func (w *waiter) promise() {
	for g := w.tenant; g != nil; g = g.parent {
		g.promised = g.promised.Add(w.need)
		g.promises++
		if b := &g.bucket; b.rate > 0 {
			b.fill(g.pool.at)
			b.free--
		}
	}
	if w.tenant.bounded {
		w.tenant.throttle()
	}
}

// unpromise does the reverse of promise. The tokens are free again unless the
// request has started with them.
func (w *waiter) unpromise() {
	for g := w.tenant; g != nil; g = g.parent {
		g.promised, _ = g.promised.Sub(w.need)
		g.promises--
		if b := &g.bucket; b.rate > 0 && !w.kept.spent {
			b.fill(g.pool.at)
			if b.free++; !w.kept.renewed {
				b.free = min(b.free, b.burst)
			}
		}
	}
	if w.tenant.bounded && w.tenant.throttle() {
		w.tenant.pool.promises.withdrawn = true // its requests are in the order again
	}
}

// isPromised reports whether a guarantee has room taken back for w.
func (w *waiter) isPromised() bool { return w.kept != nil && w.kept.owed }

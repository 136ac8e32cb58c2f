package drf

import "github.com/cellsched/cellsched/resources"

// enter puts a member into the order of its parent, and the parent into that of
// its own. A member that begins to wait enters at the present service, or beside one that
// lacks room and needs no more. A member that a
// limit or a rate held back comes back at its own key. That is below the service of
// the last start by the slack at most. One of a level below 0 comes back to that level.
// A member that still is held back stays out.
func (q *FairQueue) enter(slot uint32, resumed bool) {
	m := &q.members[slot]
	g := q.members[m.parent].children
	q.fold(m)
	switch k := g.mark(m.class); {
	case resumed:
		m.raise(k.levels[m.level].served-g.slack(m.weight), q.kinds, q.touch(m))
	case m.level > 0:
		m.raise(k.levels[m.level].served, q.kinds, q.touch(m))
	default:
		level := q.entry(m.parent, m.class)
		if level*m.weight > 1<<58 && q.now-g.rebased > rebaseAfter>>10 {
			q.rebase(m.parent)
			level = q.entry(m.parent, m.class)
		}
		passed := q.touch(m)
		if f := q.passedOver(g, m.class, m.leastNeed()); f != nil && m.raw(q.kinds, passed) < level {
			level = q.servedAt(k, f)
			m.level, m.taken = f.level, k.levels[f.level].shift
		}
		m.raise(level, q.kinds, passed)
	}
	if m.throttled || !m.fits() {
		m.state = atLimit
		return
	}
	m.state = inOrder
	q.refresh(slot)
	if g.waiting++; g.waiting == 1 {
		q.contended++
		g.since, g.rebased = q.now, q.now
	}
	q.insert(&g.order, slot)
	if m.parent == root {
		return
	}
	q.rewant(m.parent)
	if parent := &q.members[m.parent]; parent.state == notWaiting {
		q.turn++
		parent.since = q.turn
		q.enter(m.parent, resumed)
	}
}

// entry returns the service by weight at which a member begins to wait in a class of
// a group. It is the largest at which a child of the class was served, or that of
// the group's first waiting child where this is more. That child counts only if it is
// of the class and not below its guarantee. The result is noted as served.
func (q *FairQueue) entry(group uint32, class int32) float64 {
	g := q.members[group].children
	k := g.mark(class)
	// One below its guarantee, or of a higher class, is first whatever it has
	// received, so its service tells nothing of the class.
	if first := q.first(&g.order); first != 0 && !q.members[first].urgent && q.members[first].class == class {
		k.levels[0].served = max(k.levels[0].served, q.servedAt(k, &q.members[first]))
	}
	return k.levels[0].served
}

// servedAt returns the received service by weight of a child, with the shift of its level.
func (q *FairQueue) servedAt(k *marks, m *member) float64 {
	passed := q.touch(m)
	received := m.byWeight(m.received(q.kinds, passed))
	if m.level > 0 {
		raw := m.raw(q.kinds, passed)
		received += k.shifted(m, raw) - raw
	}
	return received
}

// passedOver returns the first waiting child of a class that needs at most this much and
// that others with more service have passed, or nil.
//
// It lacked room, and a child that needs as much or more would have lacked room with its
// key, too. So one that begins to wait begins beside it, and not at the service of
// those that passed. It is never ahead of a child that waited throughout for as little.
func (q *FairQueue) passedOver(g *children, class int32, most *resources.Vector) *member {
	passed := g.mark(class).levels[0].passed
	if passed == 0 {
		return nil // no child lacked room
	}
	slot := q.firstWithin(&g.order, most)
	f := &q.members[slot]
	if slot == 0 || f.urgent || f.class != class || f.key >= passed {
		return nil
	}
	return f
}

// leave takes a waiting member out of the order of its parent. If it was the last, the
// parent leaves the order of its own parent. When none waits an epoch has ended.
func (q *FairQueue) leave(slot uint32) {
	m := &q.members[slot]
	m.state = notWaiting
	g := q.members[m.parent].children
	q.drop(&g.order, slot)
	if m.parent != root {
		q.rewant(m.parent)
	}
	if g.waiting--; g.waiting > 0 { // the order may hide some of them from Pick
		return
	}
	q.contended--
	g.epoch++
	if m.parent == root {
		return
	}
	if parent := &q.members[m.parent]; parent.state == inOrder {
		q.leave(m.parent)
	} else {
		parent.state = notWaiting
	}
}

// hold leaves a member out of the order that waits: its limit or rate holds it back,
// or all children that wait.
func (q *FairQueue) hold(slot uint32) {
	m := &q.members[slot]
	if m.state == inOrder { // it has left already if its last child did
		q.leave(slot)
	}
	if m.children == nil || m.children.waiting > 0 {
		m.state = atLimit
	}
}

// review puts a member into the order or takes it out, after its limit, its
// need or the amount that it holds has changed.
func (q *FairQueue) review(slot uint32) {
	m := &q.members[slot]
	switch {
	case m.state == inOrder && (m.throttled || !m.fits()):
		q.hold(slot)
	case m.state == atLimit && !m.throttled && m.fits():
		// Whether a child of a group fits below its limit, Pick finds out.
		q.enter(slot, true)
	default:
		q.rerank(slot)
	}
	q.reopen(slot)
}

// reopen puts the groups above a member into the order again. They may have been
// left out because of its need.
func (q *FairQueue) reopen(slot uint32) {
	for at := q.members[slot].parent; at != root; at = q.members[at].parent {
		if m := &q.members[at]; m.state == atLimit && !m.throttled {
			q.enter(at, true)
		}
	}
}

package drf

// enter puts a member into the order of its parent, and the parent into that of
// its own. A member that a limit held back comes back at its own key, less than
// others' by the slack at most; one that begins to wait, at the present service.
func (q *FairQueue) enter(slot uint32, resumed bool) {
	m := &q.members[slot]
	q.touch(slot)
	q.touch(m.parent)
	g := q.members[m.parent].children
	level := q.entry(m.parent, m.class)
	if level*m.weight > 1<<58 && q.clock > rebaseAfter>>10 {
		q.rebase()
		level = q.entry(m.parent, m.class)
	}
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

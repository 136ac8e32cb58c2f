package pool

import (
	"cmp"
	"slices"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// placement is the search for machines: where a request of one need or several has room
// now, or would have it in an empty pool. Its cost for requests of several needs, and for
// those that prefer machines, is O(machines) a try.
type placement struct {
	*core

	topology *locality.Topology
	policy   delay.Policy
	found    found  // by the last call of turn that returned true
	relaxed  func() // has requests tried again that prefer machines
}

// found is the waiter that turn has found room for, and where.
type found struct {
	w     *waiter
	node  int
	level locality.Level
}

// fits looks for room for one waiter, and notes it. A task to be dropped needs
// none.
func (pm *placement) fits(w *waiter) bool {
	if w.task.fn != nil && w.expired() != nil {
		pm.found = found{w: w}
		return true
	}
	if w.near() != nil || w.many() != nil {
		return pm.fitsFar(w)
	}
	var node int
	if w.kept != nil && pm.ownRoom(w, int(w.kept.nodes[0]), &w.need) {
		node = int(w.kept.nodes[0])
	} else {
		node = pm.find(w.tenant, &w.need)
	}
	pm.found = found{w, node, locality.NodeLocal}
	return node >= 0
}

// ownRoom reports whether a need fits on a machine in room that may be reserved
// for w.
func (pm *placement) ownRoom(w *waiter, node int, need *resources.Vector) bool {
	m := &pm.books.machines[node]
	if !m.grants() {
		return false
	}
	if w.isOwed(node) {
		return w.kept.missing == 0
	}
	if m.keeper != nil && m.keeper != w {
		return false
	}
	free := m.unowed()
	return resources.Fits(need, &free)
}

// find returns a machine with room for a need of t, or -1.
func (pm *placement) find(t *Tenant, need *resources.Vector) int {
	node := pm.books.find(need)
	if pm.books.keepers == 0 || node < 0 || pm.open(node, t) {
		return node
	}
	for range len(pm.books.machines) { // past machines that t may not use
		pm.books.from = node + 1
		if node = pm.books.find(need); node < 0 || pm.open(node, t) {
			return node
		}
	}
	return -1
}

// open reports whether a machine may be used by t although it may be kept for
// another waiter.
func (pm *placement) open(node int, t *Tenant) bool {
	w := pm.books.machines[node].keeper
	if w == nil || !w.kept.older {
		return true // reserved room is no room
	}
	expected, known := pm.tenants.fair.Expected(t.user)
	return !known || pm.at+expected <= w.kept.until || pm.at >= w.kept.until && expected <= pm.at-w.kept.at
}

// several needs, and those that prefer machines; their cost is O(machines) a try.

// fitsFar looks for room for a waiter of several needs or with preferences, and
// notes it. A waiter that would rather wait for a nearer machine is woken when it
// no longer would.
func (pm *placement) fitsFar(w *waiter) bool {
	if w.near() != nil {
		if pm.unchanged(w) {
			return false
		}
		w.near().delayed, w.near().tried = false, pm.books.epoch
	}
	var level locality.Level
	if w.many() != nil {
		w.many().nodes = pm.pack(w)
		if w.many().nodes == nil {
			return false
		}
		level = pm.farthest(w, w.many().nodes)
		pm.found = found{w: w}
	} else {
		var node int
		if node, level = pm.nearest(w); node < 0 {
			return false
		}
		pm.found = found{w, node, level}
	}
	return w.near() == nil || pm.takes(w, level)
}

// nearest returns the machine with room for w that is nearest to what it
// prefers, the lowest number among equals, or -1.
func (pm *placement) nearest(w *waiter) (best int, level locality.Level) {
	best = -1
	for node := range pm.books.machines {
		if !pm.usable(w, node, &w.need) {
			continue
		}
		if l := pm.level(w, locality.Node(node)); best < 0 || l < level {
			best, level = node, l
		}
	}
	return best, level
}

// usable reports whether a need of w may be placed on a machine now.
func (pm *placement) usable(w *waiter, node int, need *resources.Vector) bool {
	m := &pm.books.machines[node]
	if m.keeper == w || w.isOwed(node) {
		return pm.ownRoom(w, node, need)
	}
	return resources.Fits(need, &m.room) && pm.open(node, w.tenant) && pm.acceptableNode(w, locality.Node(node))
}

// acceptableNode reports whether w may be on a machine at all.
func (pm *placement) acceptableNode(w *waiter, node locality.Node) bool {
	return w.near() == nil || !w.near().required || pm.level(w, node) == locality.NodeLocal
}

// acceptable reports whether w would take a machine now.
func (pm *placement) acceptable(w *waiter, node locality.Node) bool {
	if w.near() == nil {
		return true
	}
	if w.near().required {
		return pm.acceptableNode(w, node)
	}
	return pm.level(w, node) <= max(w.near().best, w.near().job.Allowed(time.Now()))
}

// level returns the distance of a machine from the machines that w prefers.
func (pm *placement) level(w *waiter, node locality.Node) locality.Level {
	if w.near() == nil {
		return locality.NodeLocal
	}
	return pm.topology.Level(node, w.near().prefer...)
}

// farthest returns the level of the node that is farthest from the machines that w prefers.
func (pm *placement) farthest(w *waiter, nodes []locality.Node) (level locality.Level) {
	for _, node := range nodes {
		level = max(level, pm.level(w, node))
	}
	return level
}

// takes offers w a place at a level and reports whether it takes it.
func (pm *placement) takes(w *waiter, level locality.Level) bool {
	n, now := w.near(), time.Now()
	if n.offered = level; level <= n.best {
		level = locality.NodeLocal // nearer there is none
	}
	if d, err := n.job.Offer(now, level); err == nil && d.Launch {
		return true
	}
	n.delayed, n.kept = true, pm.books.keepers > 0
	if at, ok := n.job.NextRelax(now); ok {
		setTimer(&n.relax, at.Sub(now), func() {
			pm.mu.Lock()
			defer pm.mu.Unlock()
			pm.tick()
			if !n.over { // w may serve another request by now
				n.delayed = false // so that it is tried, and wakes again if need be
				pm.relaxed()
			}
		})
	}
	return false
}

// unchanged reports whether w, which waited for its data when it was tried last, would
// find the same again. Then nothing was released since, or only on a machine that it does
// not want yet.
func (pm *placement) unchanged(w *waiter) bool {
	n := w.near()
	if !n.delayed || n.kept || n.tried < pm.books.epoch && (n.tried+1 < pm.books.epoch || w.many() != nil) {
		return false
	}
	allowed := max(n.best, n.job.Allowed(time.Now()))
	if n.tried == pm.books.epoch {
		return allowed < n.offered
	}
	if pm.level(w, pm.books.freed) > allowed && allowed < n.offered {
		n.tried = pm.books.epoch
		return true
	}
	return false
}

// pack finds room for all needs of w at once, nil if there is none: on machines
// near what it prefers first, else on those that are reserved for it. Called with
// the pool's mutex held.
func (pm *placement) pack(w *waiter) []locality.Node {
	room := make([]resources.Vector, len(pm.books.machines))
	for i := range room {
		m := &pm.books.machines[i]
		switch {
		case !m.grants() || !pm.acceptableNode(w, locality.Node(i)):
		case m.keeper == w:
			room[i] = m.unowed()
		case m.keeper == nil || pm.open(i, w.tenant):
			room[i] = m.room
		}
	}
	if w.isPromised() && w.kept.missing == 0 && !slices.ContainsFunc(w.kept.nodes, pm.books.grantsNone) {
		return w.kept.nodes
	}
	if w.kept != nil && !w.kept.owed {
		// First fit can fail where there is room, and does not even get better as
		// more becomes free. A plan that holds in an empty pool does.
		left := slices.Clone(room)
		if place(w.many().needs, left, w.kept.nodes) {
			return w.kept.nodes
		}
	}
	if nodes := pm.books.firstFit(w.many().needs, slices.Clone(room), pm.byLevel(w)); nodes != nil || w.near() == nil {
		return nodes
	}
	return pm.books.firstFit(w.many().needs, room, pm.books.byNumber())
}

// empty returns where w's needs go if all machines are empty and none drains:
// near what it prefers, or else by number. Nil if they do not fit.
func (pm *placement) empty(w *waiter) []locality.Node {
	if nodes := pm.packing(w, pm.byLevel(w), true, nil); nodes != nil {
		return nodes
	}
	return pm.packing(w, pm.books.byNumber(), true, nil)
}

// packing returns a machine for each of w's needs, as if machines were empty but for
// taken, by node. They are tried in an order; draining includes those that drain. It
// returns nil if the needs do not fit.
func (pm *placement) packing(w *waiter, order []locality.Node, draining bool, taken map[uint32]resources.Vector) []locality.Node {
	needs := []resources.Vector{w.need}
	if w.many() != nil {
		needs = w.many().needs
	}
	room := make([]resources.Vector, len(pm.books.machines))
	for i := range room {
		if m := &pm.books.machines[i]; !m.gone && (draining || !m.draining) && pm.acceptableNode(w, locality.Node(i)) {
			room[i], _ = m.capacity.Sub(taken[uint32(i)])
		}
	}
	return pm.books.firstFit(needs, room, order)
}

// byLevel returns all machines, ordered by distance from the machines that w prefers.
func (pm *placement) byLevel(w *waiter) []locality.Node {
	order := pm.books.byNumber()
	if w.near() != nil {
		slices.SortStableFunc(order, func(a, b locality.Node) int { return cmp.Compare(pm.level(w, a), pm.level(w, b)) })
	}
	return order
}

package pool

import (
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// All of this file is called with the pool's mutex held. It serves requests of
// several needs, and those that prefer machines; their cost is O(machines) a try.

// fitsFar looks for room for a waiter of several needs or with preferences, and
// notes it. A waiter that would rather wait for a nearer machine is woken when it
// no longer would.
func (p *Pool) fitsFar(w *waiter) bool {
	if w.near() != nil {
		if p.unchanged(w) {
			return false
		}
		w.near().delayed, w.near().tried = false, p.epoch
	}
	var level locality.Level
	if w.many() != nil {
		w.many().nodes = p.pack(w)
		if w.many().nodes == nil {
			return false
		}
		level = p.farthest(w, w.many().nodes)
		p.found = found{w: w}
	} else {
		var node int
		if node, level = p.nearest(w); node < 0 {
			return false
		}
		p.found = found{w, node, level}
	}
	return w.near() == nil || p.takes(w, level)
}

// nearest returns the machine with room for w that is nearest to what it
// prefers, the lowest number among equals, or -1.
func (p *Pool) nearest(w *waiter) (best int, level locality.Level) {
	best = -1
	for node := range p.books.machines {
		if !p.usable(w, node, &w.need) {
			continue
		}
		if l := p.level(w, locality.Node(node)); best < 0 || l < level {
			best, level = node, l
		}
	}
	return best, level
}

// usable reports whether a need of w may be placed on a machine now.
func (p *Pool) usable(w *waiter, node int, need *resources.Vector) bool {
	m := &p.books.machines[node]
	if m.keeper == w || w.isOwed(node) {
		return p.ownRoom(w, node, need)
	}
	return resources.Fits(need, &m.room) && p.open(node, w.tenant) && p.acceptableNode(w, locality.Node(node))
}

// acceptableNode reports whether w may be on a machine at all.
func (p *Pool) acceptableNode(w *waiter, node locality.Node) bool {
	return w.near() == nil || !w.near().required || p.level(w, node) == locality.NodeLocal
}

// acceptable reports whether w would take a machine now.
func (p *Pool) acceptable(w *waiter, node locality.Node) bool {
	if w.near() == nil {
		return true
	}
	if w.near().required {
		return p.acceptableNode(w, node)
	}
	return p.level(w, node) <= max(w.near().best, w.near().job.Allowed(time.Now()))
}

// level returns how far a machine is from those that w prefers.
func (p *Pool) level(w *waiter, node locality.Node) locality.Level {
	if w.near() == nil {
		return locality.NodeLocal
	}
	return p.topology.Level(node, w.near().prefer...)
}

// farthest returns the level of the node that is farthest from what w prefers.
func (p *Pool) farthest(w *waiter, nodes []locality.Node) (level locality.Level) {
	for _, node := range nodes {
		level = max(level, p.level(w, node))
	}
	return level
}

// takes offers w a place at a level and reports whether it takes it.
func (p *Pool) takes(w *waiter, level locality.Level) bool {
	n, now := w.near(), time.Now()
	if n.offered = level; level <= n.best {
		level = locality.NodeLocal // nearer there is none
	}
	if d, err := n.job.Offer(now, level); err == nil && d.Launch {
		return true
	}
	n.delayed, n.kept = true, p.keepers > 0
	if at, ok := n.job.NextRelax(now); ok {
		if n.relax == nil {
			n.relax = time.AfterFunc(at.Sub(now), func() {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.tick()
				if !n.over { // w may serve another request by now
					n.delayed = false // so that it is tried, and wakes again if need be
					p.relaxed()
				}
			})
		} else {
			n.relax.Reset(at.Sub(now))
		}
	}
	return false
}

// unchanged reports whether w, which waited for its data when it was tried last, would
// find the same again. Then nothing was released since, or only on a machine that it does
// not want yet.
func (p *Pool) unchanged(w *waiter) bool {
	n := w.near()
	if !n.delayed || n.kept || n.tried < p.epoch && (n.tried+1 < p.epoch || w.many() != nil) {
		return false
	}
	allowed := max(n.best, n.job.Allowed(time.Now()))
	if n.tried == p.epoch {
		return allowed < n.offered
	}
	if p.level(w, p.freed) > allowed && allowed < n.offered {
		n.tried = p.epoch
		return true
	}
	return false
}

// delayed reports whether w waits for a nearer machine and for nothing else.
func (w *waiter) delayed() bool { return w.near() != nil && w.near().delayed }

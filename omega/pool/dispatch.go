package pool

import (
	"cmp"
	"slices"
	"time"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// All of this file is called with the pool's mutex held.
//
// Invariant, whenever the mutex is free: no waiter can be placed in its turn
// in room that is not kept back for others. Room appears by a release, waiters
// by an Acquire, wider bounds by a timer, another order by SetWeight; each sees
// to it before it lets go of the mutex.

// everything is more than any need.
var everything = resources.Vector{
	resources.MaxQuantity, resources.MaxQuantity, resources.MaxQuantity, resources.MaxQuantity,
	resources.MaxQuantity, resources.MaxQuantity, resources.MaxQuantity, resources.MaxQuantity,
}

// outcome is what came of trying to place a waiter.
type outcome uint8

const (
	placed outcome = iota
	noRoom         // it fits nowhere now
	tooFar         // it fits, and waits for a machine nearer to its data
)

// key returns a user's tenant; u is in the heap.
func (p *Pool) key(u drf.User) *tenant {
	t, _ := p.heap.Key(u)
	return t
}

// await tells the heap what a tenant waits for. Any one need of its first
// waiter will do, since none is granted before that fits.
func (p *Pool) await(t *tenant) {
	if w := t.head(); w != nil {
		_ = p.heap.Demand(t.user, w.needs[0]) // check has refused what it would
	} else {
		_ = p.heap.Park(t.user)
	}
}

// dispatch serves waiters until none can be placed in its turn: the poorest
// tenant first, among equals the one that was served longest ago. For a tenant
// that finds no room, room is kept back from richer ones.
//
// Cost: O(log tenants) where nobody's need fits in what is free and not kept
// back; else O(log tenants + machines) for each tenant that is poorer than the
// last one whose need might, and a few ns for each waiter that waits for its
// data.
func (p *Pool) dispatch() {
	if p.waiting == 0 {
		return
	}
	clear(p.held)
	p.holding = false
	var aside []*tenant
	for {
		if _, ok := p.heap.Pick(p.bound()); !ok {
			break
		}
		next, _ := p.heap.Pick(everything)
		t := p.key(next)
		switch p.turn(t) {
		case placed:
			continue
		case noRoom:
			p.hold(t.head())
		}
		_ = p.heap.Park(next) // until the others had their turn
		aside = append(aside, t)
	}
	for _, t := range aside {
		p.await(t)
	}
}

// room returns what is free on a node and not kept back.
func (p *Pool) room(node locality.Node) resources.Vector {
	free, _ := p.sched.Snapshot().Free(p.machines[node])
	if p.count[node] == maxLeases {
		return resources.Vector{}
	}
	held := &p.held[node]
	for k := range free {
		free[k] = max(0, free[k]-held[k])
	}
	return free
}

// bound returns, kind by kind, the most room on any machine: what does not fit
// in that fits nowhere.
func (p *Pool) bound() (v resources.Vector) {
	for node := range p.machines {
		v = v.Max(p.room(locality.Node(node)))
	}
	return v
}

// hold keeps room back for a waiter that fits nowhere. What bounds its wait,
// once it is its turn, is the longest lease on the machines chosen: at the
// latest it is placed when they are empty.
//
// The machine of a single need may be chosen anew each time: what is missing
// there only gets less from one dispatch to the next, unless a poorer tenant
// takes the room. Several needs could swing to and fro between machines, so
// theirs are chosen once, by pack.
func (p *Pool) hold(w *waiter) {
	if len(w.needs) == 1 {
		w.awaits = p.plan(w)
	}
	p.holding = true
	for i, node := range w.awaits {
		p.held[node] = p.held[node].Add(w.needs[i])
	}
}

// plan returns where w's needs should go once there is room: on machines near
// enough to its data, where the least is missing.
func (p *Pool) plan(w *waiter) []locality.Node {
	missing := make([]float64, len(p.machines))
	far := make([]int, len(p.machines))
	allowed := max(w.best, w.job.Allowed(time.Now()))
	for i, m := range p.machines {
		free, _ := p.sched.Snapshot().Free(m)
		for k, need := range w.needs[0] {
			if short := need + p.held[i][k] - free[k]; need > 0 && short > 0 {
				missing[i] = max(missing[i], float64(short)/float64(max(p.capacity[i][k], 1)))
			}
		}
		if p.topology.Level(locality.Node(i), w.prefer...) > allowed {
			far[i] = 1
		}
	}
	order := p.nodes()
	slices.SortStableFunc(order, func(a, b locality.Node) int {
		return cmp.Or(far[a]-far[b], cmp.Compare(missing[a], missing[b]))
	})
	if nodes := p.packing(w.needs, order); nodes != nil {
		return nodes
	}
	return p.packing(w.needs, p.nodes()) // it packs so, or was refused
}

// turn serves one waiter of t: the first, or, if that waits for its data, the
// first with the same need that does not.
func (p *Pool) turn(t *tenant) outcome {
	head := t.head()
	for w := range t.waiters() {
		if w != head && !head.alike(w) {
			break
		}
		if p.unchanged(w) {
			continue
		}
		switch p.try(w) {
		case placed:
			p.serve(w)
			return placed
		case noRoom:
			return noRoom
		}
	}
	return tooFar
}

// unchanged tells whether w, which waited for its data when it was tried last,
// would find the same again: nothing was released since, or only what it does
// not want yet.
func (p *Pool) unchanged(w *waiter) bool {
	// What was kept back for others then may no longer be, without a release.
	if !w.delayed || w.kept || w.tried < p.epoch && (w.tried+1 < p.epoch || len(w.needs) > 1) {
		return false
	}
	allowed := max(w.best, w.job.Allowed(time.Now()))
	if w.tried == p.epoch {
		return allowed < w.offered
	}
	if p.topology.Level(p.freed, w.prefer...) > allowed && allowed < w.offered {
		w.tried = p.epoch
		return true
	}
	return false
}

// serve ends the wait of w, which was placed.
func (p *Pool) serve(w *waiter) {
	w.tenant.waited += time.Since(w.since)
	p.leave(w)
	w.finish()
}

// try places w if it can and makes its leases.
func (p *Pool) try(w *waiter) outcome {
	w.delayed, w.tried = false, p.epoch
	if len(w.needs) > 1 {
		nodes := p.pack(w)
		switch {
		case nodes == nil:
			return noRoom
		case !p.near(w, p.farthest(w, nodes)):
			return tooFar
		}
		if w.leases = p.grantAll(w, nodes); w.leases == nil {
			return noRoom
		}
		return placed
	}
	node, level, ok := p.find(w.needs[0], w.prefer)
	if !ok {
		return noRoom
	}
	if !p.near(w, level) {
		return tooFar
	}
	w.leases = append(w.lease[:0], p.grant(w.tenant, w.needs[0], node, level))
	return placed
}

// near offers w a place at that level and reports whether it takes it. If it
// would rather wait, it is woken when it no longer would.
func (p *Pool) near(w *waiter, level locality.Level) bool {
	now := time.Now()
	if w.offered = level; level <= w.best {
		level = locality.NodeLocal // nearer there is none
	}
	if d, err := w.job.Offer(now, level); err == nil && d.Launch {
		return true
	}
	w.delayed, w.kept = true, p.holding
	if at, ok := w.job.NextRelax(now); ok {
		if w.relax == nil {
			w.relax = time.AfterFunc(at.Sub(now), func() {
				p.mu.Lock()
				defer p.mu.Unlock()
				w.delayed = false // so that it is tried, and wakes again if need be
				p.dispatch()
			})
		} else {
			w.relax.Reset(at.Sub(now))
		}
	}
	return false
}

// attainable returns how near to what it prefers w can be placed at best.
func (p *Pool) attainable(w *waiter) (best locality.Level) {
	if len(w.prefer) == 0 {
		return locality.NodeLocal
	}
	nodes := p.packing(w.needs, p.byLevel(w))
	if nodes == nil {
		nodes = p.packing(w.needs, p.nodes())
	}
	return p.farthest(w, nodes)
}

// farthest returns the level of the node that is farthest from what w prefers.
func (p *Pool) farthest(w *waiter, nodes []locality.Node) (level locality.Level) {
	for _, node := range nodes {
		level = max(level, p.topology.Level(node, w.prefer...))
	}
	return level
}

// find returns a machine with room for need: the one nearest to what is
// preferred, the lowest number among equals; without preference the first fit.
func (p *Pool) find(need resources.Vector, prefer []locality.Node) (best locality.Node, level locality.Level, found bool) {
	p.wanted = need
	if len(prefer) == 0 {
		m, ok := p.sched.Snapshot().Find(omega.Query{Need: need, Allow: p.fits}, omega.NextFit())
		return m.Node(), locality.NodeLocal, ok
	}
	for i := range p.machines {
		node := locality.Node(i)
		if !p.fits(node) {
			continue
		}
		if l := p.topology.Level(node, prefer...); !found || l < level {
			best, level, found = node, l, true
		}
	}
	return best, level, found
}

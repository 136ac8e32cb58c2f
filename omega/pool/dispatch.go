package pool

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// All of this file is called with the pool's mutex held.
//
// Invariant, whenever the mutex is free: no waiter whose turn it could be can
// be placed. Room appears by a release, waiters by an Acquire, wider bounds by
// a timer; each runs dispatch before it lets go of the mutex.

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
// tenant first, among equals the one that was served longest ago. A tenant that
// finds no room keeps richer ones off the machines that it waits for. Cost:
// O(log tenants + machines) for each tenant it looks at, which are those it
// serves, those that wait for their data, and at most one a machine that finds
// no room.
func (p *Pool) dispatch() {
	if p.waiting == 0 {
		return
	}
	clear(p.held)
	var aside []*tenant
	for free := len(p.machines); free > 0; {
		next, ok := p.heap.Pick(everything)
		if !ok {
			break
		}
		t := p.key(next)
		switch p.turn(t) {
		case placed:
			continue
		case noRoom:
			free -= p.hold(t.head())
		}
		_ = p.heap.Park(next) // until the others had their turn
		aside = append(aside, t)
	}
	for _, t := range aside {
		p.await(t)
	}
}

// hold keeps machines back for a waiter that fits nowhere, and returns how many
// were not held already. What bounds its wait, once it is its turn, is the
// longest lease on them: at the latest it is placed when they are empty.
//
// With one need that is the machine where the least is missing. That only gets
// less from one dispatch to the next, unless a poorer tenant takes the room, so
// it may be chosen anew each time. With several needs it could swing to and fro,
// so machines that hold all of them are chosen once.
func (p *Pool) hold(w *waiter) (added int) {
	if len(w.needs) == 1 || w.awaits == nil {
		missing := make([]float64, len(p.machines))
		for i, m := range p.machines {
			free, _ := p.sched.Snapshot().Free(m)
			for k, need := range w.needs[0] {
				if need > free[k] {
					missing[i] = max(missing[i], float64(need-free[k])/float64(max(p.capacity[i][k], 1)))
				}
			}
			if p.held[i] != nil {
				missing[i] = math.Inf(1) // the last choice
			}
		}
		order := p.nodes()
		slices.SortStableFunc(order, func(a, b locality.Node) int { return cmp.Compare(missing[a], missing[b]) })
		w.awaits = p.firstFit(w.needs, slices.Clone(p.capacity), order)
	}
	for _, node := range w.awaits {
		if p.held[node] == nil {
			p.held[node] = w
			added++
		}
	}
	return added
}

// turn serves one waiter of t: the first, or, if that waits for its data, the
// first with the same need that does not.
func (p *Pool) turn(t *tenant) outcome {
	head := t.head()
	for w := range t.waiters() {
		if w != head && (len(w.needs) > 1 || w.needs[0] != head.needs[0]) {
			break
		}
		switch p.try(w) {
		case placed:
			p.serve(w)
			return placed
		case noRoom:
			return noRoom
		}
		if len(w.needs) > 1 {
			break
		}
	}
	return tooFar
}

// serve ends the wait of w, which was placed.
func (p *Pool) serve(w *waiter) {
	w.tenant.waited += time.Since(w.since)
	p.leave(w)
	w.finish()
}

// try places w if it can and makes its leases.
func (p *Pool) try(w *waiter) outcome {
	w.delayed = false
	if len(w.needs) > 1 {
		nodes, farthest := p.pack(w)
		if nodes == nil {
			return noRoom
		}
		if !p.near(w, farthest) {
			return tooFar
		}
		w.leases = p.grantAll(w, nodes)
		return placed
	}
	node, level, ok := p.find(w.needs[0], w.prefer)
	if !ok {
		return noRoom
	}
	if !p.near(w, level) {
		return tooFar
	}
	w.leases = []*Lease{p.grant(w.tenant, w.needs[0], node, level)}
	return placed
}

// near offers w a place at that level and reports whether it takes it. If it
// would rather wait, it is woken when it no longer would.
func (p *Pool) near(w *waiter, level locality.Level) bool {
	now := time.Now()
	if d, err := w.job.Offer(now, level); err == nil && d.Launch {
		return true
	}
	w.delayed = true
	if at, ok := w.job.NextRelax(now); ok {
		if w.relax == nil {
			w.relax = time.AfterFunc(at.Sub(now), func() {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.dispatch()
			})
		} else {
			w.relax.Reset(at.Sub(now))
		}
	}
	return false
}

// find returns a machine with room for need that is not held back: the one
// nearest to what is preferred, the lowest number among equals; without
// preference the first fit.
func (p *Pool) find(need resources.Vector, prefer []locality.Node) (best locality.Node, level locality.Level, found bool) {
	snap := p.sched.Snapshot()
	if len(prefer) == 0 {
		m, ok := snap.FirstFit(need, func(n locality.Node) bool { return p.held[n] == nil })
		return m.Node(), locality.NodeLocal, ok
	}
	for i, m := range p.machines {
		node := locality.Node(i)
		free, _ := snap.Free(m)
		if !need.Fits(free) || p.held[node] != nil {
			continue
		}
		if l := p.topology.Level(node, prefer...); !found || l < level {
			best, level, found = node, l, true
		}
	}
	return best, level, found
}

// pack finds room for all needs of w at once, nil if there is none: machines
// near what it prefers first, then by first fit, the largest need first.
func (p *Pool) pack(w *waiter) (nodes []locality.Node, farthest locality.Level) {
	room := make([]resources.Vector, len(p.machines))
	order := p.nodes()
	for i, m := range p.machines {
		if p.held[i] == nil {
			room[i], _ = p.sched.Snapshot().Free(m)
		}
	}
	slices.SortStableFunc(order, func(a, b locality.Node) int {
		return cmp.Compare(p.topology.Level(a, w.prefer...), p.topology.Level(b, w.prefer...))
	})
	nodes = p.firstFit(w.needs, room, order)
	for _, node := range nodes {
		farthest = max(farthest, p.topology.Level(node, w.prefer...))
	}
	return nodes, farthest
}

// packs tells whether needs fit in the empty pool. Once it says so, they are
// placed at the latest when the pool is empty.
func (p *Pool) packs(needs []resources.Vector) bool {
	return p.firstFit(needs, slices.Clone(p.capacity), p.nodes()) != nil
}

// nodes returns the numbers of all machines.
func (p *Pool) nodes() []locality.Node {
	all := make([]locality.Node, len(p.machines))
	for i := range all {
		all[i] = locality.Node(i)
	}
	return all
}

// firstFit returns for each need the first machine in order with room for it,
// the need with the largest share of the pool first; nil if one finds none. It
// uses up room.
func (p *Pool) firstFit(needs, room []resources.Vector, order []locality.Node) []locality.Node {
	largest := make([]int, len(needs))
	for i := range largest {
		largest[i] = i
	}
	slices.SortStableFunc(largest, func(a, b int) int {
		x, _, _ := needs[a].DominantShare(p.total)
		y, _, _ := needs[b].DominantShare(p.total)
		return cmp.Compare(y, x)
	})
	nodes := make([]locality.Node, len(needs))
	for _, i := range largest {
		at := slices.IndexFunc(order, func(n locality.Node) bool { return needs[i].Fits(room[n]) })
		if at < 0 {
			return nil
		}
		nodes[i] = order[at]
		room[nodes[i]], _ = room[nodes[i]].Sub(needs[i])
	}
	return nodes
}

// grant commits a need on a node where the snapshot has room for it. The
// snapshot is the pool's scheduler's, and that alone commits to the cell, so
// it is never refused.
func (p *Pool) grant(t *tenant, need resources.Vector, node locality.Node, level locality.Level) *Lease {
	p.tx.Reset()
	p.tx.Gang = false
	p.tx.Claim(omega.Claim{Machine: p.machines[node], Account: t.account, Need: need})
	p.commit(1)
	return p.lease(t, 0, need, level)
}

// grantAll commits the needs of w in one step.
func (p *Pool) grantAll(w *waiter, nodes []locality.Node) []*Lease {
	p.tx.Reset()
	p.tx.Gang = true
	for i, node := range nodes {
		p.tx.Claim(omega.Claim{Machine: p.machines[node], Account: w.tenant.account, Need: w.needs[i]})
	}
	p.commit(len(nodes))
	leases := make([]*Lease, len(nodes))
	for i, node := range nodes {
		leases[i] = p.lease(w.tenant, i, w.needs[i], p.topology.Level(node, w.prefer...))
	}
	return leases
}

func (p *Pool) commit(claims int) {
	if granted, err := p.sched.Commit(&p.tx); err != nil || granted < claims {
		panic(fmt.Sprintf("pool: the cell granted %d of %d claims that fit: %v", granted, claims, errors.Join(err, p.tx.Err(0))))
	}
}

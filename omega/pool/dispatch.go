package pool

import (
	"cmp"
	"errors"
	"fmt"
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

// outcome is what came of trying to place a waiter.
type outcome uint8

const (
	placed outcome = iota
	noRoom         // it fits nowhere now
	tooFar         // it fits, and waits for a machine nearer to its data
)

// reservation is room that is held back for one waiter: a machine, or all of
// them for a waiter with several needs.
type reservation struct {
	waiter *waiter
	node   locality.Node
	all    bool
}

// allows tells whether w may be placed on a node.
func (r *reservation) allows(w *waiter, node locality.Node) bool {
	return r.waiter == nil || r.waiter == w || !r.all && r.node != node
}

// key returns a user's tenant; u is in the heap.
func (p *Pool) key(u drf.User) *tenant {
	t, _ := p.heap.Key(u)
	return t
}

func (p *Pool) share(t *tenant) float64 {
	share, _, _ := p.heap.Share(t.user)
	return share
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

// dispatch serves waiters until none whose turn it is can be placed: the
// poorest tenant first, then the next poorest. Cost: O(log tenants + machines)
// for each tenant whose need is no larger than the largest room of each kind.
func (p *Pool) dispatch() {
	if p.arrivals.Len() == 0 {
		return
	}
	if w := p.reserve.waiter; w != nil && p.try(w) == placed {
		p.serve(w)
	}
	bound := p.bound()
	var aside []*tenant
	for {
		next, ok := p.heap.Pick(bound)
		if !ok {
			break
		}
		t := p.key(next)
		if p.turn(t) != placed {
			_ = p.heap.Park(next) // until the others had their turn
			aside = append(aside, t)
		}
	}
	for _, t := range aside {
		p.await(t)
	}
}

// bound returns, kind by kind, the largest room on any machine that is not
// held back: what does not fit in that fits nowhere.
func (p *Pool) bound() (v resources.Vector) {
	snap := p.sched.Snapshot()
	for node, m := range p.machines {
		if free, ok := snap.Free(m); ok && p.reserve.allows(nil, locality.Node(node)) {
			v = v.Max(free)
		}
	}
	return v
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

// pass notes that t is granted something, before it is charged for it. If the waiter
// that has waited longest for room is of another tenant, and no richer, it was
// passed over; in the end room is held back for it, on the machine where the
// least is missing. What bounds its wait is then the longest lease on that
// machine, or of the pool if it has several needs.
func (p *Pool) pass(t *tenant) {
	w := p.oldest()
	if w == nil || w.tenant == t || p.share(w.tenant) > p.share(t) {
		return
	}
	w.passed++
	if w.passed < p.passLimit || p.reserve.waiter != nil {
		return
	}
	p.reserve = reservation{waiter: w, all: len(w.needs) > 1}
	least := 0.0
	for node, m := range p.machines {
		if !w.needs[0].Fits(p.capacity[node]) {
			continue
		}
		free, _ := p.sched.Snapshot().Free(m)
		missing := 0.0
		for k, need := range w.needs[0] {
			if need > free[k] {
				missing = max(missing, float64(need-free[k])/float64(p.capacity[node][k]))
			}
		}
		if least == 0 || missing < least {
			p.reserve.node, least = locality.Node(node), missing
		}
	}
}

// oldest returns the first waiter of a tenant that has waited longest for
// room, nil if there is none.
func (p *Pool) oldest() *waiter {
	for e := p.arrivals.Front(); e != nil; e = e.Next() {
		if w := e.Value.(*waiter); !w.delayed && w == w.tenant.head() {
			return w
		}
	}
	return nil
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
	node, level, ok := p.find(w, w.needs[0], w.prefer)
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

// find returns a machine with room for need: the one nearest to what is
// preferred, the lowest number among equals; without preference the first fit.
// w is who asks, if it is a waiter.
func (p *Pool) find(w *waiter, need resources.Vector, prefer []locality.Node) (best locality.Node, level locality.Level, found bool) {
	snap := p.sched.Snapshot()
	if len(prefer) == 0 {
		m, ok := snap.FirstFit(need, p.filter(w))
		return m.Node(), locality.NodeLocal, ok
	}
	for i, m := range p.machines {
		node := locality.Node(i)
		free, _ := snap.Free(m)
		if !need.Fits(free) || !p.reserve.allows(w, node) {
			continue
		}
		if l := p.topology.Level(node, prefer...); !found || l < level {
			best, level, found = node, l, true
		}
	}
	return best, level, found
}

// filter is what a search for w has to leave out, nil if nothing.
func (p *Pool) filter(w *waiter) func(locality.Node) bool {
	if p.reserve.waiter == nil || p.reserve.waiter == w {
		return nil
	}
	return func(node locality.Node) bool { return p.reserve.allows(w, node) }
}

// pack finds room for all needs of w at once, nil if there is none: machines
// near what it prefers first, then by first fit, the largest need first.
func (p *Pool) pack(w *waiter) (nodes []locality.Node, farthest locality.Level) {
	room := make([]resources.Vector, len(p.machines))
	order := make([]locality.Node, len(p.machines))
	for i, m := range p.machines {
		order[i] = locality.Node(i)
		if p.reserve.allows(w, order[i]) {
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
	order := make([]locality.Node, len(p.machines))
	for i := range order {
		order[i] = locality.Node(i)
	}
	return p.firstFit(needs, slices.Clone(p.capacity), order) != nil
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
	p.pass(t)
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
	p.pass(w.tenant)
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

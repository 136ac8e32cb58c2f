package pool

import (
	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// All of this file is called with the pool's mutex held.
//
// Invariant, whenever the mutex is free: no waiter can be placed in room that is not
// reserved for another. Four events can break it:
//
//   - room appears, by a release or a machine;
//   - a waiter appears, by a request;
//   - bounds widen, by a timer;
//   - rights change, by settings.
//
// Each of these calls dispatch before it lets go of the mutex.

// found is the waiter that turn has found room for, and where.
type found struct {
	w     *waiter
	node  int
	level locality.Level
}

// dispatch serves waiters until none can be placed. Those with a reservation come first,
// then the tenants in their order, below each the first of its requests that has room.
// The time is that of the last tick.
//
// Cost: O(log tenants + log machines) for each waiter that is served. As much for each
// tenant before it in the order with a need that fits in the most that is free of each
// kind, but on no machine.
func (p *Pool) dispatch() {
	for again := true; again; again = p.keepOrder() {
		p.serveAll()
		p.withdrawn = false
		if len(p.guaranteed) > 0 && (p.lend == nil || p.lend.settled) {
			p.demandAll()
		}
		if !p.withdrawn && len(p.promised) == 0 {
			break
		}
	}
	if p.more {
		p.goOn()
	}
}

// serveAll serves waiters until none can be placed.
func (p *Pool) serveAll() {
	for p.waiting > 0 {
		if p.serveReserved() {
			continue
		}
		most := &p.books.most.nodes[1]
		if *most != (resources.Vector{}) {
			if _, ok := p.fair.Pick(p.at, most, p.canServe); ok {
				p.place()
				continue
			}
		}
		if !p.reserveNext() {
			return
		}
	}
}

// serveReserved places a waiter with a reservation, if one has room. A reservation
// that its waiter could not use is taken back: others have the room until its turn.
func (p *Pool) serveReserved() bool {
	if len(p.promised) > 0 && p.servePromised() {
		return true
	}
	for i := 0; i < len(p.reserves); {
		w := p.reserves[i]
		t := w.tenant
		switch {
		case w != t.first && t.set.Strict || w.heldBack():
			p.unreserve(w)
			continue
		case p.fits(w):
			p.place()
			return true
		}
		i++
	}
	return false
}

// reserveNext reserves room for the first waiter in the order if its patience is
// over, and reports whether that lets it start. Waiters with a reservation, and
// those that do not wait for room, count as none. It looks now and then only, and
// at a few tenants: the patience is a lower bound.
func (p *Pool) reserveNext() bool {
	if p.patience < 0 || p.at-p.looked < p.patience/64 {
		return false
	}
	p.looked = p.at
	var w *waiter
	tried := 0
	p.fair.Pick(p.at, nil, func(u drf.User) bool {
		t := p.byUser[u.Index()]
		w = t.first
		tried++
		switch {
		case w.kept != nil || w.delayed() || w.heldBack():
		case p.patient(w):
			tried = lookahead // those behind it have no claim to go first
		case p.reserve(w):
			return true
		}
		w = nil
		return tried == lookahead
	})
	if w == nil || !p.fits(w) {
		return false
	}
	p.place()
	return true
}

// place makes the leases of the waiter that was found.
func (p *Pool) place() {
	w := p.found.w
	if w == w.tenant.first {
		w.tenant.served = p.at
	}
	if err := w.expired(); err != nil {
		w.err = err
		w.tenant.gaveUp(err)
		p.serve(w)
		return
	}
	if w.many() != nil {
		p.grantAll(w)
	} else {
		w.lease = p.grant(w.tenant, &w.need, p.found.node, p.found.level)
	}
	if w.tenant.bounded {
		w.spend()
	}
	p.serve(w)
}

// grantAll makes the leases of a waiter with several needs.
func (p *Pool) grantAll(w *waiter) {
	g := w.many()
	g.leases = make([]Lease, len(g.needs))
	for i, node := range g.nodes {
		g.leases[i] = p.grant(w.tenant, &g.needs[i], int(node), p.level(w, node))
	}
}

// lookahead bounds how many requests of a tenant are tried at a time.
const lookahead = 64

// turn looks for a request of a tenant that has room: the first, or one behind it unless
// the tenant is strict. It changes only the found place and the reservations.
//
// The first request gets a reservation here if its patience is over. A tenant with small
// requests that take all its turns may never be first in the order where no room is left,
// which is when reserveNext looks.
func (p *Pool) turn(u drf.User) bool {
	t := p.byUser[u.Index()]
	var lacking *resources.Vector // a need without room: none that is as large has any
	tried := 0
	for w := t.first; w != nil && tried < lookahead; w = w.next {
		tried++
		if w != t.first && t.set.Strict {
			break
		}
		if w.near() == nil && w.many() == nil && lacking != nil && resources.Fits(lacking, &w.need) {
			continue
		}
		if w.heldBack() {
			continue // the order knows one need of the first, and no rate
		}
		if p.fits(w) || w == t.first && w.kept == nil && !w.delayed() && p.reserve(w) && p.fits(w) {
			return true
		}
		if w.near() == nil && w.many() == nil {
			lacking = &w.need
		}
	}
	return false
}

// fits looks for room for one waiter, and notes it. A task to be dropped needs
// none.
func (p *Pool) fits(w *waiter) bool {
	if w.task.fn != nil && w.expired() != nil {
		p.found = found{w: w}
		return true
	}
	if w.near() != nil || w.many() != nil {
		return p.fitsFar(w)
	}
	var node int
	if w.kept != nil && p.ownRoom(w, int(w.kept.nodes[0]), &w.need) {
		node = int(w.kept.nodes[0])
	} else {
		node = p.find(w.tenant, &w.need)
	}
	p.found = found{w, node, locality.NodeLocal}
	return node >= 0
}

// ownRoom reports whether a need fits on a machine in room that may be reserved
// for w.
func (p *Pool) ownRoom(w *waiter, node int, need *resources.Vector) bool {
	m := &p.books.machines[node]
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
func (p *Pool) find(t *Tenant, need *resources.Vector) int {
	node := p.books.find(need)
	if p.keepers == 0 || node < 0 || p.open(node, t) {
		return node
	}
	for range len(p.books.machines) { // past machines that t may not use
		p.books.next = node + 1
		if node = p.books.find(need); node < 0 || p.open(node, t) {
			return node
		}
	}
	return -1
}

package pool

import (
	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// dispatcher serves the requests that wait, and takes back the room of leases that end.
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
type dispatcher struct {
	*core
	placement *placement
	promises  *promiseBook
	reserving *reservations
	granting  *granter
	restoring *restorer

	canServe func(drf.User) bool
}

// dispatch serves waiters until none can be placed. Its phases are, each again while one
// before it has changed something:
//
//  1. the requests that were promised room, by guarantees;
//  2. requests with a reservation;
//  3. the tenants in their order, below each the first of its requests that has room;
//  4. a reservation for the first in the order, if its patience is over;
//  5. room taken back for guarantees;
//  6. promises withdrawn that would pass over a request of a strict tenant.
//
// The time is that of the last tick.
//
// Cost: O(log tenants + log machines) for each waiter that is served. As much for each
// tenant before it in the order with a need that fits in the most that is free of each
// kind, but on no machine.
func (d *dispatcher) dispatch() {
	for again := true; again; again = d.keepOrder() {
		for d.waits.waiting > 0 && (d.servePromised() || d.serveReserved() || d.serveNext() || d.reserveNext()) {
		}
		d.promises.withdrawn = false
		d.restoring.demandAll()
	}
	if d.restoring.more {
		d.restoring.goOn()
	}
}

// serveNext places a request of the first tenant in the order that has one with room.
func (d *dispatcher) serveNext() bool {
	most := &d.books.most.nodes[1]
	if *most == (resources.Vector{}) {
		return false
	}
	_, ok := d.tenants.fair.Pick(d.at, most, d.canServe)
	if ok {
		d.granting.place()
	}
	return ok
}

// serveReserved places a waiter with a reservation, if one has room. A reservation
// that its waiter could not use is taken back: others have the room until its turn.
func (d *dispatcher) serveReserved() bool {
	for i := 0; i < len(d.reserving.list); {
		w := d.reserving.list[i]
		t := w.tenant
		switch {
		case w != t.first && t.set.Strict || w.heldBack():
			d.reserving.unreserve(w)
			continue
		case d.placement.fits(w):
			d.granting.place()
			return true
		}
		i++
	}
	return false
}

// servePromised places a waiter that was promised room: one that has got it, or that
// finds other room. It drops a task that is over, also before one that is strict.
func (d *dispatcher) servePromised() bool {
	if len(d.promises.list) == 0 {
		return false
	}
	for _, w := range d.promises.due {
		if t := w.tenant; w != t.first && t.set.Strict && t.first.expired() != nil {
			w = t.first
		}
		if d.servePromise(w) {
			return true
		}
	}
	most := &d.books.most.nodes[1]
	if *most == (resources.Vector{}) || !resources.Fits(&d.promises.least, most) {
		return false
	}
	for _, w := range d.promises.list {
		if w.kept.missing > 0 && resources.Fits(w.least(), most) && d.servePromise(w) {
			return true
		}
	}
	return false
}

func (d *dispatcher) servePromise(w *waiter) bool {
	if w.expired() == nil && (w != w.tenant.first && w.tenant.set.Strict || w.heldBack()) || !d.placement.fits(w) {
		return false
	}
	d.granting.place()
	return true
}

// reserveNext reserves room for the first waiter in the order if its patience is
// over, and reports whether that lets it start. Waiters with a reservation, and
// those that do not wait for room, count as none. It looks now and then only, and
// at a few tenants: the patience is a lower bound.
func (d *dispatcher) reserveNext() bool {
	if d.reserving.patience < 0 || d.at-d.reserving.looked < d.reserving.patience/64 {
		return false
	}
	d.reserving.looked = d.at
	var w *waiter
	tried := 0
	d.tenants.fair.Pick(d.at, nil, func(u drf.User) bool {
		t := d.tenants.byUser[u.Index()]
		w = t.first
		tried++
		switch {
		case w == nil: // it waits in another replica
		case w.kept != nil || w.delayed() || w.heldBack():
		case d.reserving.patient(w):
			tried = lookahead // requests behind it have no claim to go first
		case d.reserving.reserve(w):
			return true
		}
		w = nil
		return tried == lookahead
	})
	if w == nil || !d.placement.fits(w) {
		return false
	}
	d.granting.place()
	return true
}

// turn looks for a request of a tenant that has room: the first, or one behind it unless
// the tenant is strict. It changes only the found place and the reservations.
//
// The first request gets a reservation here if its patience is over. A tenant with small
// requests that take all its turns may never be first in the order where no room is left,
// which is when reserveNext looks.
func (d *dispatcher) turn(u drf.User) bool {
	t := d.tenants.byUser[u.Index()]
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
		if d.placement.fits(w) || w == t.first && w.kept == nil && !w.delayed() && d.reserving.reserve(w) && d.placement.fits(w) {
			return true
		}
		if w.near() == nil && w.many() == nil {
			lacking = &w.need
		}
	}
	return false
}

// lookahead bounds how many requests of a tenant are tried at a time.
const lookahead = 64

// keepOrder withdraws what is promised to requests of strict tenants behind one that
// is not promised room: they may not start before it. It reports whether a promise
// was withdrawn since the last call, by which other requests may be able to start.
func (d *dispatcher) keepOrder() bool {
	for i := len(d.promises.list) - 1; i >= 0; i-- {
		if w := d.promises.list[i]; w.tenant.set.Strict && w.isBehind() {
			d.reserving.unreserve(w)
			d.promises.withdrawn = true
		}
	}
	was := d.promises.withdrawn
	d.promises.withdrawn = false
	return was
}

// isBehind reports whether a request that waits and is not promised room is before w
// in the queue of its tenant.
func (w *waiter) isBehind() bool {
	for o := w.prev; o != nil; o = o.prev {
		if !o.isPromised() && o.expired() == nil {
			return true
		}
	}
	return false
}

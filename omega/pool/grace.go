package pool

import (
	"cmp"
	"slices"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Late leases. A lease that was preempted is late once its grace is over. No request
// counts on its room from then on. Promises that did are withdrawn. Each of their
// requests has other room taken back at once, if its guarantee covers it and there are
// leases that are not preempted yet. A late release makes room for any request, by the
// usual rules.
//
// Bound, for a request for which there is room to take back, and F holders that do not
// release: it waits F + 1 graces at most.
//
//  1. A promise counts on free room and on leases in their grace alone. So when a grace
//     has passed, each promise is kept, or one more lease was late.
//  2. A late lease stays late, and is counted on by no later promise.
//
// Invariant, whenever the mutex is free and no grace has ended since:
//
//  1. On a machine, held room, without leases that are preempted and in their grace, and
//     promised room are together at most the capacity.
//  2. The invariant of promised.go.
//
// Each holds of preempted leases in their grace, and of no late one.

// timeGrace sets the timer for the end of the first grace, which is over after so long,
// unless it is set for an earlier one.
func (p *Pool) timeGrace(left time.Duration) {
	if p.graceSet || p.inGrace == 0 {
		return
	}
	p.graceSet = true
	left++ // a holder that releases just then is in time
	if p.graceTimer == nil {
		p.graceTimer = time.AfterFunc(left, p.graceOver)
	} else {
		p.graceTimer.Reset(left)
	}
}

// returned notes that a lease that was preempted ends in its grace.
func (p *Pool) returned() {
	if p.inGrace--; p.inGrace == 0 {
		p.graceSet = false
		p.graceTimer.Stop()
	}
}

// endGraces takes other room back for the requests that counted on leases beyond their
// grace.
func (p *Pool) endGraces() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tick()
	p.graceSet = false
	p.revoked = slices.DeleteFunc(p.revoked, func(l Lease) bool { return l.live() == nil })
	var late []Lease
	var left time.Duration        // of the next grace
	for _, l := range p.revoked { // in the order of their graces
		r := l.live()
		if r.late || r.foreign {
			continue
		}
		if left = r.overdue - p.at; left >= 0 {
			break
		}
		late = append(late, l)
		p.inGrace--
		if r.late = true; p.victimIndex != nil {
			p.victimIndex.late(r)
		}
		r.tenant.returns(&r.run.Need, -1)
	}
	p.timeGrace(left) // before others are preempted
	var again []renewal
	for _, l := range late {
		again = p.withdraw(l.live(), again)
	}
	// Before others may have what these requests had got: it may be enough with some more.
	slices.SortFunc(again, func(a, b renewal) int { return cmp.Compare(a.order, b.order) })
	for i := range again {
		p.renew(&again[i])
	}
	for i := range again {
		for t := again[i].tenant; t != nil; t = t.parent {
			t.bucket.free = min(t.bucket.free, t.bucket.burst) // the other tokens are free again
		}
	}
	if len(again) > 0 {
		p.next()
	}
}

// lateEnd takes room of a late lease that has come free for the guarantees: it may be
// reserved for a request that was first while they counted on other room.
//
//go:noinline
func (p *Pool) lateEnd() {
	if len(p.guaranteed) > 0 && (p.lend == nil || p.lend.settled) {
		p.demandAll()
	}
}

// renewal is a request of which the promise was withdrawn.
type renewal struct {
	w      *waiter
	tenant *Tenant
	order  uint64  // of the promise
	taken  []Lease // preempted for it
}

// withdraw withdraws promises until none counts on a late lease, first what it was
// preempted for, then the latest, and appends their requests.
func (p *Pool) withdraw(late *record, to []renewal) []renewal {
	by := late.takenFor
	late.takenFor = nil
	node := int(late.node)
	for p.books.machines[node].owing > 0 {
		room := p.index().room(node)
		w := p.unkept(node, &room, by)
		if w == nil {
			break
		}
		to = p.annul(w, to)
	}
	for t := late.tenant; t != nil; t = t.parent {
		for t.promises > 0 && t.overPromised() {
			to = p.annul(p.latestIn(t, by), to)
		}
	}
	return to
}

// annul withdraws the promise to w, and appends w.
func (p *Pool) annul(w *waiter, to []renewal) []renewal {
	to = append(to, renewal{w, w.tenant, w.kept.promises[0].order, w.kept.taken})
	w.kept.renewed = true
	p.unreserve(w)
	return to
}

// unkept returns a request with a promise on a machine that cannot be kept; nil if there
// is none. Room, which is below 0, is the rest beside all promises.
func (p *Pool) unkept(node int, room *resources.Vector, by *reservation) *waiter {
	var latest *waiter
	for _, pr := range p.books.machines[node].promises {
		for k, left := range room {
			if left >= 0 || pr.got[k] == pr.need[k] {
				continue
			}
			if latest = pr.of; latest.kept == by {
				return latest
			}
		}
	}
	return latest
}

// latestIn returns the request in t that was promised room last, or the one that a
// reservation is for. There is one.
func (p *Pool) latestIn(t *Tenant, by *reservation) (latest *waiter) {
	for _, w := range p.promised {
		if !w.tenant.isIn(t) {
			continue
		}
		if latest = w; w.kept == by {
			break
		}
	}
	return latest
}

// renew takes other room back for a request after its promise was withdrawn. It does so
// by the request's guarantee or that of a group above. Leases that are still in their
// grace count for it first.
func (p *Pool) renew(a *renewal) {
	if a.w.expired() != nil {
		return
	}
	for g := a.w.tenant; g != nil; g = g.parent {
		if g.guarantee == (resources.Vector{}) {
			continue
		}
		look := p.index().looks[g]
		held := p.fair.Held(g.user).Add(g.promised)
		if p.demandOne(a.w, g, look, &held, a.taken) {
			return
		}
	}
}

// passOn makes the leases that were preempted for one reservation those of another.
func (r *reservation) passOn(taken []Lease) {
	for _, l := range taken {
		if of := l.live(); of != nil && !of.late {
			of.takenFor = r
			r.taken = append(r.taken, l)
		}
	}
}

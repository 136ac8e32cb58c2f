package pool

import (
	"slices"
	"time"

	"github.com/cellsched/cellsched/omega/observe"
)

// graces are the leases that were preempted, in the time that their holders have to
// release them.
type graces struct {
	*core
	search *victimSearch

	span    time.Duration // of each
	revoked []Lease       // preempted, some of them released, in the order of their graces
	inGrace int           // the number of them in their grace
	timer   *time.Timer   // fires when the grace of one of them is over,
	set     bool          // and runs
	over    func()        // takes other room back in place of the room of late leases
}

// Guarantees. A tenant or group that waits with needs within its guarantee, and finds no
// room, gets it back. Leases of others are preempted, which ends their contexts, and the
// room is owed to the request. All that is covered is taken back at once, so the
// guarantee is restored when those holders have released. A holder that does not release
// its lease is reported once the grace is over. Other room is then taken back in its
// place; the room is never given away twice.

var errPreempted = refuse(ErrPreempted, "a guarantee takes the room back")

// revoke preempts leases for a reservation.
func (gr *graces) revoke(victims []victim, by *reservation) {
	if len(gr.revoked) > 2*gr.leases.held { // most are released
		gr.revoked = slices.DeleteFunc(gr.revoked, func(l Lease) bool { return l.live() == nil })
	}
	for _, v := range victims {
		if v.owed != nil {
			continue
		}
		r := &gr.leases.records[v.slot]
		r.preempted, r.overdue, r.takenFor = true, gr.at+gr.span, by
		if gr.search.index != nil {
			gr.search.index.revoked(v.slot, r)
		}
		r.tenant.preempted++
		r.tenant.returns(&r.run.Need, 1)
		if gr.events.Active() {
			gr.leases.tellOf(observe.Preempted, r)
		}
		l := gr.leases.of(v.slot)
		gr.revoked, by.taken = append(gr.revoked, l), append(by.taken, l)
		gr.inGrace++
		if r.ctx != nil {
			r.ctx.end(endedPreempted)
		}
	}
	gr.start(gr.span)
}

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
func (gr *graces) start(left time.Duration) {
	if gr.set || gr.inGrace == 0 {
		return
	}
	gr.set = true
	left++ // a holder that releases just then is in time
	setTimer(&gr.timer, left, gr.over)
}

// returned notes that a lease that was preempted ends in its grace.
func (gr *graces) returned() {
	if gr.inGrace--; gr.inGrace == 0 {
		gr.set = false
		gr.timer.Stop()
	}
}

// Overdue returns the leases that were preempted and are not released although their
// grace is over, with the time since then. A preempted lease stays preempted when the
// request for which it was preempted gives up or is served elsewhere. So Overdue also
// names leases for which no request waits any more.
//
// The keys are equal to the copies of the holders, with one exception: with Config.OnLeak,
// leases without a context that were granted before any guarantee was set. All keys act
// on the lease. With Config.OnLeak a key counts as a copy.
func (p *Pool) Overdue() map[Lease]time.Duration {
	if p.none() {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tick()
	late := make(map[Lease]time.Duration)
	p.graces.revoked = slices.DeleteFunc(p.graces.revoked, func(l Lease) bool { return l.live() == nil })
	for _, l := range p.graces.revoked {
		if r := l.live(); p.at >= r.overdue {
			l.token = r.token.Value() // nil without OnLeak, and once no copy is left
			late[l] = p.at - r.overdue
		}
	}
	return late
}

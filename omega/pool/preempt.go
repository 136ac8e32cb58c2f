package pool

import (
	"fmt"
	"slices"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/resources"
)

// Guarantees. A tenant or group that waits with needs within its guarantee, and finds no
// room, gets it back. Leases of others are preempted, which ends their contexts, and the
// room is owed to the request. All that is covered is taken back at once, so the
// guarantee is restored when those holders have released. A holder that does not release
// its lease is reported once the grace is over. Other room is then taken back in its
// place; the room is never given away twice.

var errPreempted = refuse(ErrPreempted, "a guarantee takes the room back")

// leaves reports whether t's guarantee has as much left, of the kinds it names.
func (t *Tenant) leaves(held, least *resources.Vector) bool {
	for k, most := range t.guarantee {
		if most > 0 && least[k] > 0 && held[k] > most-least[k] {
			return false
		}
	}
	return true
}

// covers reports whether a guarantee covers a need beyond what is held. Kinds that
// it does not name do not count, but it has to name one that is needed.
func covers(guarantee, held, need *resources.Vector) (some bool) {
	for k, most := range guarantee {
		if most == 0 || need[k] == 0 {
			continue
		}
		if held[k] > most-need[k] { // in this order no amount overflows
			return false
		}
		some = true
	}
	return some
}

// revoke preempts leases for a reservation.
func (p *Pool) revoke(victims []victim, by *reservation) {
	if len(p.revoked) > 2*p.leases { // most are released
		p.revoked = slices.DeleteFunc(p.revoked, func(l Lease) bool { return l.live() == nil })
	}
	for _, v := range victims {
		if v.owed != nil {
			continue
		}
		r := &p.records[v.slot]
		r.preempted, r.overdue, r.takenFor = true, p.at+p.grace, by
		if p.victimIndex != nil {
			p.victimIndex.revoked(v.slot, r)
		}
		r.tenant.preempted++
		r.tenant.returns(&r.run.Need, 1)
		if p.events.Active() {
			p.tellOf(observe.Preempted, r)
		}
		l := p.lease(v.slot)
		p.revoked, by.taken = append(p.revoked, l), append(by.taken, l)
		p.inGrace++
		if r.ctx != nil {
			r.ctx.end(endedPreempted)
		}
	}
	p.timeGrace(p.grace)
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
	p.revoked = slices.DeleteFunc(p.revoked, func(l Lease) bool { return l.live() == nil })
	for _, l := range p.revoked {
		if r := l.live(); p.at >= r.overdue {
			l.token = r.token.Value() // nil without OnLeak, and once no copy is left
			late[l] = p.at - r.overdue
		}
	}
	return late
}

// Resize lowers the need of the lease and serves the tenants that are next. An
// amount above the present one fails with [ErrNeed]: a lease does not grow, since
// that could wait for itself. Errors: [ErrReleased]; [ErrNeed];
// [resources.ErrQuantity].
func (l Lease) Resize(need resources.Vector) error {
	p := l.pool
	if p == nil {
		return errZeroLease
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := l.live()
	switch {
	case r == nil:
		return errReleasedTwice
	case need.Check() != nil:
		return refuse(resources.ErrQuantity, fmt.Sprintf("resize of %q: %s, want 0 to 2^62 of each kind", r.tenant.name, p.space.Format(need)))
	case need == resources.Vector{}:
		return fault.Text(fmt.Sprintf("pool: resize of %q to nothing: release the lease instead", r.tenant.name), ErrNeed)
	case !resources.Fits(&need, &r.run.Need):
		return fault.Text(fmt.Sprintf("pool: resize of %q: %s, want at most %s: a lease does not grow",
			r.tenant.name, p.space.Format(need), p.space.Format(r.run.Need)), ErrNeed)
	}
	p.tick()
	was := r.run.Need
	if err := p.fair.Resize(&r.run, need, p.at); err != nil {
		return err
	}
	if r.detached {
		return nil // its machine has left the cell, and its room with it
	}
	p.books.give(int(r.node), &was)
	p.books.take(int(r.node), &need)
	if p.lend != nil {
		less, _ := was.Sub(need)
		p.lend.gave(r, &less)
		defer p.lend.review(int(r.node))
	}
	if p.victimIndex != nil {
		p.victimIndex.resized(l.slot, r, &was)
	}
	if r.preempted && !r.late && !r.foreign {
		less, _ := was.Sub(need)
		r.tenant.returns(&less, -1)
	}
	if w := p.books.machines[r.node].keeper; w != nil && r.grant <= w.kept.made {
		less, _ := was.Sub(need)
		p.aged(w, int(r.node), &less)
	}
	if p.books.machines[r.node].owing > 0 {
		p.allot(int(r.node), r.takenFor)
	}
	p.epoch, p.freed = p.epoch+1, locality.Node(r.node)
	if r.late {
		p.lateEnd()
	}
	p.next()
	return nil
}

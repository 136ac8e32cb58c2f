package pool

import (
	"fmt"
	"strings"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// reason is why a request waits. It is noted under the mutex, and formatted by
// the caller that reads it.
type reason struct {
	cause    cause
	name     string // of a tenant or group
	machine  string
	need     resources.Vector
	limit    resources.Vector // or what the machine is over its capacity by
	free     resources.Vector
	capacity resources.Vector
	needs    []resources.Vector
	n        int // requests ahead of it
	wait     time.Duration
	level    locality.Level // of the nearest room
	next     locality.Level // that will do after wait
	relaxes  bool
}

// cause is the cause for which a request waits.
type cause uint8

const (
	shortOfRoom cause = iota
	atTheLimit
	overTheRate
	takenBack
	tooFar
	noneTogether
	behindOthers
	reservedForAnother
	overCapacity
	allDraining
)

// reason returns why w, behind n requests of its tenant, was not placed yet.
// Called with mu held, after a tick. Cost: O(machines).
func (ad *admission) reason(w *waiter, n int) reason {
	r := reason{need: w.need, name: w.tenant.name, n: n}
	if g := w.tenant.overLimit(&w.need, nil); g != nil && !w.isPromised() {
		r.cause, r.name, r.limit = atTheLimit, g.name, g.set.Limit
		return r
	}
	for g := w.tenant; g != nil; g = g.parent {
		if wait := g.bucket.wait(ad.at); wait > r.wait {
			r.cause, r.name, r.wait = overTheRate, g.name, wait
		}
	}
	if r.wait > 0 {
		return r
	}
	if w.isPromised() {
		r.cause, r.machine, r.n = takenBack, ad.books.machines[w.kept.nodes[0]].name, 0
		for _, l := range w.kept.taken {
			if of := l.live(); of != nil {
				if r.n++; r.n == 1 {
					r.name, r.machine = of.tenant.name, ad.books.machines[of.node].name
				}
			}
		}
		return r
	}
	if near := w.near(); near != nil && near.delayed {
		now := time.Now()
		r.cause, r.level = tooFar, near.offered
		at, ok := near.job.NextRelax(now)
		if r.relaxes = ok; ok {
			r.next, r.wait = near.job.Allowed(at), at.Sub(now)
		}
		return r
	}
	if w.many() != nil {
		r.cause, r.needs = noneTogether, w.many().needs
		return r
	}
	if n > 0 {
		r.cause = behindOthers
		return r
	}
	ad.shortage(w, &r)
	return r
}

// shortage notes the machine that is nearest to having room for w.
func (ad *admission) shortage(w *waiter, r *reason) {
	best, least := -1, 0.0
	for i := range ad.books.machines {
		m := &ad.books.machines[i]
		if m.gone || m.draining || !ad.placement.acceptableNode(w, locality.Node(i)) {
			continue
		}
		free := m.unowed()
		if m.lent != nil {
			free = free.Add(m.lent.free)
		}
		grants := m.grants()
		if grants && m.keeper != nil && m.keeper != w && resources.Fits(&w.need, &free) {
			r.cause, r.machine, r.name = reservedForAnother, m.name, m.keeper.tenant.name
			return
		}
		worst := 0.0
		for k, q := range w.need {
			if q == 0 && grants {
				continue // else all that is held beyond the capacity has to go
			}
			if lack := q + m.held[k] + m.owed[k] - m.reach(k); lack > 0 {
				worst = max(worst, float64(lack)/float64(max(m.capacity[k], 1)))
			}
		}
		if best < 0 || worst < least {
			best, least = i, worst
			r.cause, r.machine, r.free, r.capacity = shortOfRoom, m.name, free, m.capacity
			if !grants {
				r.cause = overCapacity
				for k := range r.limit {
					r.limit[k] = max(0, m.held[k]-m.block[k])
				}
			}
		}
	}
	if best < 0 {
		r.cause = allDraining
	}
}

// text returns the reason for people.
func (r *reason) text(p *Pool) string {
	switch r.cause {
	case atTheLimit:
		return fmt.Sprintf("%q is at its limit %s", r.name, p.formatLimit(r.limit))
	case overTheRate:
		return fmt.Sprintf("%q is over its rate for another %v", r.name, r.wait.Round(time.Millisecond))
	case takenBack:
		text := fmt.Sprintf("room on %q is being taken back for it", r.machine)
		if r.n > 0 {
			text += fmt.Sprintf(": preempted leases that are not released: %d, the first of %q", r.n, r.name)
		}
		return text
	case tooFar:
		text := fmt.Sprintf("there is room, but at level %q from what it prefers", p.placement.topology.LevelName(r.level))
		if r.relaxes {
			text += fmt.Sprintf("; %q will do in %v", p.placement.topology.LevelName(r.next), r.wait.Round(time.Millisecond))
		}
		return text
	case noneTogether:
		return fmt.Sprintf("no room for all of %s at once", p.formatAll(r.needs))
	case behindOthers:
		return fmt.Sprintf("behind %d of its tenant", r.n)
	case reservedForAnother:
		return fmt.Sprintf("room on %q is reserved for %q", r.machine, r.name)
	case overCapacity:
		return fmt.Sprintf("%q holds %s more than its capacity", r.machine, p.space.Format(r.limit))
	case allDraining:
		return "each machine that may be used is draining"
	}
	return r.shortText(p)
}

// shortText names the kinds that are short on the machine that is nearest to
// having enough, and those that are not.
func (r *reason) shortText(p *Pool) string {
	var short, enough []string
	for k, q := range r.need {
		if q == 0 {
			continue
		}
		d, _ := p.space.Dimension(resources.Kind(k))
		if q <= r.free[k] {
			enough = append(enough, d.Name)
			continue
		}
		short = append(short, fmt.Sprintf("%s: needs %s, %s of %s free on %s",
			d.Name, p.amount(k, q), p.amount(k, r.free[k]), p.amount(k, r.capacity[k]), r.machine))
	}
	text := "short of " + strings.Join(short, ", and of ")
	switch len(enough) {
	case 0:
	case 1:
		text += "; " + enough[0] + " is enough"
	default:
		text += "; " + strings.Join(enough, " and ") + " are enough"
	}
	return text
}

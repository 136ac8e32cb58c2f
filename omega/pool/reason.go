package pool

import (
	"fmt"
	"strings"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// reason makes the text of why a request waits. Its figures are noted under the mutex, and
// formatted by the caller that reads it.
type reason func(p *Pool) string

// reason returns why w, behind n requests of its tenant, was not placed yet.
// Called with mu held, after a tick. Cost: O(machines).
func (ad *admission) reason(w *waiter, n int) reason {
	if g := w.tenant.overLimit(&w.need, nil); g != nil && !w.isPromised() {
		limit := g.set.Limit
		return func(p *Pool) string { return fmt.Sprintf("%q is at its limit %s", g.name, p.formatLimit(limit)) }
	}
	if w.kept == nil && ad.replicas.yields(w.tenant, &w.need) {
		return func(*Pool) string { return "requests in other processes go first" }
	}
	var slow *Tenant // of the longest wait for a token
	var wait time.Duration
	for g := w.tenant; g != nil; g = g.parent {
		if its := g.bucket.wait(ad.at); its > wait {
			slow, wait = g, its
		}
	}
	switch {
	case slow != nil:
		return func(*Pool) string {
			return fmt.Sprintf("%q is over its rate for another %v", slow.name, wait.Round(time.Millisecond))
		}
	case w.isPromised():
		return ad.takenBack(w)
	case w.near() != nil && w.near().delayed:
		return tooFar(w.near(), time.Now())
	case w.many() != nil:
		needs := w.many().needs
		return func(p *Pool) string { return fmt.Sprintf("no room for all of %s at once", p.formatAll(needs)) }
	case n > 0:
		return func(*Pool) string { return fmt.Sprintf("behind %d of its tenant", n) }
	}
	return ad.shortage(w)
}

// takenBack is the reason of a request for which a guarantee takes room back.
func (ad *admission) takenBack(w *waiter) reason {
	machine, left, first := ad.books.machines[w.kept.nodes[0]].name, 0, ""
	for _, l := range w.kept.taken {
		if of := l.live(); of != nil {
			if left++; left == 1 {
				first, machine = of.tenant.name, ad.books.machines[of.node].name
			}
		}
	}
	return func(*Pool) string {
		text := fmt.Sprintf("room on %q is being taken back for it", machine)
		if left > 0 {
			text += fmt.Sprintf(": preempted leases that are not released: %d, the first of %q", left, first)
		}
		return text
	}
}

// tooFar is the reason of a request that waits for room nearer to its preferred machines.
func tooFar(n *near, now time.Time) reason {
	offered := n.offered
	at, relaxes := n.job.NextRelax(now)
	next := n.job.Allowed(at)
	return func(p *Pool) string {
		level := p.placement.topology.LevelName
		text := fmt.Sprintf("there is room, but at level %q from what it prefers", level(offered))
		if relaxes {
			text += fmt.Sprintf("; %q will do in %v", level(next), at.Sub(now).Round(time.Millisecond))
		}
		return text
	}
}

// shortage is the reason of a request that fits on no machine. It names the one that is
// nearest to having room.
func (ad *admission) shortage(w *waiter) reason {
	var best *machine
	least := 0.0
	for i := range ad.books.machines {
		m := &ad.books.machines[i]
		if m.gone || m.draining || !ad.placement.acceptableNode(w, locality.Node(i)) {
			continue
		}
		free, grants := m.within(), m.grants()
		if grants && m.keeper != nil && m.keeper != w && resources.Fits(&w.need, &free) {
			machine, keeper := m.name, m.keeper.tenant.name
			return func(*Pool) string { return fmt.Sprintf("room on %q is reserved for %q", machine, keeper) }
		}
		worst := 0.0
		for k, q := range w.need {
			if q == 0 && grants {
				continue // otherwise all use beyond the capacity has to go
			}
			if lack := q + m.held[k] + m.owed[k] - m.reach(k); lack > 0 {
				worst = max(worst, float64(lack)/float64(max(m.capacity[k], 1)))
			}
		}
		if best == nil || worst < least {
			best, least = m, worst
		}
	}
	switch {
	case best == nil:
		return func(*Pool) string { return "each machine that may be used is draining" }
	case !best.grants():
		name, over := best.name, sumOf(&best.held, &best.block, -1).Max(resources.Vector{})
		return func(p *Pool) string {
			return fmt.Sprintf("%q holds %s more than its capacity", name, p.space.Format(over))
		}
	}
	name, need, free, capacity := best.name, w.need, best.within(), best.capacity
	return func(p *Pool) string { return p.shortText(name, &need, &free, &capacity) }
}

// within returns the room of a machine that no promise has, what the cell lends included.
func (m *machine) within() resources.Vector {
	if m.lent == nil {
		return m.unowed()
	}
	return m.unowed().Add(m.lent.free)
}

// shortText names the kinds that are short on the machine that is nearest to
// having enough, and those that are not.
func (p *Pool) shortText(machine string, need, free, capacity *resources.Vector) string {
	var short, enough []string
	for k, q := range need {
		if q == 0 {
			continue
		}
		d, _ := p.space.Dimension(resources.Kind(k))
		if q <= free[k] {
			enough = append(enough, d.Name)
			continue
		}
		short = append(short, fmt.Sprintf("%s: needs %s, %s of %s free on %s",
			d.Name, p.amount(k, q), p.amount(k, free[k]), p.amount(k, capacity[k]), machine))
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

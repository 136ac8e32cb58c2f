package pool

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// Stats is a pool at one moment.
type Stats struct {
	Total   resources.Vector // of all machines
	Free    resources.Vector // of all machines; no single one may have as much
	Leases  int
	Waiting int
	Tenants []TenantStats // by name
}

// TenantStats is one tenant of a pool at one moment. Idle tenants without a
// weight of their own are forgotten once there are many, and then start anew.
type TenantStats struct {
	Name      string
	Weight    float64
	Held      resources.Vector
	Share     float64        // dominant share, divided by the weight
	Dominant  resources.Kind // the kind of which it holds the largest share
	Leases    int
	Waiting   int
	Granted   uint64        // leases ever
	ByLevel   []uint64      // of those, how many at each locality level
	Cancelled uint64        // waits that ended with their context
	Waited    time.Duration // by all that had to wait and were granted
}

// Stats returns the state of the pool. Cost: O(machines + tenants log
// tenants), during which the pool grants nothing.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Stats{Total: p.total, Leases: p.leases, Waiting: p.waiting}
	for m := range p.cell.Machines() {
		s.Free = s.Free.Add(m.Free)
	}
	for _, t := range p.tenants {
		share, kind, _ := p.heap.Share(t.user)
		s.Tenants = append(s.Tenants, TenantStats{
			Name: t.name, Weight: t.weight, Held: t.held, Share: share, Dominant: kind,
			Leases: t.leases, Waiting: t.queue.Len(), Granted: t.granted, ByLevel: slices.Clone(t.byLevel),
			Cancelled: t.cancelled, Waited: t.waited,
		})
	}
	slices.SortFunc(s.Tenants, func(a, b TenantStats) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

// Waiter is an Acquire that waits, and why.
type Waiter struct {
	Tenant string
	Needs  []resources.Vector
	Since  time.Time
	Reason string // for people: what it needs, and what of that is missing where
}

// Waiters returns who waits, by tenant and in the order of arrival, and the
// reason of each. Cost: O(waiters + tenants × machines), during which the pool
// grants nothing.
func (p *Pool) Waiters() []Waiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []Waiter
	for _, t := range p.tenants {
		n := 0
		for w := range t.waiters() {
			all = append(all, Waiter{t.name, slices.Clone(w.needs), w.since, p.reason(w, n)})
			n++
		}
	}
	slices.SortStableFunc(all, func(a, b Waiter) int { return cmp.Compare(a.Tenant, b.Tenant) })
	return all
}

// reason says why w, which has n waiters of its tenant before it, was not
// placed yet. Called with mu held.
func (p *Pool) reason(w *waiter, n int) string {
	if len(w.needs) > 1 {
		if nodes := p.pack(w); nodes != nil {
			return p.tooFar(w, p.farthest(w, nodes))
		}
		text := "needs " + p.formatAll(w.needs) + " at once, "
		if without := p.unplaced(w); len(without) > 0 {
			return text + "missing room for " + p.formatAll(without)
		}
		return text + "room is kept back for a tenant whose turn is before"
	}
	need := w.needs[0]
	if _, level, ok := p.find(need, w.prefer); ok && level > max(w.best, w.job.Allowed(time.Now())) {
		return p.tooFar(w, level)
	}
	if n > 0 {
		return fmt.Sprintf("behind %d of its tenant", n)
	}
	text := "needs " + p.space.Format(need)
	for node, m := range p.machines {
		if free, ok := p.sched.Snapshot().Free(m); ok && need.Fits(free) {
			return text + fmt.Sprintf(", room on node %d is kept back for a tenant whose turn is before", node)
		}
	}
	node := p.plan(w)[0]
	free, _ := p.sched.Snapshot().Free(p.machines[node])
	for k := range need {
		need[k] = max(0, need[k]-free[k])
	}
	return text + fmt.Sprintf(", missing %s on node %d, the nearest to that", p.space.Format(need), node)
}

// unplaced returns those of the needs of w for which first fit finds no room beside
// the others, kept back or not.
func (p *Pool) unplaced(w *waiter) (without []resources.Vector) {
	room := make([]resources.Vector, len(p.machines))
	for i, m := range p.machines {
		room[i], _ = p.sched.Snapshot().Free(m)
	}
	for _, need := range w.needs {
		i := slices.IndexFunc(room, need.Fits)
		if i < 0 {
			without = append(without, need)
			continue
		}
		room[i], _ = room[i].Sub(need)
	}
	return without
}

// tooFar says that w waits for its data.
func (p *Pool) tooFar(w *waiter, level locality.Level) string {
	now := time.Now()
	text := fmt.Sprintf("there is room, but at level %q from what it prefers", p.topology.LevelName(level))
	if at, ok := w.job.NextRelax(now); ok {
		text += fmt.Sprintf("; %q will do in %v", p.topology.LevelName(w.job.Allowed(at)), at.Sub(now).Round(time.Millisecond))
	}
	return text
}

func (p *Pool) formatAll(needs []resources.Vector) string {
	texts := make([]string, len(needs))
	for i, need := range needs {
		texts[i] = p.space.Format(need)
	}
	return strings.Join(texts, " + ")
}

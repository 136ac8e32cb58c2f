package pool

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// Stats is the state of a pool. Tenants are counted one after the other while
// the pool goes on, so sums over them may differ from the totals.
type Stats struct {
	Total    resources.Vector // of all machines
	Free     resources.Vector // of all machines; no single one may have as much
	Leases   int
	Waiting  int
	Machines []MachineStats // by number, without those that were removed
	Tenants  []TenantStats  // by name, groups included
}

// MachineStats is the state of one machine. Free and Held add up to the capacity,
// unless that was lowered below what is held: then nothing is free.
type MachineStats struct {
	Name     string
	Capacity resources.Vector
	Held     resources.Vector // by leases
	Free     resources.Vector
	Reserved resources.Vector // of what is free, or will be: for requests that wait
	Leases   int
	Draining bool // grants nothing new
}

// TenantStats is the state of one tenant or group. Tenants without a handle or
// settings are forgotten once there are many, and then start anew.
type TenantStats struct {
	Name      string
	Weight    float64
	Held      resources.Vector
	Share     float64        // dominant share, divided by the weight
	Dominant  resources.Kind // the kind of which it holds the largest share
	Received  time.Duration  // service since tenants began to wait, in time of the whole pool
	Leases    int
	Waiting   int
	Granted   uint64        // leases ever
	ByLevel   []uint64      // of those, how many at each locality level
	Cancelled uint64        // waits that ended with their context or maximum wait
	Refused   uint64        // by TryAcquire, and by a full queue
	Preempted uint64        // leases whose room a guarantee has taken back
	Failed    uint64        // tasks of Go that returned an error or panicked
	Waited    time.Duration // by all requests that waited and were granted
	// Waits counts those requests by how long they waited: Waits[i] by less than
	// 2^i times [FirstWait], the last one by more. Nil if none waited.
	Waits []uint64
}

// FirstWait is the bound of the first bucket of [TenantStats.Waits]. Each of the
// next is twice as long, the last but one 2.3 hours.
const FirstWait = time.Microsecond

// waitBuckets is how many buckets there are.
const waitBuckets = 35

// note counts a wait.
func (t *Tenant) note(waited time.Duration) {
	t.waited += waited
	if t.waits == nil {
		t.waits = make([]uint64, waitBuckets)
	}
	t.waits[min(bits.Len64(uint64(waited/FirstWait)), waitBuckets-1)]++
}

// statsAtATime is how many tenants are looked at before others may go on.
const statsAtATime = 64

// Stats returns the state of the pool. Cost: O(machines + tenants log tenants).
// The pool grants nothing while machines are summed, and while each 64 tenants
// are copied.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	p.tick()
	s := Stats{Total: p.books.total, Leases: p.leases, Waiting: p.waiting}
	s.Machines = make([]MachineStats, 0, len(p.books.machines))
	for i := range p.books.machines {
		if m := &p.books.machines[i]; !m.gone {
			at := m.stats()
			s.Free = s.Free.Add(at.Free)
			s.Machines = append(s.Machines, at)
		}
	}
	for i := 0; ; i++ {
		if i >= len(p.byUser) { // it may grow meanwhile
			break
		}
		if i%statsAtATime == statsAtATime-1 {
			p.mu.Unlock()
			p.mu.Lock()
		}
		if t := p.byUser[i]; t != nil {
			s.Tenants = append(s.Tenants, t.stats())
		}
	}
	p.mu.Unlock()
	slices.SortFunc(s.Tenants, func(a, b TenantStats) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

// stats returns the state of one machine.
func (m *machine) stats() MachineStats {
	return MachineStats{
		Name: m.name, Capacity: m.capacity, Held: m.held, Free: m.free(), Reserved: m.kept.Add(m.owed),
		Leases: m.leases, Draining: m.draining,
	}
}

// stats returns the state of one tenant. Called with mu held.
func (t *Tenant) stats() TenantStats {
	p := t.pool
	held := p.fair.Held(t.user)
	share, kind, _ := held.DominantShare(p.books.total)
	received, _ := p.fair.Received(t.user, p.at)
	return TenantStats{
		Name: t.name, Weight: t.set.Weight, Held: held, Share: share / t.set.Weight, Dominant: kind, Received: received,
		Leases: t.leases, Waiting: t.queued, Granted: t.granted, ByLevel: slices.Clone(t.byLevel),
		Cancelled: t.cancelled, Refused: t.refused, Preempted: t.preempted, Failed: t.failed, Waited: t.waited, Waits: slices.Clone(t.waits),
	}
}

// Waiter is a request that waits, with the reason.
type Waiter struct {
	Tenant string
	Label  string
	Needs  []resources.Vector
	Since  time.Time
	Reason string // for people: what is short, and where
}

// Waiters returns the requests that wait, by tenant and in the order of each
// queue. Cost: O(waiters * machines), during which the pool grants nothing.
func (p *Pool) Waiters() []Waiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tick()
	var all []Waiter
	for t := range p.all() {
		n := 0
		for w := t.first; w != nil; w = w.next {
			needs := []resources.Vector{w.need}
			if w.many() != nil {
				needs = slices.Clone(w.many().needs)
			}
			label := ""
			if w.extra != nil {
				label = w.extra.label
			}
			all = append(all, Waiter{t.name, label, needs, p.base.Add(w.since), p.reason(w, n)})
			n++
		}
	}
	slices.SortStableFunc(all, func(a, b Waiter) int { return cmp.Compare(a.Tenant, b.Tenant) })
	return all
}

// reason returns why w, behind n requests of its tenant, was not placed yet.
// Called with mu held.
func (p *Pool) reason(w *waiter, n int) string {
	if g := w.tenant.overLimit(&w.need); g != nil {
		return fmt.Sprintf("%q is at its limit %s", g.name, p.space.Format(g.set.Limit))
	}
	if wait := w.tenant.throttled(); wait > 0 {
		return fmt.Sprintf("%q is over its rate for another %v", w.tenant.name, wait.Round(time.Millisecond))
	}
	if w.kept != nil && w.kept.owed {
		return fmt.Sprintf("room on %q is being taken back for it", p.books.machines[w.kept.nodes[0]].name)
	}
	if w.near() != nil && w.near().delayed {
		return p.tooFar(w)
	}
	if w.many() != nil {
		return fmt.Sprintf("no room for all of %s at once", p.formatAll(w.many().needs))
	}
	if n > 0 {
		return fmt.Sprintf("behind %d of its tenant", n)
	}
	best, short := -1, resources.Vector{}
	least := 0.0
	for i := range p.books.machines {
		m := &p.books.machines[i]
		if m.gone || m.draining || !p.acceptableNode(w, locality.Node(i)) {
			continue
		}
		free := m.free()
		if m.keeper != nil && m.keeper != w && resources.Fits(&w.need, &free) {
			return fmt.Sprintf("room on %q is reserved for %q", m.name, m.keeper.tenant.name)
		}
		var lack resources.Vector
		worst := 0.0
		for k, q := range w.need {
			if lack[k] = max(0, q-free[k]); lack[k] > 0 {
				worst = max(worst, float64(lack[k])/float64(max(m.capacity[k], 1)))
			}
		}
		if best < 0 || worst < least {
			best, short, least = i, lack, worst
		}
	}
	if best < 0 {
		return "all machines are draining"
	}
	return fmt.Sprintf("short of %s on %q, the nearest to enough", p.space.Format(short), p.books.machines[best].name)
}

// overLimit returns the tenant or group whose limit a need would exceed, or nil.
func (t *Tenant) overLimit(need *resources.Vector) *Tenant {
	for ; t != nil; t = t.parent {
		if !t.set.Limited {
			continue
		}
		held := t.pool.fair.Held(t.user)
		for k := range need {
			if held[k] > t.set.Limit[k]-need[k] {
				return t
			}
		}
	}
	return nil
}

// tooFar returns the reason of a request that waits for its data.
func (p *Pool) tooFar(w *waiter) string {
	now := time.Now()
	text := fmt.Sprintf("there is room, but at level %q from what it prefers", p.topology.LevelName(w.near().offered))
	if at, ok := w.near().job.NextRelax(now); ok {
		text += fmt.Sprintf("; %q will do in %v", p.topology.LevelName(w.near().job.Allowed(at)), at.Sub(now).Round(time.Millisecond))
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

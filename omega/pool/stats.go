package pool

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// Stats is the state of a pool. Tenants are counted one after the other while
// the pool goes on, so sums over them may differ from the totals.
type Stats struct {
	Total resources.Vector // of all machines
	Free  resources.Vector // of all machines; no single one may have as much
	// Guaranteed is the sum of the guarantees of all tenants and groups by their
	// settings. Where machines have less, each is worth less: see TenantStats.
	Guaranteed resources.Vector
	Leases     int
	Waiting    int
	Machines   []MachineStats // by number, without removed machines
	Tenants    []TenantStats  // by name, groups included
	// Forgotten has the counts of all tenants that were forgotten, without a name. With them,
	// sums over tenants never fall.
	Forgotten TenantStats
}

// MachineStats is the state of one machine. Free and Held add up to the capacity. If the
// capacity was lowered below Held, nothing is free. In a cell the capacity is that of the
// blocks that the pool has there now.
type MachineStats struct {
	Name     string
	Capacity resources.Vector
	Held     resources.Vector // by leases
	Free     resources.Vector
	// Reserved is the room reserved for requests that wait, free now or later. A lease
	// that is older than a reservation may leave no room for it yet. Until that lease
	// ends, other tenants may use the reserved room.
	Reserved resources.Vector
	Leases   int
	Draining bool // grants nothing new
}

// TenantStats is the state of one tenant, or of a group with all tenants in it.
// Tenants without a handle or settings are forgotten once there are more than 1,024,
// and then start anew: see Stats.Forgotten.
type TenantStats struct {
	Name   string
	Weight float64
	Held   resources.Vector
	Share  float64 // dominant share, divided by the weight
	// Guaranteed is the present worth of the guarantee in its settings: all of it, or the
	// part in proportion to the machines that neither drain nor are gone.
	Guaranteed resources.Vector
	// Received is the service in this period of contention: its share of the pool
	// integrated over time. It is 0 again when no tenant waits any more.
	Received  time.Duration
	Leases    int
	Waiting   int
	Granted   uint64        // leases ever
	ByLevel   []uint64      // the number of them at each locality level
	NoRoom    uint64        // TryAcquire found no room, or the tenant at a bound
	QueueFull uint64        // requests that a full queue refused
	TimedOut  uint64        // waits that ended with the maximum wait
	Cancelled uint64        // requests that ended with their context
	Closed    uint64        // requests that waited when the pool was closed
	Never     uint64        // requests that could never be met
	Throttled uint64        // requests that came when the rate had no token: these wait
	Preempted uint64        // leases that a guarantee has taken back
	Failed    uint64        // tasks of Tenant.Go with an error: returned, a panic, or that they never ran
	Waited    time.Duration // by all requests that waited and were granted
	// Waits counts those requests by how long they waited: Waits[i] by less than
	// 2^i microseconds, the last one by more. Nil if none waited.
	Waits []uint64
}

// firstWait is the bound of the first bucket of [TenantStats.Waits]. Each of the
// next is twice as long, the last but one 2.3 hours.
const firstWait = time.Microsecond

// waitBuckets is how many buckets there are.
const waitBuckets = 35

// note counts a wait.
func (t *Tenant) note(waited time.Duration) {
	t.waited += waited
	if t.waits == nil {
		t.waits = make([]uint64, waitBuckets)
	}
	t.waits[min(bits.Len64(uint64(waited/firstWait)), waitBuckets-1)]++
}

// statsAtATime is how many tenants are looked at before others may go on.
const statsAtATime = 64

// Stats returns the state of the pool. Cost: O(machines + tenants log tenants).
// The pool grants nothing while machines are summed, and while each 64 tenants
// are copied.
func (p *Pool) Stats() Stats {
	if p.none() {
		return Stats{}
	}
	p.mu.Lock()
	n, tenants := len(p.books.machines), len(p.tenants.byUser)
	p.mu.Unlock()
	machines, all := make([]MachineStats, 0, n), make([]TenantStats, 0, tenants)
	of := make([]*Tenant, 0, tenants) // all[i] is of of[i]
	p.mu.Lock()
	p.tick()
	forgotten := p.tenants.forgotten
	s := Stats{Total: p.books.total, Leases: p.leases.held, Waiting: p.waits.waiting}
	s.Machines = machines
	for i := range p.books.machines {
		if m := &p.books.machines[i]; !m.gone {
			one := m.stats(locality.Node(i))
			s.Free = s.Free.Add(one.Free)
			s.Machines = append(s.Machines, one)
		}
	}
	for i := 0; ; i++ {
		if i >= len(p.tenants.byUser) { // it may grow meanwhile
			break
		}
		if i%statsAtATime == 0 {
			p.mu.Unlock()
			all, of = slices.Grow(all, statsAtATime), slices.Grow(of, statsAtATime)
			p.mu.Lock()
		}
		if t := p.tenants.byUser[i]; t != nil {
			all, of = append(all, t.stats()), append(of, t)
			if !t.coveredAbove() {
				s.Guaranteed = addUp(&s.Guaranteed, &t.set.Guarantee)
			}
		}
	}
	if s.Forgotten = p.tenants.past; p.tenants.forgotten > forgotten {
		all, of = p.tenants.remembered(all, of) // the others are in Forgotten
	}
	p.mu.Unlock()
	if len(all) == 0 {
		return s
	}
	addUpGroups(all, of)
	order := make([]int32, len(all)) // a TenantStats is large, so indices are sorted
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int { return cmp.Compare(all[i].Name, all[j].Name) })
	s.Tenants = make([]TenantStats, len(all))
	for to, from := range order {
		s.Tenants[to] = all[from]
	}
	return s
}

// addUpGroups adds what is counted of each tenant to the groups that it is in. All[i] is
// the state of of[i].
func addUpGroups(all []TenantStats, of []*Tenant) {
	if !slices.ContainsFunc(of, func(t *Tenant) bool { return t.parent != nil }) {
		return
	}
	own, at := slices.Clone(all), make(map[*Tenant]int, len(of))
	for i, t := range of {
		at[t] = i
	}
	for i, t := range of {
		for g := t.parent; g != nil; g = g.parent {
			if j, ok := at[g]; ok {
				all[j].add(&own[i])
			}
		}
	}
}

// add adds the counts of another tenant.
func (s *TenantStats) add(o *TenantStats) {
	s.Leases += o.Leases
	s.Waiting += o.Waiting
	s.Granted += o.Granted
	s.NoRoom += o.NoRoom
	s.QueueFull += o.QueueFull
	s.TimedOut += o.TimedOut
	s.Cancelled += o.Cancelled
	s.Closed += o.Closed
	s.Never += o.Never
	s.Throttled += o.Throttled
	s.Preempted += o.Preempted
	s.Failed += o.Failed
	s.Waited += o.Waited
	s.ByLevel = addCounts(s.ByLevel, o.ByLevel)
	s.Waits = addCounts(s.Waits, o.Waits)
}

// addCounts returns the sums by index, in a slice of its own unless b is empty.
func addCounts(a, b []uint64) []uint64 {
	if len(b) == 0 {
		return a
	}
	sum := make([]uint64, max(len(a), len(b)))
	copy(sum, a)
	for i, n := range b {
		sum[i] += n
	}
	return sum
}

// coveredAbove reports whether a group above t has a guarantee, of which that of t is a
// part.
func (t *Tenant) coveredAbove() bool {
	for g := t.parent; g != nil; g = g.parent {
		if g.set.Guarantee != (resources.Vector{}) {
			return true
		}
	}
	return false
}

// stats returns the state of one tenant. Called with mu held.
func (t *Tenant) stats() TenantStats {
	p := t.pool
	held := p.tenants.fair.Held(t.user)
	share, _, _ := held.DominantShare(p.books.total)
	if t.far != nil {
		held, _ = held.Sub(t.far.held)
	}
	received, _ := p.tenants.fair.Received(t.user, p.at)
	return TenantStats{
		Name: t.name, Weight: t.set.Weight, Held: held, Guaranteed: t.guarantee, Share: share / t.set.Weight, Received: received,
		Leases: t.leases, Waiting: t.queued, Granted: t.granted, ByLevel: slices.Clone(t.byLevel),
		NoRoom: t.noRoom, QueueFull: t.queueFull, TimedOut: t.timedOut, Cancelled: t.cancelled, Closed: t.closed, Never: t.never, Throttled: t.over, Preempted: t.preempted, Failed: t.failed, Waited: t.waited, Waits: slices.Clone(t.waits),
	}
}

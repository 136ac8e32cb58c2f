package pool

import (
	"math"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// yields reports whether a need of t has to leave the room to a request in another replica:
//
//  1. of a tenant that is before t in the order, by more than a step;
//  2. of t itself, where the other replica uses less of t, by more than a step.
//
// It is the rule of package drf/gate: no replica takes while a poorer request waits. A step is
// a chunk of leases: within it room stays where it is. Room is kept in vain for no longer than
// the patience. Then the request is passed over until the use of its tenant has grown there.
//
// Cost: O(tenants with requests that wait in other replicas), once for a lease of t or a note.
// Nil yields nothing. Called with mu held, after a tick.
func (rs *replicas) yields(t *Tenant, need *resources.Vector) bool {
	if !rs.contended() {
		return false
	}
	f := rs.farOf(t)
	if last := &f.verdict; last.epoch == rs.epoch && last.leases == t.leases && last.need == *need {
		return last.yields
	}
	f.verdict = verdict{rs.epoch, t.leases, *need, false}
	for _, other := range rs.waiting {
		if rs.before(other, t, need) && rs.keepFor(other) {
			f.verdict.yields = true
			break
		}
	}
	return f.verdict.yields
}

// verdict is a result of yields, with the arguments on which it depends.
type verdict struct {
	epoch  uint64 // of the notes
	leases int    // of the tenant
	need   resources.Vector
	yields bool
}

// keepFor reports whether room is kept for a tenant in another replica: not for longer than
// the patience.
func (rs *replicas) keepFor(t *Tenant) bool {
	f := t.far
	if f.since == 0 {
		f.since = max(1, rs.at)
	}
	left := f.since + rs.patience - rs.at
	if left <= 0 {
		return false
	}
	if !rs.timing {
		rs.timing = true
		setTimer(&rs.timer, left, func() {
			rs.mu.Lock()
			defer rs.mu.Unlock()
			rs.timing = false
			rs.epoch++
			if rs.tick(); !rs.over {
				rs.next()
				rs.lend.kick()
			}
		})
	}
	return true
}

// before reports whether a tenant with requests in another replica goes before a need of t.
func (rs *replicas) before(other, t *Tenant, need *resources.Vector) bool {
	ahead, _, _ := need.DominantShare(rs.books.total)
	ahead *= float64(rs.step(t, need))
	if other == t {
		own := rs.here(t)
		mine, _, _ := own.DominantShare(rs.books.total)
		theirs, _, _ := t.far.least.DominantShare(rs.books.total)
		return mine-theirs >= ahead
	}
	if !shares(&other.far.need, need) {
		return false // it has no use for the room
	}
	a, b := siblings(other, t)
	if x, y := a.set.Priority, b.set.Priority; x != y {
		return x > y
	}
	if x, y := rs.owed(a), rs.owed(b); x != y {
		return x
	}
	length, _ := rs.tenants.fair.Expected(t.user)
	seconds := max(length, time.Millisecond).Seconds()
	return rs.key(b, seconds)-rs.key(a, seconds) > ahead*seconds/b.set.Weight
}

// key is the place of a tenant or group among its siblings: the service that it has received
// of late, and will receive if its leases last so many seconds, for its weight. Service in the
// past counts less and less, and so do the errors of notes that came late: without that, two
// replicas could each find for ever that the other one goes first.
func (rs *replicas) key(t *Tenant, length float64) float64 {
	held := rs.tenants.fair.Held(t.user)
	share, _, _ := held.DominantShare(rs.books.total)
	return (rs.farOf(t).mean*rs.memory.Seconds() + share*length) / t.set.Weight
}

// sample brings the mean of what tenants hold up to date, while requests wait somewhere.
// Called with mu held, after a tick.
func (rs *replicas) sample() {
	passed := rs.at - rs.sampled
	if passed <= 0 {
		return
	}
	rs.sampled = rs.at
	if rs.waits.waiting == 0 && !rs.contended() {
		return // service without contention earns or costs nothing
	}
	memory := leastMemory
	for _, t := range rs.known {
		if length, known := rs.tenants.fair.Expected(t.user); known && t.first != nil {
			memory = max(memory, memoryTasks*length)
		}
	}
	rs.memory += (memory - rs.memory) / 8
	old := math.Exp(-passed.Seconds() / rs.memory.Seconds())
	for _, t := range rs.known {
		held := rs.tenants.fair.Held(t.user)
		share, _, _ := held.DominantShare(rs.books.total)
		t.far.mean = share + (t.far.mean-share)*old
	}
}

// enter has a tenant that begins to wait begin no further behind than those that wait: it
// has earned nothing before.
func (rs *replicas) enter(t *Tenant) {
	for ; t != nil; t = t.parent {
		least := math.Inf(1)
		for _, o := range rs.known {
			if o != t && o.parent == t.parent && (o.first != nil || o.far.waits || o.children != nil) {
				least = min(least, o.far.mean/o.set.Weight)
			}
		}
		if f := rs.farOf(t); !math.IsInf(least, 1) {
			f.mean = max(f.mean, least*t.set.Weight)
		}
	}
}

// owed reports whether a tenant or group is below its guarantee.
func (rs *replicas) owed(t *Tenant) bool {
	held := rs.tenants.fair.Held(t.user)
	for k, least := range t.guarantee {
		if held[k] < least {
			return true
		}
	}
	return false
}

// step is how many leases a replica may be ahead: a chunk, but no more than an eighth of what
// there is, or of a limit, and one at least.
func (rs *replicas) step(t *Tenant, need *resources.Vector) int64 {
	n := rs.chunk
	cut := func(most *resources.Vector) {
		for k, q := range need {
			if q > 0 {
				n = min(n, most[k]/q/mostStep)
			}
		}
	}
	cut(&rs.books.total)
	for g := t; g != nil; g = g.parent {
		if g.set.Limited {
			cut(&g.set.Limit)
		}
	}
	return max(1, n)
}

// shares reports whether two needs have a kind in common.
func shares(a, b *resources.Vector) bool {
	for k := range a {
		if a[k] > 0 && b[k] > 0 {
			return true
		}
	}
	return false
}

// siblings returns the tenants or groups on the paths to two tenants at which these part.
func siblings(a, b *Tenant) (x, y *Tenant) {
	for depth(a) > depth(b) {
		a = a.parent
	}
	for depth(b) > depth(a) {
		b = b.parent
	}
	for a.parent != b.parent {
		a, b = a.parent, b.parent
	}
	return a, b
}

func depth(t *Tenant) (n int) {
	for ; t.parent != nil; t = t.parent {
		n++
	}
	return n
}

package pool

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// Settings are the rights of a tenant or group. The zero Settings is a tenant of
// weight 1 without guarantee, limit or bounds on its queue. Of a group, Queue,
// MaxWait, MaxRun and Strict have no effect.
type Settings struct {
	// Weight is the share relative to siblings, in [1e-6, 1e6]. 0 means 1.
	Weight float64
	// Guarantee is the share that the tenant or group always gets back. Requests
	// within it go first: a tenant below its guarantee is served before each sibling
	// that has reached its guarantee or has none. Where there is no room for such a
	// request, leases of other tenants are preempted, all that is needed at once. The
	// guarantee is restored when these are released.
	//
	// Three kinds of leases are not preempted: those within the guarantee of their own
	// tenant or group, those of a higher class, and those that the caller of the request
	// holds, as its context tells. Where all others together are not enough, the request
	// waits. The room
	// of a need has to be on one machine. Several needs are placed one by one, the
	// largest first; where one finds no room, nothing is preempted. Kinds that the
	// guarantee does not name are not taken from others. The guarantees of a pool,
	// and those below a group with one, add up to no more than there is. Those below
	// a group with a limit add up to no more than the limit.
	//
	// Order of preemption:
	//
	//  1. Room that is promised to other requests and not held yet.
	//  2. Leases of the lowest class.
	//  3. Within a class, leases of the tenant with the largest dominant share for its
	//     weight.
	//  4. Of one tenant, and of equals, the youngest lease.
	//
	// The machine is the one where the highest class to preempt is the lowest, then the
	// one where the least has to be preempted. Classes hold among siblings. Take the
	// paths from the root to the tenant of the lease and to that of the guarantee. Let C
	// be the class of the first node that is on the lease's path alone, and D the class
	// of its sibling on the other path. The class of the lease is C less D.
	//
	// A holder has the grace of the pool to release a preempted lease. When the grace
	// is over, no request counts on that lease any more. Other leases are preempted in
	// its place, for all requests within the guarantee that still wait. Let F be the
	// number of holders that do not release. While there are leases to preempt, a
	// request waits F + 1 graces at most. A late release serves the request that is
	// next.
	//
	// Machines that shrink, go or drain may leave less of a kind than all guarantees
	// add up to. Then each is worth less of that kind, in proportion and rounded down:
	// see [TenantStats]. No settings may raise a guarantee of that kind then.
	Guarantee resources.Vector
	// Limit is never exceeded. Limited tells a limit of nothing from none. A kind
	// that the limit does not name has a limit of 0, while one that the guarantee
	// does not name is not guaranteed. [resources.MaxQuantity] means no bound. A
	// limit on one kind only:
	//
	//	limit := resources.Uniform(resources.MaxQuantity)
	//	limit[cpu] = 4000
	Limit   resources.Vector
	Limited bool
	// Queue bounds the waiters of the tenant: one more fails with
	// [ErrQueueFull]. 0 means no bound.
	Queue int
	// MaxWait bounds each wait, which then fails with [ErrWait]. A [Request] may ask
	// for less. 0 means no bound.
	MaxWait time.Duration
	// MaxRun bounds the run of each task of [Tenant.Go] and [Tenant.Do]: the context
	// that its function was given then ends with [ErrRun], but not [Lease.Context].
	// 0 means no bound.
	MaxRun time.Duration
	// Priority is the class of the tenant: among siblings a higher class goes
	// first, and shares are even within a class. A guarantee is given back at the
	// expense of tenants of its own and lower classes, the lowest first.
	Priority int
	// Rate is how many requests a second the tenant or group may start, on
	// average, and Burst how many at once; 0 means 1. A request of several needs is
	// one. A Rate of 0 means no bound.
	Rate  float64
	Burst int
	// Strict keeps the tenant's requests in their order. Otherwise a request
	// that fits may pass requests of the same tenant that do not, 63 at most.
	Strict bool
}

// Settings returns the settings of the tenant, with the weight filled in.
func (t *Tenant) Settings() Settings {
	if t.none() {
		return Settings{}
	}
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	return t.set
}

// check refuses bad settings of t, and fills in the weight. Called with mu held;
// t need not be in the pool yet.
func (t *Tenant) check(s *Settings) error {
	p := t.pool
	bad := func(format string, args ...any) error {
		return refuse(ErrConfig, fmt.Sprintf("settings of %q: ", t.name)+fmt.Sprintf(format, args...))
	}
	if s.Weight == 0 {
		s.Weight = 1
	}
	switch {
	case !(s.Weight >= drf.MinWeight && s.Weight <= drf.MaxWeight):
		return bad("weight %v, want %v to %v", s.Weight, drf.MinWeight, drf.MaxWeight)
	case s.Guarantee.Check() != nil:
		return bad("guarantee %s, want 0 to 2^62 of each kind", p.space.Format(s.Guarantee))
	case s.Limit.Check() != nil:
		return bad("limit %s, want 0 to 2^62 of each kind", p.space.Format(s.Limit))
	case !s.Limited && s.Limit != (resources.Vector{}):
		return bad("limit %s, but Limited is not set", p.space.Format(s.Limit))
	case s.Limited && !s.Guarantee.Fits(s.Limit):
		return bad("guarantee %s, more than the limit %s", p.space.Format(s.Guarantee), p.formatLimit(s.Limit))
	case s.Priority < math.MinInt32 || s.Priority > math.MaxInt32:
		return bad("priority %d, want 32 bits", s.Priority)
	case !(s.Rate >= 0 && s.Rate <= maxRate):
		return bad("rate %v a second, want 0 to %v", s.Rate, maxRate)
	case s.Burst < 0 || s.Burst > 0 && s.Rate == 0:
		return bad("burst %d at a rate of %v, want 0 or more, and a rate with it", s.Burst, s.Rate)
	case s.Queue < 0:
		return bad("queue %d, want 0 or more", s.Queue)
	case s.MaxWait < 0:
		return bad("maximum wait %v, want 0 or more", s.MaxWait)
	case s.MaxRun < 0:
		return bad("maximum run time %v, want 0 or more", s.MaxRun)
	}
	return t.owed(s)
}

// apply replaces the settings of t. Called with mu held.
func (t *Tenant) apply(s Settings) error {
	if err := t.check(&s); err != nil {
		return err
	}
	p := t.pool
	p.tick()
	// None of these fails after the check.
	_ = p.tenants.fair.SetWeight(t.user, s.Weight, p.at)
	_ = p.tenants.fair.SetClass(t.user, int32(s.Priority))
	_ = p.tenants.fair.SetLimit(t.user, s.Limit, s.Limited, p.at)
	if s.Guarantee != t.set.Guarantee || s.Priority != t.set.Priority || s.Limited != t.set.Limited || s.Limit != t.set.Limit {
		p.search.index = nil // it knows these
	}
	if s.Guarantee != t.set.Guarantee {
		p.tenants.guaranteed = slices.DeleteFunc(p.tenants.guaranteed, func(o *Tenant) bool { return o == t })
		if s.Guarantee != (resources.Vector{}) {
			p.tenants.guaranteed = append(p.tenants.guaranteed, t)
		}
		t.set.Guarantee, t.guarantee = s.Guarantee, s.Guarantee
		_ = p.tenants.fair.SetGuarantee(t.user, s.Guarantee)
		p.tenants.scale()
	}
	lowered := s.Limited && (!t.set.Limited || !resources.Fits(&t.set.Limit, &s.Limit))
	t.set, t.kept = s, true
	p.tenants.ranked = p.tenants.ranked || s.Priority != 0
	t.bucket.set(s.Rate, s.Burst, t.promises, p.at)
	t.bind()
	if p.replicas != nil {
		p.replicas.mark(t)
	}
	if lowered {
		t.refuseAbove()
		p.admission.refuseNested()
	}
	for c := range t.below() {
		c.charge = 0 // it follows the class
		p.tenants.await(c)
	}
	t.review()
	t.refill()
	if s.MaxWait > 0 && t.queued > 0 {
		t.expireIn(0) // tasks that wait already
	}
	return nil
}

// owed checks that guarantees add up to no more than can be held:
//
//   - those below t to no more than its own or its limit;
//   - those beside it to no more than the limits of the groups above, up to the next
//     group that has a guarantee or to the pool.
func (t *Tenant) owed(s *Settings) error {
	p, mine := t.pool, s.Guarantee
	below := promised(t.children, nil)
	switch {
	case mine != (resources.Vector{}):
		if !below.Fits(mine) {
			return refuse(ErrConfig, fmt.Sprintf("settings of %q: guarantee %s, but those in the group add up to %s",
				t.name, p.space.Format(mine), p.space.Format(below)))
		}
	case s.Limited && !below.Fits(s.Limit):
		return refuse(ErrConfig, fmt.Sprintf("settings of %q: limit %s, but guarantees in the group add up to %s",
			t.name, p.formatLimit(s.Limit), p.space.Format(below)))
	default:
		mine = below
	}
	if mine == (resources.Vector{}) {
		return nil
	}
	for at := t; ; at = at.parent {
		g, most, what, of := at.parent, &p.books.total, "", "the pool"
		beside := promised(p.tenants.siblings(g), at)
		if mine = addUp(&mine, &beside); g != nil {
			of = fmt.Sprintf("group %q", g.name)
			switch {
			case g.set.Guarantee != (resources.Vector{}):
				most = &g.set.Guarantee
			case g.set.Limited:
				most, what = &g.set.Limit, "the limit "
			default:
				continue
			}
		}
		if !resources.Fits(&mine, most) && (g != nil || t.raises(s, &mine, most)) {
			return refuse(ErrConfig, fmt.Sprintf("settings of %q: guarantees add up to %s, more than %s%s of %s",
				t.name, p.space.Format(mine), what, p.formatLimit(*most), of))
		}
		if g == nil || g.set.Guarantee != (resources.Vector{}) { // that one is within what is above
			return nil
		}
	}
}

// guaranteed returns the guarantee of t, or what those in it add up to where it has
// none.
func (t *Tenant) guaranteed() resources.Vector {
	if t.set.Guarantee != (resources.Vector{}) {
		return t.set.Guarantee
	}
	return promised(t.children, nil)
}

// raises reports whether settings guarantee more than t does now, of a kind of which
// guarantees would add up to more than there is. After machines have shrunk or gone
// they may do so already, and settings that do not raise that are no worse.
func (t *Tenant) raises(s *Settings, sum, most *resources.Vector) bool {
	was, now := t.guaranteed(), s.Guarantee
	if now == (resources.Vector{}) {
		now = promised(t.children, nil)
	}
	for k := range sum {
		if sum[k] > most[k] && now[k] > was[k] {
			return true
		}
	}
	return false
}

package pool

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// sweepMin is how many tenants are remembered at least, idle ones included.
const sweepMin = 1024

// Settings are the rights of a tenant or group. The zero Settings is a tenant of
// weight 1 without guarantee, limit or bounds on its queue. Of a group, Queue,
// MaxWait, MaxRun and Strict have no effect.
type Settings struct {
	// Weight is the share relative to siblings, in [1e-6, 1e6]. 0 means 1.
	Weight float64
	// Guarantee is served before all siblings that are not below their own. Where
	// there is no room for a request of one need within it, leases of others are
	// preempted, all that is needed at once, so that it is restored when they are
	// released. Leases within the guarantees of others, and those of higher
	// classes, are safe. The room has to be on one machine; kinds that the
	// guarantee does not name are not taken from others. The guarantees of a pool,
	// and those below a group with one, add up to no more than there is.
	Guarantee resources.Vector
	// Limit is never exceeded. Limited tells a limit of nothing from none.
	Limit   resources.Vector
	Limited bool
	// Queue bounds the waiters of the tenant: one more fails with
	// [ErrQueueFull]. 0 means no bound.
	Queue int
	// MaxWait bounds each wait, which then fails with [ErrWait]. 0 means no
	// bound.
	MaxWait time.Duration
	// MaxRun bounds the run of each task of [Tenant.Go] and [Tenant.Do]: its
	// context then ends with [ErrRun]. 0 means no bound.
	MaxRun time.Duration
	// Priority is the class of the tenant: among siblings a higher class goes
	// first, and shares are even within a class. A guarantee is given back at the
	// expense of tenants of its own and lower classes.
	Priority int
	// Rate is how many requests a second the tenant or group may start, on
	// average, and Burst how many at once; 0 means 1. A Rate of 0 means no bound.
	Rate  float64
	Burst int
	// Strict keeps the tenant's requests in their order. Otherwise a request
	// that fits may pass requests of the same tenant that do not, 63 at most.
	Strict bool
}

// Tenant is the handle of a user of a pool, or of a group of them. Handles are
// made by [Pool.Tenant] and [Tenant.Tenant], and are safe for concurrent use. The
// methods of a nil or zero Tenant fail with [resources.ErrNil], or return nothing.
type Tenant struct {
	pool   *Pool
	name   string // the names of its groups come first, separated by slashes
	user   drf.User
	parent *Tenant // nil below the root

	// The pool's mutex guards the fields below.
	set      Settings
	kept     bool // has a handle or settings, so it is not forgotten
	children map[string]*Tenant
	bounded  bool // itself or a group above it has a limit or a rate
	bucket   bucket

	first, last *waiter // by priority, then in the order of arrival
	queued      int
	runs        []run            // of the queue, none where all requests have one priority
	least       resources.Vector // each waiter needs at least this
	popped      int              // waiters that left since that was exact
	served      time.Duration    // when the first of them was granted its need last
	leases      int
	expiry      *time.Timer // fires for tasks that wait too long,
	expiring    bool        // and runs

	// Counts, as TenantStats says.
	granted, noRoom, queueFull, timedOut, cancelled, never, over, preempted, failed uint64

	byLevel []uint64
	waits   []uint64 // by bucket
	waited  time.Duration
}

// none reports whether t is nil, or not made by a pool.
func (t *Tenant) none() bool { return t == nil || t.pool == nil }

// Tenant returns the tenant of a name, and makes it if the pool does not have
// it. With settings given they replace those that the tenant has. A tenant with
// a handle is never forgotten.
//
// Errors: [ErrTenant] for a name that is empty, longer than
// [resources.MaxName] bytes or not printable; [ErrConfig] for settings.
func (p *Pool) Tenant(name string, settings ...Settings) (*Tenant, error) {
	if p.none() {
		return nil, absent("receiver")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.child(nil, name, settings)
}

// Tenant returns the tenant of a name within the group t, and makes it if need
// be. The first child makes t a group: it then has no leases and no waiters of
// its own. Errors: as [Pool.Tenant], and [ErrTenant] if t has leases or waiters.
func (t *Tenant) Tenant(name string, settings ...Settings) (*Tenant, error) {
	if t.none() {
		return nil, absent("tenant")
	}
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	return t.pool.child(t, name, settings)
}

// Name returns the name of the tenant, after those of its groups and slashes.
func (t *Tenant) Name() string {
	if t.none() {
		return ""
	}
	return t.name
}

// String returns the name.
func (t *Tenant) String() string {
	if t.none() {
		return ""
	}
	return t.name
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

// Set replaces the settings of the tenant, at any time. Waiters beyond a shorter
// queue stay. Errors: [ErrConfig], which changes nothing.
func (t *Tenant) Set(s Settings) error {
	if t.none() {
		return absent("tenant")
	}
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	if err := t.apply(s); err != nil {
		return err
	}
	t.pool.dispatch() // another tenant may be next
	t.pool.launch()
	return nil
}

// child returns the tenant of a name below a group, the root for nil. Called
// with mu held.
func (p *Pool) child(parent *Tenant, name string, settings []Settings) (*Tenant, error) {
	if len(settings) > 1 {
		return nil, refuse(ErrConfig, fmt.Sprintf("tenant %q: settings given %d times, want once", name, len(settings)))
	}
	siblings := p.tenants
	if parent != nil {
		siblings = parent.children
	}
	t := siblings[name]
	if t == nil {
		var err error
		if t, err = p.newTenant(parent, name, settings...); err != nil {
			return nil, err
		}
	} else if len(settings) == 1 {
		if err := t.apply(settings[0]); err != nil {
			return nil, err
		}
		p.dispatch()
		p.launch()
	}
	t.kept = true
	return t, nil
}

// newTenant makes a tenant with the settings that are given, or zero ones. Called
// with mu held.
func (p *Pool) newTenant(parent *Tenant, name string, settings ...Settings) (*Tenant, error) {
	if err := resources.CheckName(name); err != nil {
		return nil, because(ErrTenant, "tenant", err)
	}
	p.sweep()
	t := &Tenant{pool: p, name: name, parent: parent, set: Settings{Weight: 1}}
	var group drf.User
	if parent != nil {
		if parent.leases > 0 || parent.queued > 0 {
			return nil, refuse(ErrTenant, fmt.Sprintf("tenant %q in %q: the group has %d leases and %d waiters of its own, want none",
				name, parent.name, parent.leases, parent.queued))
		}
		group, t.name, t.bounded = parent.user, parent.name+"/"+name, parent.bounded
	}
	for i := range settings {
		if err := t.check(&settings[i]); err != nil {
			return nil, err
		}
	}
	var err error
	if t.user, err = p.fair.Add(group, 1); err != nil {
		return nil, because(ErrTenant, fmt.Sprintf("tenant %q", name), err)
	}
	if parent != nil {
		if parent.children == nil {
			parent.children = make(map[string]*Tenant)
		}
		parent.children[name] = t
	} else {
		p.tenants[name] = t
	}
	for t.user.Index() >= len(p.byUser) {
		p.byUser = append(p.byUser, nil)
	}
	p.byUser[t.user.Index()] = t
	for _, s := range settings {
		_ = t.apply(s) // they were checked
	}
	return t, nil
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
		return bad("guarantee %s, more than the limit %s", p.space.Format(s.Guarantee), p.space.Format(s.Limit))
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
	_ = p.fair.SetWeight(t.user, s.Weight, p.at)
	_ = p.fair.SetClass(t.user, int32(s.Priority))
	_ = p.fair.SetGuarantee(t.user, s.Guarantee)
	_ = p.fair.SetLimit(t.user, s.Limit, s.Limited, p.at)
	p.guaranteed = slices.DeleteFunc(p.guaranteed, func(o *Tenant) bool { return o == t })
	if s.Guarantee != (resources.Vector{}) {
		p.guaranteed = append(p.guaranteed, t)
	}
	t.set, t.kept, p.victimIndex = s, true, nil
	t.bucket.set(s.Rate, s.Burst, p.at)
	t.bind()
	for c := range t.below() {
		p.await(c)
	}
	t.refill()
	if s.MaxWait > 0 && t.queued > 0 {
		t.expireIn(0) // tasks that wait already
	}
	return nil
}

// owed checks that guarantees add up to no more than there is: those below t to no
// more than its own, and those beside it to no more than the next group above that
// has one, or the pool.
func (t *Tenant) owed(s *Settings) error {
	p, mine := t.pool, s.Guarantee
	below := promised(t.children, nil)
	if mine == (resources.Vector{}) {
		mine = below
	} else if !below.Fits(mine) {
		return refuse(ErrConfig, fmt.Sprintf("settings of %q: guarantee %s, but those in the group add up to %s",
			t.name, p.space.Format(mine), p.space.Format(below)))
	}
	if mine == (resources.Vector{}) {
		return nil
	}
	for g := t; ; g = g.parent {
		siblings, most, of := p.tenants, p.books.total, "the pool"
		if g.parent != nil {
			siblings, most, of = g.parent.children, g.parent.set.Guarantee, fmt.Sprintf("group %q", g.parent.name)
		}
		if mine = mine.Add(promised(siblings, g)); g.parent == nil || most != (resources.Vector{}) {
			if !mine.Fits(most) {
				return refuse(ErrConfig, fmt.Sprintf("settings of %q: guarantees add up to %s, more than %s of %s",
					t.name, p.space.Format(mine), p.space.Format(most), of))
			}
			return nil
		}
	}
}

// promised returns what the guarantees of tenants and groups add up to, all but
// one. A group without a guarantee counts what is promised in it.
func promised(tenants map[string]*Tenant, but *Tenant) (sum resources.Vector) {
	for _, t := range tenants {
		switch {
		case t == but:
		case t.set.Guarantee != (resources.Vector{}):
			sum = sum.Add(t.set.Guarantee)
		default:
			sum = sum.Add(promised(t.children, nil))
		}
	}
	return sum
}

// below walks the tenants of a group, or t alone.
func (t *Tenant) below() iter.Seq[*Tenant] {
	return func(yield func(*Tenant) bool) { t.walk(yield) }
}

func (t *Tenant) walk(yield func(*Tenant) bool) bool {
	if t.children == nil {
		return yield(t)
	}
	for _, c := range t.children {
		if !c.walk(yield) {
			return false
		}
	}
	return true
}

// bind notes in t and below whether a limit or a rate is above.
func (t *Tenant) bind() {
	t.bounded = t.set.Limited || t.set.Rate > 0 || t.parent != nil && t.parent.bounded
	for _, c := range t.children {
		c.bind()
	}
}

// heldBack reports whether a need is held back by a limit or a rate of t or of its
// groups.
func (t *Tenant) heldBack(need *resources.Vector) bool {
	return t.throttled() > 0 || !t.within(need)
}

// within reports whether a need stays within the limits of t and its groups.
func (t *Tenant) within(need *resources.Vector) bool { return t.overLimit(need) == nil }

// could reports whether a need is within the limits if nothing else is held.
func (t *Tenant) could(need *resources.Vector) bool {
	for ; t != nil; t = t.parent {
		if t.set.Limited && !resources.Fits(need, &t.set.Limit) {
			return false
		}
	}
	return true
}

// forgettable reports whether nothing is lost without t.
func (t *Tenant) forgettable() bool {
	return !t.kept && t.leases == 0 && t.queued == 0 && t.pool.fair.Settled(t.user, t.pool.at)
}

// forget removes a tenant that holds nothing and does not wait.
func (p *Pool) forget(t *Tenant) {
	if p.fair.Remove(t.user) != nil {
		return
	}
	p.byUser[t.user.Index()] = nil
	if t.parent != nil {
		delete(t.parent.children, t.name[len(t.parent.name)+1:])
	} else {
		delete(p.tenants, t.name)
	}
}

// sweep forgets the tenants that are settled once there are twice as many as the
// last sweep left, so that names that are used once do not add up. While tenants
// wait, one that is ahead of its share is remembered.
func (p *Pool) sweep() {
	if len(p.tenants) < p.sweepAt {
		return
	}
	p.tick()
	for _, t := range p.tenants {
		if t.forgettable() {
			p.forget(t)
		}
	}
	p.sweepAt = max(sweepMin, 2*len(p.tenants))
}

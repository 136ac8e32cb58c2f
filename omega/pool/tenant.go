package pool

import (
	"fmt"
	"iter"
	"time"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// sweepMin is how many tenants are remembered at least, idle ones included.
const sweepMin = 1024

// Tenant is the handle of a user of a pool, or of a group of them. Handles are
// made by [Pool.Tenant] and [Tenant.Tenant], and are safe for concurrent use. The
// methods of a nil or zero Tenant fail with [resources.ErrNil], or return nothing.
type Tenant struct {
	pool   *Pool
	name   string // the names of its groups come first, separated by slashes
	user   drf.User
	parent *Tenant // nil below the root

	// The pool's mutex guards the fields below.
	set       Settings
	guarantee resources.Vector // that of set, or what it is worth now
	kept      bool             // has a handle or settings, so it is not forgotten
	charge    uint32           // of the lender, plus one; 0 until it is known
	account   omega.Account    // in the cell, where it is named
	named     bool
	children  map[string]*Tenant
	bounded   bool // itself or a group above it has a limit or a rate
	bucket    bucket

	promised  resources.Vector // needs of requests within it that are owed room
	promises  int              // how many these are
	returning resources.Vector // what preempted leases within it will leave

	first, last *waiter // by priority, then in the order of arrival
	queued      int
	runs        []run            // of the queue, none where all requests have one priority
	least       resources.Vector // each waiter needs at least this
	popped      int              // waiters that left since that was exact
	alike       bool             // each needs just that
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
// a handle is never forgotten: where tenants come and go without end, as customers do,
// use [Pool.Acquire], which needs no handle.
//
// A tenant in a group is found by its whole name, as [Tenant.Name] returns it, but
// made by [Tenant.Tenant] alone. No two tenants have the same whole name.
//
// Errors: [ErrTenant] for a name that is empty, longer than [resources.MaxName] bytes
// or not printable. A name that begins with that of a group and a slash is refused
// alike unless the group has such a tenant. [ErrConfig] for settings.
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
// its own. Errors: as [Pool.Tenant], and [ErrTenant] if t has leases or waiters, or
// if another tenant has the whole name.
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

// Set replaces the settings of the tenant, at any time. Waiters beyond a shorter
// queue stay. Waiters with more than a lower limit fail with [ErrNeed]. Errors:
// [ErrConfig], which changes nothing. Cost: O(tenants of the group), and O(waiters)
// more where the limit is lowered.
func (t *Tenant) Set(s Settings) error {
	if t.none() {
		return absent("tenant")
	}
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	if err := t.apply(s); err != nil {
		return err
	}
	t.pool.next() // another tenant may be next
	return nil
}

// child returns the tenant of a name below a group, the root for nil. Called
// with mu held.
func (p *Pool) child(parent *Tenant, name string, settings []Settings) (*Tenant, error) {
	if len(settings) > 1 {
		return nil, refuse(ErrConfig, fmt.Sprintf("tenant %q: settings given %d times, want once", name, len(settings)))
	}
	t := p.lookUp(parent, name)
	if t == nil {
		var err error
		if t, err = p.newTenant(parent, name, settings...); err != nil {
			return nil, err
		}
	} else if len(settings) == 1 {
		if err := t.apply(settings[0]); err != nil {
			return nil, err
		}
		p.next()
	}
	t.kept = true
	return t, nil
}

// lookUp returns the tenant of a name below a group, the root for nil, or nil. The
// names of the groups in between come first, separated by slashes.
func (p *Pool) lookUp(parent *Tenant, name string) *Tenant {
	siblings := p.siblings(parent)
	if t := siblings[name]; t != nil {
		return t
	}
	for group, rest := range groupsIn(siblings, name) {
		if t := p.lookUp(group, rest); t != nil {
			return t
		}
	}
	return nil
}

func (p *Pool) siblings(parent *Tenant) map[string]*Tenant {
	if parent == nil {
		return p.tenants
	}
	return parent.children
}

// groupsIn walks the groups that a name may begin with, and the rest of the name.
func groupsIn(siblings map[string]*Tenant, name string) iter.Seq2[*Tenant, string] {
	return func(yield func(*Tenant, string) bool) {
		for i := range len(name) {
			if name[i] != '/' {
				continue
			}
			if g := siblings[name[:i]]; g != nil && g.children != nil && !yield(g, name[i+1:]) {
				return
			}
		}
	}
}

// checkName refuses a name that is invalid, that begins with a group, or that makes a
// whole name that another tenant has.
func (p *Pool) checkName(parent *Tenant, name string) error {
	if err := resources.CheckName(name); err != nil {
		return because(ErrTenant, "tenant", err)
	}
	for group := range groupsIn(p.siblings(parent), name) {
		return refuse(ErrTenant, fmt.Sprintf("tenant %q: group %q has no tenant of that name", name, group.name))
	}
	if parent != nil && p.lookUp(nil, parent.name+"/"+name) != nil {
		return refuse(ErrTenant, fmt.Sprintf("tenant %q in %q: another tenant has the name %q", name, parent.name, parent.name+"/"+name))
	}
	return nil
}

// newTenant makes a tenant with the settings that are given, or zero ones. Called
// with mu held.
func (p *Pool) newTenant(parent *Tenant, name string, settings ...Settings) (*Tenant, error) {
	if err := p.checkName(parent, name); err != nil {
		return nil, err
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
func (t *Tenant) within(need *resources.Vector) bool { return t.overLimit(need, nil) == nil }

// tooLow returns the tenant or group with a limit below a need, or nil. A need that is
// within all limits can be served once enough else is released.
func (t *Tenant) tooLow(need *resources.Vector) *Tenant {
	for ; t != nil; t = t.parent {
		if t.set.Limited && !resources.Fits(need, &t.set.Limit) {
			return t
		}
	}
	return nil
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

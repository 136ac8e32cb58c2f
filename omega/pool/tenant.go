package pool

import (
	"fmt"
	"iter"
	"time"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

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
	guarantee resources.Vector // of set, or its present worth
	kept      bool             // has a handle or settings, so it is not forgotten
	charge    uint32           // of the lender, plus one; 0 until it is known
	account   omega.Account    // in the cell, where it is named
	named     bool
	children  map[string]*Tenant
	bounded   bool // itself or a group above it has a limit or a rate
	far       *far // its use and waits in other replicas, nil for none so far
	bucket    bucket

	promised  resources.Vector // needs of requests within it that are owed room
	promises  int              // how many these are
	returning resources.Vector // room that preempted leases within it will free

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
	granted, noRoom, queueFull, timedOut, cancelled, closed, never, over, preempted, failed uint64

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
	t := p.tenants.lookUp(parent, name)
	if t == nil {
		var err error
		if t, err = p.tenants.add(parent, name, settings...); err != nil {
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

// forgettable reports whether nothing is lost without t.
func (t *Tenant) forgettable() bool {
	return !t.kept && t.leases == 0 && t.queued == 0 && (t.far == nil || t.far.idle()) && t.pool.tenants.fair.Settled(t.user, t.pool.at)
}

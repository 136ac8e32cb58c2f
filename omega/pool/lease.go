package pool

import (
	"fmt"
	"iter"
	"runtime"
	"time"
	"weak"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/resources"
)

// Lease is a share of a pool that a tenant holds until it is released.
//
// It has no time limit: the room is taken until [Lease.Release]. [Config].OnLeak finds
// leases that the program has forgotten. A lease can be preempted, for the guarantee of
// another tenant. Its holder watches [Lease.Context], or runs the work by [Tenant.Do],
// which passes that context on. [Pool.Overdue] names preempted leases that are not
// released in time.
//
// It is a plain value: copies are the same lease. Any goroutine may use and
// release it. The zero Lease holds nothing.
type Lease struct {
	pool  *Pool
	token *token // garbage collected with the last copy; nil without OnLeak
	slot  uint32
	gen   uint32
}

// token is an object that is collected when no copy of a lease is left. The runtime lists
// the cleanups and weak pointers of all objects in a span of memory, and searches that
// list. Larger objects make it shorter: 0.8 µs a lease, not 5.
type token struct{ _ [128]byte }

// record is the pool's entry of a lease.
type record struct {
	gen     uint32 // odd while the lease is live; a Lease of another one is stale
	node    uint32
	level   locality.Level
	tenant  *Tenant
	run     drf.Run       // of what it holds
	grant   uint64        // in the order of grants
	at      time.Duration // of the grant, or earlier if no tenant waited then
	cleanup runtime.Cleanup
	token   weak.Pointer[token] // of its copies, if it may be named by Overdue
	ctx     *leaseContext       // made on first use

	preempted bool          // a guarantee takes the room back, or a claim in the cell
	late      bool          // its grace is over: no request counts on its room
	foreign   bool          // the claim is in the cell: no request counts on its room
	detached  bool          // its machine has left the cell, and its room with it
	charge    uint32        // of the lender
	takenFor  *reservation  // that it was taken for
	overdue   time.Duration // from when on it should be released
}

// live returns the record of a lease, or nil. Called with mu held.
func (l Lease) live() *record {
	if int(l.slot) >= len(l.pool.records) {
		return nil
	}
	if r := &l.pool.records[l.slot]; r.gen == l.gen && l.gen&1 == 1 {
		return r
	}
	return nil
}

// view returns a copy of the record, zero once the lease is released.
func (l Lease) view() (v record) {
	if l.pool == nil {
		return v
	}
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	if r := l.live(); r != nil {
		v = *r
	}
	return v
}

// Tenant returns the tenant that the lease is charged to, nil once it is
// released. It is a handle, so the tenant is not forgotten from then on.
func (l Lease) Tenant() *Tenant {
	if l.pool == nil {
		return nil
	}
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	r := l.live()
	if r == nil {
		return nil
	}
	r.tenant.kept = true
	return r.tenant
}

// Node returns the number of the machine that the lease is on, 0 once it is
// released.
func (l Lease) Node() locality.Node { return locality.Node(l.view().node) }

// Machine returns the name of the machine that the lease is on, "" once it is
// released.
func (l Lease) Machine() string {
	if l.pool == nil {
		return ""
	}
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	if r := l.live(); r != nil {
		return l.pool.books.machines[r.node].name
	}
	return ""
}

// Need returns the amounts that the lease holds, in the pool's space, nothing
// once it is released.
func (l Lease) Need() resources.Vector { return l.view().run.Need }

// Level returns how far the machine is from those that were preferred: 0 where
// it is one of them, and where none were.
func (l Lease) Level() locality.Level { return l.view().level }

// String returns the tenant, the need and the machine.
func (l Lease) String() string {
	v := l.view()
	if v.tenant == nil {
		return "released lease"
	}
	return fmt.Sprintf("%s: %s on %s", v.tenant.name, l.pool.space.Format(v.run.Need), l.pool.machineName(v.node))
}

// Release gives the room back and serves the tenants that are next. It does not
// block. A second Release, through any copy, changes nothing and fails with
// [ErrReleased]. Cost where no tenant waits: O(log machines), no allocation.
func (l Lease) Release() error {
	p := l.pool
	if p == nil {
		return errZeroLease
	}
	p.mu.Lock()
	r := l.live()
	if r == nil {
		p.mu.Unlock()
		return errReleasedTwice
	}
	if l.token != nil {
		r.cleanup.Stop()
		runtime.KeepAlive(l.token) // as Stop asks for
	}
	p.drop(l, r)
	p.launch()
	p.mu.Unlock()
	return nil
}

// drop ends a lease and serves the tenants that are next. Called with mu held.
//
// A new goroutine begins with 2 KiB of stack, of which it may use 1.1. So that
// its Release does not make that grow, which costs more than all else that
// Release does, what is rare stands in functions of its own.
func (p *Pool) drop(l Lease, r *record) {
	if r.ctx != nil {
		r.ctx.end(endedReleased)
	}
	if p.events.Active() {
		p.tellOf(observe.Released, r)
	}
	node := int(r.node)
	if p.finish(l.slot, r) {
		p.lateEnd()
	}
	if p.waiting > 0 {
		p.dispatch()
	}
	if p.lend != nil {
		p.lend.review(node)
	}
	if p.draining {
		p.ended()
	}
}

var (
	errZeroLease     = refuse(ErrReleased, "the zero Lease")
	errReleasedTwice = refuse(ErrReleased, "release")
)

// grant makes a lease on a machine with room. Called with mu held.
func (p *Pool) grant(t *Tenant, need *resources.Vector, node int, level locality.Level) Lease {
	var slot uint32
	if n := len(p.vacant); n > 0 {
		slot, p.vacant = p.vacant[n-1], p.vacant[:n-1]
	} else {
		slot = uint32(len(p.records))
		p.records = append(p.records, record{})
	}
	r := &p.records[slot]
	p.grants++
	r.gen++
	r.node, r.level, r.tenant, r.grant, r.at = uint32(node), level, t, p.grants, p.at
	r.run.Need = *need
	_ = p.fair.Start(t.user, &r.run, p.at) // refuses no need that a machine holds
	p.books.take(node, need)
	if p.lend != nil {
		p.lend.took(t, r)
	}
	p.leases++
	t.leases++
	t.granted++
	if int(level) >= len(t.byLevel) {
		t.widen(level)
	}
	t.byLevel[level]++
	if p.victimIndex != nil {
		p.indexGranted(slot, r)
	}
	if p.events.Active() {
		p.tellOf(observe.Granted, r)
	}
	l := p.lease(slot)
	if p.onLeak != nil {
		l = p.watch(l, r)
	}
	return l
}

// watch returns the lease with a token that tells when no copy is left.
//
//go:noinline
func (p *Pool) watch(l Lease, r *record) Lease {
	untold := l
	l.token = new(token)
	if len(p.guaranteed) > 0 {
		r.token = weak.Make(l.token)
	}
	r.cleanup = runtime.AddCleanup(l.token, p.leaked, untold)
	return l
}

// leaked reports a lease of which no copy is left, unless it was released without
// one: by the worker that ran its task, or through a lease of Overdue.
func (p *Pool) leaked(l Lease) {
	p.mu.Lock()
	live := l.live() != nil
	p.mu.Unlock()
	if live {
		p.onLeak(l)
	}
}

// widen makes room for counts of a level.
//
//go:noinline
func (t *Tenant) widen(level locality.Level) {
	t.byLevel = append(t.byLevel, make([]uint64, int(level)+1-len(t.byLevel))...)
}

// lasted notes how long a lease was held that others waited behind.
func (p *Pool) lasted(long time.Duration) {
	if p.lasting == 0 { // the first one
		p.lasting = long
	}
	p.lasting += (long - p.lasting) / 8
	if p.adaptive {
		p.patience = min(max(patienceTasks*min(p.lasting, mostPatience), leastPatience), mostPatience)
	}
}

// finish takes a lease from the books, and reports whether it was late. Called with mu
// held.
func (p *Pool) finish(slot uint32, r *record) (late bool) {
	t := r.tenant
	if p.waiting > 0 || r.run.Timed() {
		p.tick() // else nothing depends on the time
		if r.run.Timed() {
			p.lasted(p.at - r.at)
		}
	}
	_ = p.fair.End(&r.run, p.at) // it was started
	t.leases--
	p.leases--
	if !r.detached {
		p.vacate(slot, r)
	}
	late = r.late
	if r.preempted && !late && !r.foreign {
		t.returns(&r.run.Need, -1)
		p.returned()
	}
	r.gen++
	r.tenant, r.ctx, r.preempted, r.late, r.takenFor = nil, nil, false, false, nil
	r.foreign, r.detached = false, false
	r.cleanup, r.token = runtime.Cleanup{}, weak.Pointer[token]{}
	if r.gen != 0 { // a slot that ran out of generations is not used again
		p.vacant = append(p.vacant, slot)
	}
	return late
}

// vacate gives the room of a lease back to its machine.
func (p *Pool) vacate(slot uint32, r *record) {
	node := int(r.node)
	p.books.give(node, &r.run.Need)
	if p.lend != nil {
		p.lend.gave(r, &r.run.Need)
	}
	if p.victimIndex != nil {
		p.indexEnded(slot, r)
	}
	p.epoch, p.freed = p.epoch+1, locality.Node(node)
	m := &p.books.machines[node]
	if m.owing > 0 {
		p.allot(node, r.takenFor)
	}
	if w := m.keeper; w != nil && r.grant <= w.kept.made {
		p.aged(w, node, &r.run.Need)
	}
}

// lease returns the lease of a record.
func (p *Pool) lease(slot uint32) Lease {
	return Lease{pool: p, slot: slot, gen: p.records[slot].gen}
}

// granted walks the leases that are held. Called with mu held.
func (p *Pool) granted() iter.Seq2[uint32, *record] {
	return func(yield func(uint32, *record) bool) {
		for i := range p.records {
			if r := &p.records[i]; r.gen&1 == 1 && !yield(uint32(i), r) {
				return
			}
		}
	}
}

// on walks the leases that hold room of a machine. Called with mu held.
func (p *Pool) on(node int) iter.Seq2[uint32, *record] {
	return func(yield func(uint32, *record) bool) {
		for slot, r := range p.granted() {
			if !r.detached && int(r.node) == node && !yield(slot, r) {
				return
			}
		}
	}
}

// endContexts ends the contexts of all leases, also of those that are made from now on.
// Called with mu held.
func (p *Pool) endContexts() {
	p.evicted = true
	for _, r := range p.granted() {
		if r.ctx != nil {
			r.ctx.end(endedClosed)
		}
	}
}

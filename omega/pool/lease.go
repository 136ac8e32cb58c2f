package pool

import (
	"context"
	"fmt"
	"runtime"

	"github.com/cellsched/cellsched/internal/fault"
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

// live returns the record of a lease, or nil. Called with mu held.
func (l Lease) live() *record {
	if int(l.slot) >= len(l.pool.leases.records) {
		return nil
	}
	if r := &l.pool.leases.records[l.slot]; r.gen == l.gen && l.gen&1 == 1 {
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
	return fmt.Sprintf("%s: %s on %s", v.tenant.name, l.pool.space.Format(v.run.Need), l.pool.books.nameOf(v.node))
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
	p.crew.launch()
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
		p.leases.tellOf(observe.Released, r)
	}
	node := int(r.node)
	if p.finish(l.slot, r) {
		p.restoring.demandAll() // the room may be reserved for a request that was first while they counted on other room
	}
	if p.waits.waiting > 0 {
		p.serving.dispatch()
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

// Resize lowers the need of the lease and serves the tenants that are next. An
// amount above the present one fails with [ErrNeed]: a lease does not grow, since
// that could wait for itself. Errors: [ErrReleased]; [ErrNeed];
// [resources.ErrQuantity].
func (l Lease) Resize(need resources.Vector) error {
	p := l.pool
	if p == nil {
		return errZeroLease
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := l.live()
	switch {
	case r == nil:
		return errReleasedTwice
	case need.Check() != nil:
		return refuse(resources.ErrQuantity, fmt.Sprintf("resize of %q: %s, want 0 to 2^62 of each kind", r.tenant.name, p.space.Format(need)))
	case need == resources.Vector{}:
		return fault.Text(fmt.Sprintf("pool: resize of %q to nothing: release the lease instead", r.tenant.name), ErrNeed)
	case !resources.Fits(&need, &r.run.Need):
		return fault.Text(fmt.Sprintf("pool: resize of %q: %s, want at most %s: a lease does not grow",
			r.tenant.name, p.space.Format(need), p.space.Format(r.run.Need)), ErrNeed)
	}
	p.tick()
	was := r.run.Need
	if err := p.tenants.fair.Resize(&r.run, need, p.at); err != nil {
		return err
	}
	if r.detached {
		return nil // its machine has left the cell, and its room with it
	}
	p.books.release(int(r.node), &was)
	p.books.allocate(int(r.node), &need)
	if p.lend != nil {
		less, _ := was.Sub(need)
		p.lend.gave(r, &less)
		defer p.lend.review(int(r.node))
	}
	if p.search.index != nil {
		p.search.index.resized(l.slot, r, &was)
	}
	if r.preempted && !r.late && !r.foreign {
		less, _ := was.Sub(need)
		r.tenant.returns(&less, -1)
	}
	if w := p.books.machines[r.node].keeper; w != nil && r.grant <= w.kept.made {
		less, _ := was.Sub(need)
		p.reserving.aged(w, int(r.node), &less)
	}
	if p.books.machines[r.node].owing > 0 {
		p.promises.allot(int(r.node), r.takenFor)
	}
	p.books.epoch, p.books.freed = p.books.epoch+1, locality.Node(r.node)
	if r.late {
		p.restoring.demandAll()
	}
	p.next()
	return nil
}

// Context returns the context of the lease. The holder stops its work and releases the
// lease when it ends. Its cause is one of these:
//
//   - [ErrPreempted] when a guarantee of another tenant takes the room back;
//   - [ErrClosed] when the pool is shut down;
//   - [ErrReleased] when the lease is released.
//
// The context of a task, of [Tenant.Go] and [Tenant.Do], has the values and the deadline
// of the context that the task was given. A request with the context of a lease that
// could wait for that lease alone is refused: see [Tenant.Acquire].
func (l Lease) Context() context.Context {
	if l.pool == nil {
		return released()
	}
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	r := l.live()
	if r == nil {
		return released()
	}
	return l.pool.leases.contextOf(context.Background(), r, l)
}

// released returns a context that has ended.
func released() context.Context { return endedReleased.ctx }

package pool

import (
	"container/list"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// waiter is an Acquire that could not be served at once. Its pool's mutex
// guards it until ready is closed; then nothing changes any more.
type waiter struct {
	tenant *tenant
	needs  []resources.Vector
	prefer []locality.Node
	since  time.Time
	place  *list.Element   // in the tenant's queue, nil when it has left
	awaits []locality.Node // by need: the machines where room is kept back for it

	best    locality.Level // the nearest that it could be placed to what it prefers
	job     delay.Job      // how far from that it accepts to run
	relax   *time.Timer    // fires when that changes
	delayed bool           // when it was last tried, it waited for nothing else,
	tried   uint64         // which was in this epoch of the pool,
	kept    bool           // while room was kept back for others,
	offered locality.Level // and this was the nearest that had room

	ready  chan struct{} // closed when leases or err is there
	leases []*Lease
	err    error

	need  [1]resources.Vector // where needs and leases are if it is but one
	lease [1]*Lease
}

// alike tells whether v may go before w, of the same tenant, while w waits for
// its data: as another task of the same job.
func (w *waiter) alike(v *waiter) bool {
	return len(w.needs) == 1 && len(v.needs) == 1 && w.needs[0] == v.needs[0]
}

// finish ends the wait of a waiter that has left its queue.
func (w *waiter) finish() {
	if w.relax != nil {
		w.relax.Stop()
	}
	close(w.ready)
}

// Acquire takes need for a tenant. It blocks until it is the tenant's turn by
// dominant resource fairness and there is room, on a machine near one of
// prefer, waiting for that no longer than the pool's [delay.Policy] says.
//
// Errors: [ErrNeed] and [resources.ErrQuantity] for a need that is empty,
// invalid or larger than any machine, [ErrName] for a tenant's name, [ErrNode] for a preferred machine that
// does not exist, [ErrClosed], and the cause of ctx when that ends first, in
// which case nothing is held and no trace is left. Cost where there is room
// and nobody waits: O(log tenants), and O(machines) at worst to find it; else
// the calling goroutine sleeps. It is safe for concurrent use.
func (p *Pool) Acquire(ctx context.Context, tenant string, need resources.Vector, prefer ...locality.Node) (*Lease, error) {
	if err := p.check(tenant, need, prefer); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p.mu.Lock()
	t, err := p.enter(tenant)
	if err != nil {
		p.mu.Unlock()
		return nil, err
	}
	if p.waiting == 0 {
		if l := p.now(t, need, prefer, locality.NodeLocal); l != nil {
			p.mu.Unlock()
			return l, nil
		}
	}
	w := p.enqueue(t, []resources.Vector{need}, prefer, locality.NodeLocal)
	p.mu.Unlock()
	if err := p.wait(ctx, w); err != nil {
		return nil, err
	}
	return w.leases[0], nil
}

// AcquireAll takes several needs at once, each on one machine, or none of
// them: while it waits it holds nothing, so that two of them never block each
// other. The leases are in the order of the needs and released one by one.
//
// Machines are found by first fit, largest need first; needs that this does
// not get into an empty pool, by node number, are refused with [ErrNeed]. Near
// means here that none is farther. Otherwise it is as [Pool.Acquire].
func (p *Pool) AcquireAll(ctx context.Context, tenant string, needs []resources.Vector, prefer ...locality.Node) ([]*Lease, error) {
	if len(needs) == 0 {
		return nil, fmt.Errorf("%w: there are none", ErrNeed)
	}
	for _, need := range needs {
		if err := p.check(tenant, need, prefer); err != nil {
			return nil, err
		}
	}
	if len(needs) > maxLeases || p.packing(needs, p.nodes()) == nil {
		return nil, fmt.Errorf("%w: %s do not fit in an empty pool together", ErrNeed, p.formatAll(needs))
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p.mu.Lock()
	t, err := p.enter(tenant)
	if err != nil {
		p.mu.Unlock()
		return nil, err
	}
	w := p.enqueue(t, needs, prefer, locality.NodeLocal)
	p.mu.Unlock()
	if err := p.wait(ctx, w); err != nil {
		return nil, err
	}
	return w.leases, nil
}

// TryAcquire takes need on the nearest machine with room, or fails with
// [ErrNoRoom] if there is none, if the tenant has waiters already, or if the
// room is held back for another tenant. It does not block. Other errors are as
// of [Pool.Acquire].
func (p *Pool) TryAcquire(tenant string, need resources.Vector, prefer ...locality.Node) (*Lease, error) {
	if err := p.check(tenant, need, prefer); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t, err := p.enter(tenant)
	if err != nil {
		return nil, err
	}
	if p.waiting == 0 {
		if l := p.now(t, need, prefer, anyLevel); l != nil {
			return l, nil
		}
	} else if t.queue.Len() == 0 {
		// Whether it is the tenant's turn, the order among all says.
		w := p.enqueue(t, []resources.Vector{need}, prefer, anyLevel)
		if w.place == nil {
			return w.leases[0], nil
		}
		p.leave(w)
	}
	return nil, fmt.Errorf("%w: need %s", ErrNoRoom, p.space.Format(need))
}

// Do acquires need, calls fn, and releases it, also if fn panics. The panic
// goes on to the caller of Do. Errors: as of [Pool.Acquire], else what fn
// returns.
func (p *Pool) Do(ctx context.Context, tenant string, need resources.Vector, fn func(context.Context) error) (err error) {
	lease, err := p.Acquire(ctx, tenant, need)
	if err != nil {
		return err
	}
	defer func() {
		if e := lease.Release(); err == nil {
			err = e
		}
	}()
	return fn(ctx)
}

// check refuses bad input, and what can never be granted. It needs no lock.
func (p *Pool) check(tenant string, need resources.Vector, prefer []locality.Node) error {
	if err := checkName(tenant); err != nil {
		return err
	}
	if err := need.Check(); err != nil {
		return fault.New("pool", "need", err)
	}
	if need == (resources.Vector{}) {
		return fmt.Errorf("%w: it is nothing", ErrNeed)
	}
	if !slices.ContainsFunc(p.capacity, need.Fits) {
		return fmt.Errorf("%w: %s does not fit on any machine, even an empty one", ErrNeed, p.space.Format(need))
	}
	for _, node := range prefer {
		if uint(node) >= uint(len(p.machines)) {
			return fmt.Errorf("%w: preferred node %d of a pool of %d machines", ErrNode, node, len(p.machines))
		}
	}
	return nil
}

// enter returns the tenant of that name. Called with mu held, as are those
// below.
func (p *Pool) enter(tenant string) (*tenant, error) {
	if p.closed {
		return nil, ErrClosed
	}
	return p.tenant(tenant)
}

// now serves a need at once, no farther from what it prefers than farthest, or
// returns nil.
func (p *Pool) now(t *tenant, need resources.Vector, prefer []locality.Node, farthest locality.Level) *Lease {
	node, level, ok := p.find(need, prefer)
	if !ok || level > farthest {
		return nil
	}
	return p.grant(t, need, node, level)
}

// anyLevel is farther than any node is.
const anyLevel locality.Level = math.MaxUint8

// enqueue makes a waiter, which takes places up to level best without waiting
// for a nearer one, and serves it if it is its turn already.
func (p *Pool) enqueue(t *tenant, needs []resources.Vector, prefer []locality.Node, best locality.Level) *waiter {
	w := &waiter{tenant: t, prefer: slices.Clone(prefer), since: time.Now(), ready: make(chan struct{})}
	w.needs = append(w.need[:0], needs...)
	w.job, _ = delay.New(p.policy) // New has checked the policy
	w.best = max(best, p.attainable(w))
	w.place = t.queue.PushBack(w)
	p.waiting++
	p.await(t)
	switch head := t.head(); {
	case w == head, p.holding && head.delayed && head.alike(w):
		p.dispatch()
	case head.delayed && head.alike(w):
		// Nothing has changed for those before it, who would rather wait.
		if p.try(w) == placed {
			p.serve(w)
		}
	}
	return w
}

// wait blocks until w is served or ctx ends. Called without mu.
func (p *Pool) wait(ctx context.Context, w *waiter) error {
	select {
	case <-w.ready:
		return w.err
	case <-ctx.Done():
		p.cancel(w)
		return context.Cause(ctx)
	}
}

// cancel takes w out of its queue, or gives back what it was granted while its
// context ended.
func (p *Pool) cancel(w *waiter) {
	p.mu.Lock()
	if w.place != nil {
		w.tenant.cancelled++
		p.leave(w)
		w.finish()
		p.dispatch() // those behind it may be next
	}
	p.mu.Unlock()
	for _, l := range w.leases {
		_ = l.Release() // its only reference: it can not have been released
	}
}

// leave takes w out of its queue. Called with mu held.
func (p *Pool) leave(w *waiter) {
	w.tenant.queue.Remove(w.place)
	w.place = nil
	if p.waiting--; p.waiting == 0 {
		clear(p.held) // as Acquire relies on when nobody waits
	}
	p.await(w.tenant)
}

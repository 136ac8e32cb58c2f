package pool

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// Acquire takes need for the tenant of a name, which is made if the pool does
// not have it. It is [Tenant.Acquire] with a look-up of the name. A tenant in a
// group is found by its whole name, as [Tenant.Name] returns it, and is not made:
// see [Pool.Tenant]. So a name from outside the program should not be passed on as it
// is: "org/team" charges a group. A prefix keeps such names apart.
func (p *Pool) Acquire(ctx context.Context, tenant string, need resources.Vector) (Lease, error) {
	if p.none() {
		return Lease{}, absent("receiver")
	}
	if ctx == nil || ctx.Err() != nil {
		return Lease{}, ended(ctx)
	}
	p.mu.Lock()
	t, err := p.named(tenant)
	if err != nil {
		p.mu.Unlock()
		return Lease{}, err
	}
	return p.acquire(ctx, t, &need) // lets go of the mutex
}

// Acquire takes need. It blocks until it is the tenant's turn and a machine has room.
//
// Errors, with nothing held:
//
//   - [ErrNeed] and [resources.ErrQuantity] for a need that is empty, invalid or larger
//     than any machine or limit;
//   - [ErrTenant] if t is a group;
//   - [resources.ErrNil] for a nil ctx;
//   - [ErrQueueFull] and [ErrWait] by the tenant's settings;
//   - [ErrClosed];
//   - the cause of ctx when that ends first, also before the call.
//
// A lease that is granted as ctx ends may be given back, with the cause of ctx. The error
// of a wait that ends by its time or its context, and that of a full queue, is
// a *[WaitError]. It names the shortage, and [RetryAfter] estimates from it when to try
// again.
//
// Cost where no tenant waits: O(log machines), no allocation; no clock is read. Else the
// goroutine sleeps, and the order adds O(log tenants).
func (t *Tenant) Acquire(ctx context.Context, need resources.Vector) (Lease, error) {
	if t.none() {
		return Lease{}, absent("tenant")
	}
	if ctx == nil || ctx.Err() != nil {
		return Lease{}, ended(ctx)
	}
	t.pool.mu.Lock()
	return t.pool.acquire(ctx, t, &need)
}

// Request takes all needs of a request or none, as [Tenant.Acquire] does. The
// leases are in the order of the needs and released one by one.
//
// Several needs are placed by first fit, the largest first; needs that this does
// not get into an empty pool are refused with [ErrNeed]. Further errors:
// [ErrMachine] for a preferred machine that does not exist.
func (t *Tenant) Request(ctx context.Context, r Request) ([]Lease, error) {
	if t.none() {
		return nil, absent("tenant")
	}
	if ctx == nil || ctx.Err() != nil {
		return nil, ended(ctx)
	}
	t.pool.mu.Lock()
	return t.pool.request(ctx, t, &r) // lets go of the mutex
}

// request is Request, called with mu held, which it lets go.
func (p *Pool) request(ctx context.Context, t *Tenant, r *Request) ([]Lease, error) {
	w, err := p.admission.prepare(ctx, t, r)
	if err != nil {
		p.mu.Unlock()
		return nil, err
	}
	if w.ready == nil {
		w.ready = make(chan struct{}, 1)
	}
	p.enqueue(w)
	p.crew.launch()
	most, brief := w.most(), p.reserving.brief(w)
	p.mu.Unlock()
	single, many, err := p.wait(ctx, w, most, brief)
	if err != nil {
		return nil, err
	}
	if many == nil {
		many = []Lease{single}
	}
	return many, nil
}

// named returns the tenant of a name. Called with mu held.
func (p *Pool) named(name string) (*Tenant, error) {
	if t := p.tenants.byName[name]; t != nil {
		return t, nil
	}
	if t := p.tenants.lookUp(nil, name); t != nil {
		return t, nil
	}
	if p.draining {
		return nil, ErrClosed
	}
	return p.tenants.add(nil, name)
}

// acquire is Acquire, called with mu held, which it lets go.
func (p *Pool) acquire(ctx context.Context, t *Tenant, need *resources.Vector) (Lease, error) {
	if node := p.roomNow(t, need); node >= 0 {
		l := p.grant(t, need, node, locality.NodeLocal)
		if t.bounded {
			t.spend()
		}
		p.mu.Unlock()
		return l, nil
	}
	return p.queue(ctx, t, need)
}

// roomNow returns a machine where a need can be placed at once, or -1. The common
// case is short: no tenant waits, and no limit or rate holds t back. A negative or
// zero need finds no machine, or is none. Called with mu held.
func (p *Pool) roomNow(t *Tenant, need *resources.Vector) int {
	if p.waits.waiting > 0 || p.replicas.contended() || p.draining || t.children != nil || *need == (resources.Vector{}) {
		return -1
	}
	if t.bounded {
		if p.tick(); t.heldBack(need) {
			return -1
		}
	}
	return p.books.find(need)
}

// queue is the rest of acquire, kept out of its frame.
//
//go:noinline
func (p *Pool) queue(ctx context.Context, t *Tenant, need *resources.Vector) (Lease, error) {
	w, err := p.admission.admit(ctx, t, need)
	if err != nil {
		p.mu.Unlock()
		return Lease{}, err
	}
	if w.ready == nil {
		w.ready = make(chan struct{}, 1)
	}
	p.enqueue(w)
	p.crew.launch()
	most, brief := w.most(), p.reserving.brief(w)
	p.mu.Unlock()
	l, _, err := p.wait(ctx, w, most, brief)
	return l, err
}

// enqueue puts a waiter into its queue and serves it if there is room. No other
// waiter could use that, by the invariant of dispatch, unless w is behind
// requests of its own tenant. Called with mu held.
func (p *Pool) enqueue(w *waiter) {
	t := w.tenant
	back := t.bounded && t.throttle()
	if t.push(w) {
		p.tenants.await(t)
	}
	if t.bounded && t.throttled() > 0 {
		t.over++
	}
	settled := p.lend != nil && p.lend.ask(w)
	switch {
	case back:
		p.serving.dispatch() // the token is for the first in the order
	case w != t.first && (t.set.Strict || w.extra != nil):
		p.serving.dispatch()
	case !w.heldBack() && p.placement.fits(w):
		p.place()
	case p.restoring.settled():
		p.restoring.demandFor(t)
		p.restoring.goOn()
	}
	if p.lend != nil {
		p.lend.asked(w, settled)
	}
	if p.serving.keepOrder() {
		p.serving.dispatch()
	}
}

// most returns the maximum wait of w, 0 for none. Called with mu held.
func (w *waiter) most() time.Duration {
	most := w.tenant.set.MaxWait
	if w.extra != nil && w.extra.most > 0 && (most == 0 || w.extra.most < most) {
		return w.extra.most
	}
	return most
}

// wait blocks until w is served, its time is over or ctx ends, and gives w back.
func (p *Pool) wait(ctx context.Context, w *waiter, most time.Duration, brief bool) (Lease, []Lease, error) {
	var failed error
	if !brief || !w.yield() {
		failed = p.sleep(ctx, w, most)
	}
	lease, err := w.lease, w.err
	var many []Lease
	if g := w.many(); g != nil {
		many = g.leases
	}
	p.waits.recycle(w)
	if failed != nil {
		return Lease{}, nil, failed
	}
	return lease, many, err
}

// yield lets other goroutines run once, and reports whether w was served meanwhile.
// Where leases are brief, that saves the sleep of a goroutine and its wake-up, the
// larger part of a hand-over.
func (w *waiter) yield() bool {
	runtime.Gosched()
	select {
	case <-w.ready:
		return true
	default:
		return false
	}
}

// sleep blocks until w is served, its time is over or ctx ends. It returns what
// cancel does where one of the latter was first.
func (p *Pool) sleep(ctx context.Context, w *waiter, most time.Duration) error {
	var over <-chan time.Time
	if most > 0 {
		timer := time.NewTimer(most)
		defer timer.Stop()
		over = timer.C
	}
	done := ctx.Done()
	if done == nil && over == nil {
		<-w.ready
		return nil
	}
	select {
	case <-w.ready:
		return nil
	case <-done:
		return p.cancel(w, context.Cause(ctx))
	case <-over:
		if w.extra != nil && w.extra.full {
			return p.cancel(w, ErrQueueFull)
		}
		return p.cancel(w, ErrWait)
	}
}

// cancel takes w out of its queue, or gives back what it was granted while its
// context ended. It returns the error for its caller, nil where the lease is kept.
func (p *Pool) cancel(w *waiter, cause error) error {
	p.mu.Lock()
	if w.queued {
		p.tick()
		err := p.admission.failed(w, w.behind(), cause)
		w.tenant.gaveUp(cause)
		if p.events.Active() {
			p.tellRefused(w.tenant, &w.need, w.label(), err)
		}
		p.leave(w)
		p.next() // requests behind it may be next
		p.mu.Unlock()
		return err
	}
	p.mu.Unlock()
	<-w.ready
	if w.err != nil || errors.Is(cause, ErrWait) || errors.Is(cause, ErrQueueFull) { // it was served in the last moment
		return w.err
	}
	p.mu.Lock()
	p.tick()
	err := p.admission.failed(w, 0, cause)
	w.tenant.gaveUp(cause)
	p.mu.Unlock()
	err.why = func(*Pool) string { return "it was granted as its context ended, and given back" }
	many := []Lease{w.lease}
	if g := w.many(); g != nil {
		many = g.leases
	}
	for _, l := range many {
		_ = l.Release() // this is its only reference: it is not released
	}
	return err
}

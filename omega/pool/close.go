package pool

import (
	"context"
	"errors"
	"fmt"
)

// Close stops the pool at once: every waiting and every later request fails with
// [ErrClosed], and tasks that wait are dropped. It then waits until all leases
// are released and all tasks have returned, or until ctx ends, and fails with that
// context's cause. Closing a closed pool waits again.
func (p *Pool) Close(ctx context.Context) error {
	if p.none() {
		return absent("receiver")
	}
	if ctx == nil {
		return absent("context")
	}
	p.mu.Lock()
	p.life.shut()
	p.mu.Unlock()
	if p.life.awaitDrained(ctx) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return refuse(context.Cause(ctx), "close: "+p.life.left())
}

// Shutdown stops the pool in order. (1) No request is taken any more; requests and
// tasks that wait are served. (2) When ctx ends before all is done, the others
// are refused, and the contexts of all leases end with [ErrClosed]. (3) It waits
// for the grace of the pool and reports the leases that are still held, or the
// tasks that have released theirs and not returned.
//
// It returns the errors of tasks, the first 16 of them and the number of others, joined with the error of ctx if
// that ended first. Errors: [ErrClosed] of tasks that were dropped, and if leases
// or tasks are left; the text names a lease.
func (p *Pool) Shutdown(ctx context.Context) error {
	if p.none() {
		return absent("receiver")
	}
	if ctx == nil {
		return absent("context")
	}
	p.mu.Lock()
	p.draining = true
	p.life.endIfDone()
	p.mu.Unlock()
	var late error
	if !p.life.awaitDrained(ctx) {
		late = p.life.evict(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	all := append([]error{late}, p.crew.failures...)
	if p.crew.unnamed > 0 {
		all = append(all, fmt.Errorf("pool: %d more tasks failed", p.crew.unnamed))
	}
	return errors.Join(all...)
}

// lifecycle is the end of a pool: it drains, is closed, and is drained.
type lifecycle struct {
	*core
	graces   *graces
	granting *granter
	crew     *crew

	closed  bool
	drained chan struct{} // closed once the pool is closed and no lease and no worker is left
}

// awaitDrained waits until no lease and no task is left, and reports whether that
// came before the end of ctx.
func (lf *lifecycle) awaitDrained(ctx context.Context) bool {
	select {
	case <-lf.drained:
		return true
	default:
	}
	select {
	case <-lf.drained:
		return true
	case <-ctx.Done():
		return false
	}
}

// left names the leases that a closed pool waits for. Called with mu held.
func (lf *lifecycle) left() string {
	if lf.leases.held == 0 {
		return fmt.Sprintf("%d tasks have released their leases, but not returned", lf.crew.workers)
	}
	return fmt.Sprintf("%d leases are still held", lf.leases.held)
}

// evict refuses the waiters, ends the contexts of all leases and waits for the
// grace.
func (lf *lifecycle) evict(ctx context.Context) error {
	lf.mu.Lock()
	lf.shut()
	lf.leases.endContexts()
	lf.mu.Unlock()
	late := refuse(context.Cause(ctx), "shutdown")
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), lf.graces.span)
	defer cancel()
	if lf.awaitDrained(grace) {
		return late
	}
	lf.mu.Lock()
	defer lf.mu.Unlock()
	if lf.leases.held == 0 {
		if lf.crew.workers == 0 {
			return late
		}
		return errors.Join(late, refuse(ErrClosed, fmt.Sprintf("shutdown: after %v %s", lf.graces.span, lf.left())))
	}
	var held string
	for _, r := range lf.leases.all() {
		held = fmt.Sprintf("%q holds %s on %s", r.tenant.name, lf.space.Format(r.run.Need), lf.books.machines[r.node].name)
		break
	}
	return errors.Join(late, refuse(ErrClosed, fmt.Sprintf("shutdown: %d leases are not released after %v, for one %s", lf.leases.held, lf.graces.span, held)))
}

// shut refuses all that waits and all that comes. Called with mu held.
func (lf *lifecycle) shut() {
	if lf.closed {
		return
	}
	lf.draining, lf.closed = true, true
	lf.tick()
	for t := range lf.tenants.all() {
		for t.first != nil {
			w := t.first
			w.err = ErrClosed
			t.closed++
			lf.granting.serve(w)
		}
	}
	lf.crew.launch()
	lf.endIfDone()
}

// endIfDone closes a pool that drains once nothing waits or runs, and tells Close and
// Shutdown when nothing is left. Called with mu held.
func (lf *lifecycle) endIfDone() {
	if !lf.closed && lf.leases.held == 0 && lf.waits.waiting == 0 {
		lf.shut()
	}
	if !lf.closed || lf.leases.held > 0 || lf.crew.workers > 0 || lf.lend != nil && !lf.lend.closed() {
		return
	}
	select {
	case <-lf.drained:
	default:
		close(lf.drained)
	}
}

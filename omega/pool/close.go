package pool

import (
	"context"
	"errors"
	"fmt"
	"iter"
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
	p.shut()
	p.mu.Unlock()
	if p.awaitDrained(ctx) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return refuse(context.Cause(ctx), "close: "+p.left())
}

// awaitDrained waits until no lease and no task is left, and reports whether that
// came before the end of ctx.
func (p *Pool) awaitDrained(ctx context.Context) bool {
	select {
	case <-p.drained:
		return true
	default:
	}
	select {
	case <-p.drained:
		return true
	case <-ctx.Done():
		return false
	}
}

// left names what a closed pool waits for. Called with mu held.
func (p *Pool) left() string {
	if p.leases == 0 {
		return fmt.Sprintf("%d tasks have released their leases, but not returned", p.workers)
	}
	return fmt.Sprintf("%d leases are still held", p.leases)
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
	p.endIfDone()
	p.mu.Unlock()
	var late error
	if !p.awaitDrained(ctx) {
		late = p.evict(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	all := append([]error{late}, p.failures...)
	if p.unnamed > 0 {
		all = append(all, fmt.Errorf("pool: %d more tasks failed", p.unnamed))
	}
	return errors.Join(all...)
}

// evict refuses the waiters, ends the contexts of all leases and waits for the
// grace.
func (p *Pool) evict(ctx context.Context) error {
	p.mu.Lock()
	p.shut()
	p.endContexts()
	p.mu.Unlock()
	late := refuse(context.Cause(ctx), "shutdown")
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.grace)
	defer cancel()
	if p.awaitDrained(grace) {
		return late
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leases == 0 {
		if p.workers == 0 {
			return late
		}
		return errors.Join(late, refuse(ErrClosed, fmt.Sprintf("shutdown: after %v %s", p.grace, p.left())))
	}
	var held string
	for _, r := range p.granted() {
		held = fmt.Sprintf("%q holds %s on %s", r.tenant.name, p.space.Format(r.run.Need), p.books.machines[r.node].name)
		break
	}
	return errors.Join(late, refuse(ErrClosed, fmt.Sprintf("shutdown: %d leases are not released after %v, for one %s", p.leases, p.grace, held)))
}

// shut refuses all that waits and all that comes. Called with mu held.
func (p *Pool) shut() {
	if p.closed {
		return
	}
	p.draining, p.closed = true, true
	p.tick()
	for t := range p.all() {
		for t.first != nil {
			w := t.first
			w.err = ErrClosed
			p.serve(w)
		}
	}
	p.launch()
	p.endIfDone()
}

// endIfDone closes a pool that drains once nothing waits or runs, and tells Close and
// Shutdown when nothing is left. Called with mu held.
func (p *Pool) endIfDone() {
	if !p.closed && p.leases == 0 && p.waiting == 0 {
		p.shut()
	}
	if !p.closed || p.leases > 0 || p.workers > 0 || p.lend != nil && !p.lend.closed() {
		return
	}
	select {
	case <-p.drained:
	default:
		close(p.drained)
	}
}

// all walks the tenants and groups. Called with mu held; the body may not make or
// forget tenants.
func (p *Pool) all() iter.Seq[*Tenant] {
	return func(yield func(*Tenant) bool) {
		for _, t := range p.byUser {
			if t != nil && !yield(t) {
				return
			}
		}
	}
}

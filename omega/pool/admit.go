package pool

import (
	"context"
	"errors"
	"fmt"

	"github.com/cellsched/cellsched/resources"
)

// admissible refuses a request that is not queued. Called with mu held.
//
// It returns the leases that the caller holds, as ctx tells.
func (p *Pool) admissible(ctx context.Context, t *Tenant, need *resources.Vector) (own []Lease, err error) {
	p.tick()
	switch {
	case p.draining:
		return nil, ErrClosed
	case t.children != nil:
		return nil, refuse(ErrTenant, fmt.Sprintf("request of %q: it is a group, want a tenant", t.name))
	}
	if err = p.checkNeed(t, need); err == nil {
		if own = p.ownedBy(ctx); own != nil {
			err = p.checkNested(t, need, own)
		}
	}
	if err != nil {
		return nil, t.neverMet(need, err)
	}
	if t.set.Queue > 0 && t.queued >= t.set.Queue { // last: the others are for good
		t.queueFull++
		err := p.failed(&waiter{tenant: t, need: *need, since: p.at}, t.queued, ErrQueueFull)
		if p.events.Active() {
			p.tellRefused(t, need, "", err)
		}
		return nil, err
	}
	return own, nil
}

// neverMet counts a request that can never be granted, and returns why. Bad arguments
// of a call are no such request.
func (t *Tenant) neverMet(need *resources.Vector, err error) error {
	if errors.Is(err, ErrNeed) || errors.Is(err, resources.ErrQuantity) {
		if t.never++; t.pool.events.Active() {
			t.pool.tellRefused(t, need, "", err)
		}
	}
	return err
}

// admit makes a waiter for one need. Called with mu held.
func (p *Pool) admit(ctx context.Context, t *Tenant, need *resources.Vector) (*waiter, error) {
	own, err := p.admissible(ctx, t, need)
	if err != nil {
		return nil, err
	}
	w := p.spare.Get().(*waiter)
	w.tenant, w.need, w.since = t, *need, p.at
	if own != nil {
		w.extra = &extra{own: own}
	}
	return w, nil
}

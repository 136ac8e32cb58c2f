package pool

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// admission refuses the requests that can never be granted: when they come, and those that
// wait when machines or limits change.
type admission struct {
	*core
	placement *placement
	granting  *granter
}

// admissible refuses a request that is not queued. Called with mu held.
//
// It returns the leases that the caller holds, as ctx tells.
func (ad *admission) admissible(ctx context.Context, t *Tenant, need *resources.Vector) (own []Lease, err error) {
	ad.tick()
	switch {
	case ad.draining:
		return nil, ErrClosed
	case t.children != nil:
		return nil, refuse(ErrTenant, fmt.Sprintf("request of %q: it is a group, want a tenant", t.name))
	}
	if err = ad.checkNeed(t, need); err == nil {
		if own = ad.leases.ownedBy(ctx); own != nil {
			err = ad.checkNested(t, need, own)
		}
	}
	if err != nil {
		return nil, t.neverMet(need, err)
	}
	if t.set.Queue > 0 && t.queued >= t.set.Queue { // last: the others are for good
		t.queueFull++
		err := ad.failed(&waiter{tenant: t, need: *need, since: ad.at}, t.queued, ErrQueueFull)
		if ad.events.Active() {
			ad.tellRefused(t, need, "", err)
		}
		return nil, err
	}
	return own, nil
}

// admit makes a waiter for one need. Called with mu held.
func (ad *admission) admit(ctx context.Context, t *Tenant, need *resources.Vector) (*waiter, error) {
	own, err := ad.admissible(ctx, t, need)
	if err != nil {
		return nil, err
	}
	w := ad.waits.spare.Get().(*waiter)
	w.tenant, w.need, w.since = t, *need, ad.at
	if own != nil {
		w.extra = &extra{own: own}
	}
	return w, nil
}

// prepare makes a waiter for a request. Called with mu held.
func (ad *admission) prepare(ctx context.Context, t *Tenant, r *Request) (*waiter, error) {
	if err := ad.check(t, r); err != nil {
		need := r.sum()
		return nil, t.neverMet(&need, err)
	}
	w, err := ad.admit(ctx, t, &r.Needs[0])
	if err != nil {
		return nil, err
	}
	w.priority = int32(r.Priority)
	if len(r.Needs) == 1 && len(r.Prefer) == 0 && r.MaxWait == 0 && r.Label == "" && !r.noQueue {
		return w, nil
	}
	if w.extra == nil {
		w.extra = new(extra)
	}
	w.extra.most, w.extra.label = r.MaxWait, r.Label
	if r.noQueue {
		w.extra.most, w.extra.full = 1, true // the shortest wait
	}
	if len(r.Prefer) > 0 {
		n := &near{prefer: append([]locality.Node(nil), r.Prefer...), required: r.Required}
		n.job, _ = delay.New(ad.placement.policy) // New has checked the policy
		w.extra.near = n
	}
	if len(r.Needs) > 1 {
		g := &gang{needs: append([]resources.Vector(nil), r.Needs...), least: r.Needs[0]}
		for i := range r.Needs[1:] { // limits count them together
			w.need = w.need.Add(r.Needs[i+1])
			lower(&g.least, &r.Needs[i+1])
		}
		w.extra.many = g
		if low := t.tooLow(&w.need); low != nil {
			return nil, ad.discard(w, refuse(ErrNeed, fmt.Sprintf("request of %q: %s together exceed the limit %s of %q",
				t.name, ad.formatAll(r.Needs), ad.formatLimit(low.set.Limit), low.name)))
		}
	}
	if w.extra.near != nil || w.extra.many != nil {
		nodes := ad.placement.empty(w)
		if nodes == nil {
			return nil, ad.discard(w, ad.tooLarge(t, r))
		}
		if err := ad.checkNestedAll(w); err != nil {
			return nil, ad.discard(w, err)
		}
		if w.extra.near != nil {
			w.extra.near.best = ad.placement.farthest(w, nodes)
		}
	}
	return w, nil
}

// discard takes back a waiter of a request that can never be granted, and returns why.
func (ad *admission) discard(w *waiter, err error) error {
	err = w.tenant.neverMet(&w.need, err)
	ad.waits.recycle(w)
	return err
}

// check refuses a request that can never be granted. Called with mu held.
func (ad *admission) check(t *Tenant, r *Request) error {
	if len(r.Needs) == 0 {
		return refuse(ErrNeed, fmt.Sprintf("request of %q without a need", t.name))
	}
	if r.MaxWait < 0 {
		return refuse(ErrConfig, fmt.Sprintf("request of %q: maximum wait %v, want 0 or more", t.name, r.MaxWait))
	}
	for _, n := range r.Prefer {
		if int(n) >= len(ad.books.machines) {
			return refuse(ErrMachine, fmt.Sprintf("request of %q: preferred node %d, want less than %d", t.name, n, len(ad.books.machines)))
		}
	}
	if r.Priority < math.MinInt32 || r.Priority > math.MaxInt32 {
		return refuse(ErrConfig, fmt.Sprintf("request of %q: priority %d, want 32 bits", t.name, r.Priority))
	}
	if r.Label != "" {
		if err := resources.CheckName(r.Label); err != nil {
			return because(ErrConfig, fmt.Sprintf("request of %q: label", t.name), err)
		}
	}
	if r.Required && len(r.Prefer) == 0 {
		return refuse(ErrMachine, fmt.Sprintf("request of %q: no preferred machine, but one is required", t.name))
	}
	for i := range r.Needs {
		if err := ad.checkNeed(t, &r.Needs[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkNeed refuses a need that can never be granted.
func (ad *admission) checkNeed(t *Tenant, need *resources.Vector) error {
	switch err := need.Check(); {
	case err != nil:
		return refuse(resources.ErrQuantity, fmt.Sprintf("need of %q: %s, want 0 to 2^62 of each kind", t.name, ad.space.Format(*need)))
	case *need == resources.Vector{}:
		return refuse(ErrNeed, fmt.Sprintf("need of %q: nothing, want some of at least one kind", t.name))
	case !ad.books.ever(need) && (ad.lend == nil || !ad.lend.ever(need)):
		return refuse(ErrNeed, fmt.Sprintf("need of %q: %s, no machine has as much even if it is empty", t.name, ad.space.Format(*need)))
	}
	if g := t.tooLow(need); g != nil {
		return refuse(ErrNeed, fmt.Sprintf("need of %q: %s, more than the limit %s of %q",
			t.name, ad.space.Format(*need), ad.formatLimit(g.set.Limit), g.name))
	}
	return nil
}

// tooLarge is the refusal of a request that does not fit into an empty pool.
func (ad *admission) tooLarge(t *Tenant, r *Request) error {
	if len(r.Needs) == 1 {
		return refuse(ErrNeed, fmt.Sprintf("request of %q: %s, no preferred machine has as much even if it is empty", t.name, ad.formatAll(r.Needs)))
	}
	return refuse(ErrNeed, fmt.Sprintf("request of %q: %s do not fit together even if all machines are empty", t.name, ad.formatAll(r.Needs)))
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

// refuseImpossible refuses the requests that no machine could hold any more after
// one of a capacity has shrunk or gone. Several needs may have become impossible
// where a machine came or grew, too: first fit then tries them in another order.
func (ad *admission) refuseImpossible(was *resources.Vector) {
	largest := ad.books.largest()
	// Where another machine has as much, a request of one need fits as before.
	covered := fitsAny(was, largest)
	if covered && ad.waits.picky == 0 {
		return
	}
	for t := range ad.tenants.all() {
		for w := t.first; w != nil; {
			next := w.next
			if !ad.still(w, was, largest, covered) {
				ad.refuseWaiter(w, &impossibleError{tenant: t, need: w.need})
			}
			w = next
		}
	}
}

// still reports whether w, which could be placed before a machine shrank, can be
// placed if all machines are empty.
func (ad *admission) still(w *waiter, was *resources.Vector, largest []resources.Vector, covered bool) bool {
	switch {
	case w.near() != nil && w.near().required:
		return ad.placement.empty(w) != nil
	case w.many() != nil: // one machine may do for all of it
		return fitsAny(&w.need, largest) || ad.placement.empty(w) != nil
	}
	return covered || !resources.Fits(&w.need, was) || fitsAny(&w.need, largest)
}

// refuseWaiter ends the wait of w, which can never be served any more.
func (ad *admission) refuseWaiter(w *waiter, err error) {
	w.err = err
	w.tenant.never++
	ad.granting.serve(w)
}

// impossibleError refuses a request that waits and fits on no machine, or within no
// limit, any more. Its text is made when it is read: there may be many at a time.
type impossibleError struct {
	tenant  *Tenant
	need    resources.Vector
	limited *Tenant // itself or a group, with a limit below the need; nil for machines
	limit   resources.Vector
}

func (e *impossibleError) Error() string {
	need := e.tenant.pool.space.Format(e.need)
	if e.limited != nil {
		return refuse(ErrNeed, fmt.Sprintf("request of %q: %s, more than the limit %s of %q",
			e.tenant.name, need, e.tenant.pool.formatLimit(e.limit), e.limited.name)).Error()
	}
	return refuse(ErrNeed, fmt.Sprintf("request of %q: %s, no machine has as much any more", e.tenant.name, need)).Error()
}

func (e *impossibleError) Unwrap() error { return ErrNeed }

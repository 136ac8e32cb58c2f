package pool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/resources"
)

// Requests within requests. A caller that holds leases, told by its context, may
// ask for more. A request that its own leases would hold up without end is refused:
// the caller cannot release them while it waits.

// heldKey finds the innermost lease that a context was made for.
type heldKey struct{}

// ownLeases are the holdings of a caller, by its context.
type ownLeases struct {
	byNode map[uint32]resources.Vector // nil where it holds nothing
	leases []*record
}

// held returns the caller's leases that are not released. Called with mu held.
func held(leases []Lease) (own ownLeases) {
	for _, l := range leases {
		if r := l.live(); r != nil {
			if own.byNode == nil {
				own.byNode = make(map[uint32]resources.Vector)
			}
			own.byNode[r.node] = own.byNode[r.node].Add(r.run.Need)
			own.leases = append(own.leases, r)
		}
	}
	return own
}

// holds reports whether the caller of w holds the lease of a slot.
func (w *waiter) holds(slot uint32) bool {
	return w.extra != nil && slices.ContainsFunc(w.extra.own, func(l Lease) bool { return l.slot == slot && l.live() != nil })
}

// checkNested refuses a need that could only be granted if the caller released its
// leases. Called with mu held.
func (ad *admission) checkNested(t *Tenant, need *resources.Vector, leases []Lease) error {
	own := held(leases)
	if own.leases == nil {
		return nil
	}
	if err := ad.checkOwnLimits(t, need, own); err != nil {
		return err
	}
	for i := range ad.books.machines {
		m := &ad.books.machines[i]
		rest, ok := m.capacity.Sub(own.byNode[uint32(i)])
		if ok && !m.gone && resources.Fits(need, &rest) {
			return nil
		}
	}
	return ad.nested(t, ad.space.Format(*need), own)
}

// checkNestedAll is checkNested for a request of several needs, or for preferred
// machines.
func (ad *admission) checkNestedAll(w *waiter) error {
	own := held(w.extra.own)
	if own.leases == nil {
		return nil
	}
	if err := ad.checkOwnLimits(w.tenant, &w.need, own); err != nil {
		return err
	}
	if ad.placement.packing(w, ad.placement.byLevel(w), true, own.byNode) != nil || ad.placement.packing(w, ad.books.byNumber(), true, own.byNode) != nil {
		return nil
	}
	needs := ad.space.Format(w.need)
	if g := w.many(); g != nil {
		needs = ad.formatAll(g.needs)
	}
	return ad.nested(w.tenant, needs, own)
}

// refuseNested refuses the requests that wait for their own callers since a machine or a
// limit has changed. Called with mu held, after a tick. Cost: O(waiters) if one of them
// has a caller that holds leases.
func (ad *admission) refuseNested() {
	if ad.waits.nesting == 0 {
		return
	}
	for t := range ad.tenants.all() {
		for w := t.first; w != nil; {
			next := w.next
			if err := ad.waitsForItself(w); err != nil {
				ad.refuseWaiter(w, err)
			}
			w = next
		}
	}
}

// waitsForItself returns why w can only be granted if its caller released what it holds,
// or nil.
func (ad *admission) waitsForItself(w *waiter) error {
	switch {
	case w.extra == nil || w.extra.own == nil:
		return nil
	case w.extra.near != nil || w.extra.many != nil:
		return ad.checkNestedAll(w)
	}
	return ad.checkNested(w.tenant, &w.need, w.extra.own)
}

// checkOwnLimits refuses a need for which the caller's own leases leave no room
// within a limit.
func (ad *admission) checkOwnLimits(t *Tenant, need *resources.Vector, own ownLeases) error {
	for g := t; g != nil; g = g.parent {
		if !g.set.Limited {
			continue
		}
		sum := *need
		for _, r := range own.leases {
			if r.tenant.isIn(g) {
				sum = sum.Add(r.run.Need)
			}
		}
		if !resources.Fits(&sum, &g.set.Limit) {
			return ad.nested(t, fmt.Sprintf("%s within the limit %s of %q", ad.space.Format(*need), ad.formatLimit(g.set.Limit), g.name), own)
		}
	}
	return nil
}

// nested is the refusal of a request that would wait for its own caller.
func (ad *admission) nested(t *Tenant, needs string, own ownLeases) error {
	held := make([]string, len(own.leases))
	for i, r := range own.leases {
		held[i] = fmt.Sprintf("%s on %s", ad.space.Format(r.run.Need), ad.books.machines[r.node].name)
	}
	text := fmt.Sprintf("need of %q: %s, the caller holds %s and would wait for itself", t.name, needs, strings.Join(held, " and "))
	return fault.New("pool", text, ErrNested, ErrNeed)
}

package pool

import (
	"context"
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

// ownedBy returns the leases of a context that are held. Called with mu held.
func (p *Pool) ownedBy(ctx context.Context) (own []Lease) {
	c, ok := ctx.Value(heldKey{}).(*leaseContext)
	for ; ok; c, ok = c.parent.Value(heldKey{}).(*leaseContext) {
		if c.pool != p {
			continue
		}
		if l := (Lease{pool: p, slot: c.slot, gen: c.gen}); l.live() != nil {
			own = append(own, l)
		}
	}
	return own
}

// held returns what is left of a caller's leases. Called with mu held.
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
func (p *Pool) checkNested(t *Tenant, need *resources.Vector, leases []Lease) error {
	own := held(leases)
	if own.leases == nil {
		return nil
	}
	if err := p.checkOwnLimits(t, need, own); err != nil {
		return err
	}
	for i := range p.books.machines {
		m := &p.books.machines[i]
		rest, ok := m.capacity.Sub(own.byNode[uint32(i)])
		if ok && !m.gone && resources.Fits(need, &rest) {
			return nil
		}
	}
	return p.nested(t, p.space.Format(*need), own)
}

// checkNestedAll is checkNested for a request of several needs, or for preferred
// machines.
func (p *Pool) checkNestedAll(w *waiter) error {
	own := held(w.extra.own)
	if own.leases == nil {
		return nil
	}
	if err := p.checkOwnLimits(w.tenant, &w.need, own); err != nil {
		return err
	}
	if p.packing(w, p.byLevel(w), true, own.byNode) != nil || p.packing(w, p.byNumber(), true, own.byNode) != nil {
		return nil
	}
	needs := p.space.Format(w.need)
	if g := w.many(); g != nil {
		needs = p.formatAll(g.needs)
	}
	return p.nested(w.tenant, needs, own)
}

// refuseNested refuses the requests that wait for their own callers since a machine or a
// limit has changed. Called with mu held, after a tick. Cost: O(waiters) if one of them
// has a caller that holds leases.
func (p *Pool) refuseNested() {
	if p.nesting == 0 {
		return
	}
	for t := range p.all() {
		for w := t.first; w != nil; {
			next := w.next
			if err := p.waitsForItself(w); err != nil {
				p.refuseWaiter(w, err)
			}
			w = next
		}
	}
}

// waitsForItself returns why w can only be granted if its caller released what it holds,
// or nil.
func (p *Pool) waitsForItself(w *waiter) error {
	switch {
	case w.extra == nil || w.extra.own == nil:
		return nil
	case w.extra.near != nil || w.extra.many != nil:
		return p.checkNestedAll(w)
	}
	return p.checkNested(w.tenant, &w.need, w.extra.own)
}

// checkOwnLimits refuses a need for which the caller's own leases leave no room
// within a limit.
func (p *Pool) checkOwnLimits(t *Tenant, need *resources.Vector, own ownLeases) error {
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
			return p.nested(t, fmt.Sprintf("%s within the limit %s of %q", p.space.Format(*need), p.formatLimit(g.set.Limit), g.name), own)
		}
	}
	return nil
}

// nested is the refusal of a request that would wait for its own caller.
func (p *Pool) nested(t *Tenant, needs string, own ownLeases) error {
	held := make([]string, len(own.leases))
	for i, r := range own.leases {
		held[i] = fmt.Sprintf("%s on %s", p.space.Format(r.run.Need), p.books.machines[r.node].name)
	}
	text := fmt.Sprintf("need of %q: %s, the caller holds %s and would wait for itself", t.name, needs, strings.Join(held, " and "))
	return fault.New("pool", text, ErrNested, ErrNeed)
}

package pool

import (
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// TryAcquire is [Tenant.TryAcquire] for the tenant of a name, which is made if
// the pool does not have it.
func (p *Pool) TryAcquire(tenant string, need resources.Vector) (Lease, bool) {
	if p.none() {
		return Lease{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t, err := p.named(tenant)
	if err != nil {
		return Lease{}, false
	}
	return p.try(t, &need)
}

// TryAcquire takes need at once or not at all: it does not wait for its turn.
//
// It returns false where no machine has room that is not reserved for another request,
// where requests of t wait already, and where a limit or rate holds t back. Each waiting
// request of another tenant lacks room or is held back, so TryAcquire may pass it. It
// preempts nothing.
//
// In a pool with a Cell it looks for room there if the pool has none. Only then it may
// block, for the commit, a millisecond at most. Cost: O(log machines), no allocation;
// those of a commit besides.
func (t *Tenant) TryAcquire(need resources.Vector) (Lease, bool) {
	if t.none() {
		return Lease{}, false
	}
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	return t.pool.try(t, &need)
}

// try takes need at once or not at all. Called with mu held. By the invariant of
// dispatch no waiter can use room that is free and not reserved, so taking it
// passes none over.
func (p *Pool) try(t *Tenant, need *resources.Vector) (l Lease, ok bool) {
	if p.draining || t.children != nil {
		return Lease{}, false
	}
	if l, ok = p.tryNow(t, need); !ok && p.lend != nil && p.admission.checkNeed(t, need) == nil {
		l, ok = p.commits.try(t, need)
	}
	if !ok {
		p.missed(t, need)
	}
	return l, ok
}

// tryNow is try in the room that the pool has.
func (p *Pool) tryNow(t *Tenant, need *resources.Vector) (Lease, bool) {
	if p.draining || t.children != nil || t.queued > 0 || *need == (resources.Vector{}) {
		return Lease{}, false
	}
	if p.waits.waiting > 0 || t.bounded {
		p.tick()
	}
	if p.waits.waiting > 0 && t.bounded && t.throttle() {
		p.next() // the token is for the first in the order
	}
	node := -1
	if p.replicas.contended() {
		if p.tick(); p.replicas.yields(t, need) {
			return Lease{}, false
		}
	}
	if !t.bounded || !t.heldBack(need) {
		node = p.placement.find(t, need)
	}
	if node < 0 {
		return Lease{}, false
	}
	if t.bounded {
		t.spend()
	}
	return p.grant(t, need, node, locality.NodeLocal), true
}

// missed counts a refused TryAcquire, and tells of it.
func (p *Pool) missed(t *Tenant, need *resources.Vector) {
	if err := p.admission.checkNeed(t, need); err != nil {
		_ = t.neverMet(need, err)
		return
	}
	t.noRoom++
	if p.events.Active() {
		p.tellRefused(t, need, "", omega.ErrNoRoom)
	}
}

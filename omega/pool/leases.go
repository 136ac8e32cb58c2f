package pool

import (
	"context"
	"iter"
	"runtime"
	"time"
	"weak"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega/observe"
)

// leaseTable are the leases of a pool, by slot.
type leaseTable struct {
	*core
	placement *placement
	pool      *Pool

	onLeak  func(Lease)
	held    int // leases that are held
	records []record
	vacant  []uint32 // slots of records
	grants  uint64   // so far
	evicted bool     // contexts of leases have ended
}

// token is an object that is collected when no copy of a lease is left. The runtime lists
// the cleanups and weak pointers of all objects in a span of memory, and searches that
// list. Larger objects make it shorter: 0.8 µs a lease, not 5.
type token struct{ _ [128]byte }

// record is the pool's entry of a lease.
type record struct {
	gen     uint32 // odd while the lease is live; a Lease of another one is stale
	node    uint32
	level   locality.Level
	tenant  *Tenant
	run     drf.Run       // of its usage
	grant   uint64        // in the order of grants
	at      time.Duration // of the grant, or earlier if no tenant waited then
	cleanup runtime.Cleanup
	token   weak.Pointer[token] // of its copies, if it may be named by Overdue
	ctx     *leaseContext       // made on first use

	preempted bool          // a guarantee takes the room back, or a claim in the cell
	late      bool          // its grace is over: no request counts on its room
	foreign   bool          // the claim is in the cell: no request counts on its room
	detached  bool          // its machine has left the cell, and its room with it
	charge    uint32        // of the lender
	takenFor  *reservation  // that it was taken for
	overdue   time.Duration // from when on it should be released
}

// lease returns the lease of a record.
func (lt *leaseTable) of(slot uint32) Lease {
	return Lease{pool: lt.pool, slot: slot, gen: lt.records[slot].gen}
}

// granted walks the leases that are held. Called with mu held.
func (lt *leaseTable) all() iter.Seq2[uint32, *record] {
	return func(yield func(uint32, *record) bool) {
		for i := range lt.records {
			if r := &lt.records[i]; r.gen&1 == 1 && !yield(uint32(i), r) {
				return
			}
		}
	}
}

// on walks the leases that hold room of a machine. Called with mu held.
func (lt *leaseTable) on(node int) iter.Seq2[uint32, *record] {
	return func(yield func(uint32, *record) bool) {
		for slot, r := range lt.all() {
			if !r.detached && int(r.node) == node && !yield(slot, r) {
				return
			}
		}
	}
}

// watch returns the lease with a token that tells when no copy is left.
//
//go:noinline
func (lt *leaseTable) watch(l Lease, r *record) Lease {
	untold := l
	l.token = new(token)
	if len(lt.tenants.guaranteed) > 0 {
		r.token = weak.Make(l.token)
	}
	r.cleanup = runtime.AddCleanup(l.token, lt.leaked, untold)
	return l
}

// leaked reports a lease of which no copy is left, unless it was released without
// one: by the worker that ran its task, or through a lease of Overdue.
func (lt *leaseTable) leaked(l Lease) {
	lt.mu.Lock()
	live := l.live() != nil
	lt.mu.Unlock()
	if live {
		lt.onLeak(l)
	}
}

// contextOf returns the context of a lease, made on first use below parent; one
// that has ended where r is nil. Called with mu held.
func (lt *leaseTable) contextOf(parent context.Context, r *record, l Lease) *leaseContext {
	if r == nil { // released by the holder of another copy
		c := &leaseContext{parent: parent, pool: lt.pool, slot: l.slot, gen: l.gen}
		c.end(endedReleased)
		return c
	}
	if r.ctx == nil {
		if l.token != nil && r.token == (weak.Pointer[token]{}) {
			r.token = weak.Make(l.token) // guarantees came after the grant, or may come
		}
		r.ctx = &leaseContext{parent: parent, pool: lt.pool, slot: l.slot, gen: l.gen}
		switch {
		case lt.evicted:
			r.ctx.end(endedClosed)
		case r.detached:
			r.ctx.end(endedLost)
		case r.foreign:
			r.ctx.end(endedTaken)
		case r.preempted:
			r.ctx.end(endedPreempted)
		}
	}
	return r.ctx
}

// endContexts ends the contexts of all leases, and of leases made from now on.
// Called with mu held.
func (lt *leaseTable) endContexts() {
	lt.evicted = true
	for _, r := range lt.all() {
		if r.ctx != nil {
			r.ctx.end(endedClosed)
		}
	}
}

// ownedBy returns the leases of a context that are held. Called with mu held.
func (lt *leaseTable) ownedBy(ctx context.Context) (own []Lease) {
	c, ok := ctx.Value(heldKey{}).(*leaseContext)
	for ; ok; c, ok = c.parent.Value(heldKey{}).(*leaseContext) {
		if c.pool != lt.pool {
			continue
		}
		if l := (Lease{pool: lt.pool, slot: c.slot, gen: c.gen}); l.live() != nil {
			own = append(own, l)
		}
	}
	return own
}

// tellOf sends an event of a lease. A granted one is of the waiter that was found
// last, if that is of its tenant.
//
//go:noinline
func (lt *leaseTable) tellOf(kind observe.Kind, r *record) {
	e := observe.Event{
		Kind: kind, At: time.Now(), Source: "pool", Tenant: r.tenant.name,
		Machine: lt.books.machines[r.node].name, Need: r.run.Need,
	}
	if w := lt.placement.found.w; kind == observe.Granted && w != nil && w.queued && w.tenant == r.tenant {
		e.Waited, e.Label = lt.at-w.since, w.label()
	}
	lt.events.Tell(e)
}

package pool

import (
	"sync"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// waiter is a request that was not served at once. The pool's mutex guards it
// until it is served; then the goroutine that waits alone has it, or the worker
// that runs its task.
type waiter struct {
	tenant     *Tenant
	next, prev *waiter // in the tenant's queue
	since      time.Duration
	need       resources.Vector // of several needs the sum
	priority   int32
	queued     bool
	ready      chan struct{} // buffered: one token when lease or err is there; nil of a task
	lease      Lease
	err        error
	task       *task        // to run when it is served, else nil
	extra      *extra       // of a request that says more than its need, else nil
	kept       *reservation // room that is reserved for it, else nil
}

// extra is the part of a waiter that few requests have.
type extra struct {
	most  time.Duration // maximum wait; 0 for none
	label string
	many  *gang // of several needs
	near  *near // of preferred machines
}

// many returns the part of a waiter with several needs, or nil.
func (w *waiter) many() *gang {
	if w.extra == nil {
		return nil
	}
	return w.extra.many
}

// near returns the part of a waiter that prefers machines, or nil.
func (w *waiter) near() *near {
	if w.extra == nil {
		return nil
	}
	return w.extra.near
}

// reservation is room that is kept for a waiter.
type reservation struct {
	nodes []locality.Node // by need
	made  uint64          // grants when it was made
	at    time.Duration   // when that was
	until time.Duration   // when the older leases are expected to end
	timer *time.Timer     // fires when longer tasks may go on meanwhile
	over  bool            // it was taken back or used
	older int             // leases on those machines from before that
	owed  bool            // by a guarantee: others make room, and none is granted more
}

// gang is the part of a waiter with several needs.
type gang struct {
	needs  []resources.Vector
	leases []Lease
	nodes  []locality.Node // where they go, as found last
}

// near is the part of a waiter that prefers machines.
type near struct {
	prefer   []locality.Node
	required bool           // no other will do
	best     locality.Level // the nearest that it could be placed
	job      delay.Job      // how far from that it accepts to run
	relax    *time.Timer    // fires when that changes
	delayed  bool           // when it was last tried, it waited for nothing else,
	tried    uint64         // which was in this epoch of the pool,
	kept     bool           // while room was reserved for others,
	offered  locality.Level // and this was the nearest that had room
	over     bool           // it has left its queue
}

// spares are the waiters that a pool uses again. They are kept per pool: a
// channel that leaves its synctest bubble must not be used in another.
type spares struct {
	mu   sync.Mutex
	list *waiter // by next
}

// waiter returns a waiter, used before or new.
func (p *Pool) waiter() *waiter {
	p.spare.mu.Lock()
	defer p.spare.mu.Unlock()
	if w := p.spare.list; w != nil {
		p.spare.list, w.next = w.next, nil
		return w
	}
	return &waiter{ready: make(chan struct{}, 1)}
}

// recycle takes back a waiter that has left its queue and whose token was
// received.
func (p *Pool) recycle(w *waiter) {
	p.spare.mu.Lock()
	defer p.spare.mu.Unlock()
	if w.ready == nil {
		return // of a task: the collector has it, as there may be very many
	}
	*w = waiter{ready: w.ready, next: p.spare.list}
	p.spare.list = w
}

// push puts w into the queue of its tenant, behind all of the same or a higher
// priority.
func (t *Tenant) push(w *waiter) {
	at := t.last
	for at != nil && at.priority < w.priority {
		at = at.prev
	}
	w.prev, w.queued = at, true
	if at == nil {
		w.next, t.first = t.first, w
	} else {
		w.next, at.next = at.next, w
	}
	if w.next == nil {
		t.last = w
	} else {
		w.next.prev = w
	}
	t.queued++
	t.pool.waiting++
	need := w.least()
	if t.queued == 1 {
		t.least, t.popped = need, 0
	} else {
		t.least = t.least.Min(need)
	}
}

// least returns a vector that each need of w has at least.
func (w *waiter) least() resources.Vector {
	g := w.many()
	if g == nil {
		return w.need
	}
	v := g.needs[0]
	for i := range g.needs {
		v = v.Min(g.needs[i])
	}
	return v
}

// pop takes w out of the queue of its tenant.
func (t *Tenant) pop(w *waiter) {
	if w.prev == nil {
		t.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		t.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.next, w.prev, w.queued = nil, nil, false
	t.queued--
	t.pool.waiting--
	// The least need may have grown. It is a lower bound, brought up to date after
	// as many requests as there are.
	if t.popped++; t.popped > t.queued && t.first != nil {
		t.least, t.popped = t.first.least(), 0
		for w := t.first.next; w != nil; w = w.next {
			t.least = t.least.Min(w.least())
		}
	}
}

// await tells the order what t waits for at least. Called with mu held.
func (p *Pool) await(t *Tenant) {
	w := t.first
	if w == nil {
		_ = p.fair.Park(t.user, p.at)
		return
	}
	if t.bounded {
		// A tenant without a token does not wait for room, as far as the order
		// goes. Time wakes it.
		if wait := t.throttled(); wait > 0 {
			_ = p.fair.Park(t.user, p.at)
			t.resume(wait)
			return
		}
	}
	least := t.least
	if t.set.Strict {
		least = w.least()
	}
	_ = p.fair.Wait(t.user, least, p.at) // check has refused what it would
}

// leave takes w out of its queue and takes back what was reserved for it. Called
// with mu held.
func (p *Pool) leave(w *waiter) {
	p.unreserve(w)
	if n := w.near(); n != nil {
		if n.over = true; n.relax != nil {
			n.relax.Stop()
		}
	}
	w.tenant.pop(w)
	p.await(w.tenant)
}

// serve ends the wait of w, which has its leases or an error.
func (p *Pool) serve(w *waiter) {
	if w.err == nil {
		w.tenant.note(p.at - w.since)
	} else if p.subscriptions != nil {
		p.tell(&Event{Kind: Refused, Tenant: w.tenant.name, Need: w.need, Err: w.err})
	}
	p.leave(w)
	p.found.w = nil
	if w.task != nil {
		p.ready = append(p.ready, w)
		return
	}
	w.ready <- struct{}{}
}

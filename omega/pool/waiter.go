package pool

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// waiter is a request that was not served at once, or a task that has not
// started. The pool's mutex guards it until it is served; then the goroutine that
// waits alone has it, or the worker that runs its task.
//
// Waiters are used again, those of each pool by the pool: a channel that leaves
// its synctest bubble must not be used in another.
type waiter struct {
	tenant     *Tenant
	next, prev *waiter // in the tenant's queue
	since      time.Duration
	need       resources.Vector // of several needs the sum
	priority   int32
	place      int32 // among the tasks of its group that wait
	queued     bool
	ready      chan struct{} // buffered: one token when lease or err is there
	lease      Lease
	err        error
	task       task         // to run when it is served, if it has a function
	extra      *extra       // of a request that says more than its need, else nil
	kept       *reservation // room that is reserved for it, else nil
}

// task is work that waits in the queue of its tenant. A waiter with one takes
// 216 bytes.
type task struct {
	ctx   context.Context //nolint:containedctx // of the task, as long as it waits
	fn    func(context.Context, Lease) error
	group *Group // its Wait gets the error; nil: the pool's Shutdown
}

// extra is the part of a waiter that few requests have.
type extra struct {
	most  time.Duration // maximum wait; 0 for none
	label string
	many  *gang   // of several needs
	near  *near   // of preferred machines
	own   []Lease // that its caller holds, as the context tells
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

// picky reports whether w may be impossible to place although a machine has as much
// as it needs.
func (w *waiter) picky() bool {
	return w.extra != nil && (w.extra.many != nil || w.extra.near != nil && w.extra.near.required)
}

// reservation is room that is kept for a waiter.
type reservation struct {
	nodes []locality.Node // by need
	made  uint64          // grants when it was made
	at    time.Duration   // when that was
	until time.Duration   // when the older leases are expected to end
	timer *time.Timer     // fires when longer tasks may go on meanwhile
	over  bool            // it was taken back or used
	older bool            // leases from before that leave no room for the needs
	owed  bool            // by a guarantee: others make room, and none is granted more

	taken    []Lease   // preempted for it
	spent    bool      // what is owed was granted, with a token of each rate
	renewed  bool      // the tokens are for a promise in place of this one
	promises []promise // of what is owed, by need
	missing  int       // promises that have not got all
}

// gang is the part of a waiter with several needs.
type gang struct {
	needs  []resources.Vector
	least  resources.Vector // each of them has at least this
	leases []Lease
	nodes  []locality.Node // where they go, as found last

	hopeless *Tenant // its guarantee found no room,
	looked   uint64  // up to this change of the index
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

// recycle takes back a waiter that has left its queue, after its token was received.
func (p *Pool) recycle(w *waiter) {
	*w = waiter{ready: w.ready}
	p.spare.Put(w)
}

// shelf are waiters of tasks that are used again. The pool's mutex guards it.
type shelf struct {
	first *waiter
	n     int
}

// shelved is how many waiters a shelf has at most beyond those that are in use.
const shelved = 256

// take returns a waiter, used before or new.
func (s *shelf) take() *waiter {
	if s.first == nil {
		s.stock()
	}
	w := s.first
	s.first, w.next = w.next, nil
	s.n--
	return w
}

// stock fills an empty shelf. One allocation of many waiters takes a fraction of the
// time of one for each.
//
//go:noinline
func (s *shelf) stock() {
	batch := new([16]waiter)
	for i := range batch[1:] {
		batch[i].next = &batch[i+1]
	}
	s.first, s.n = &batch[0], len(batch)
}

// put takes back the waiter of a task, while so many are in use. There may be very
// many once: a shelf that has grown too long gets shorter.
func (s *shelf) put(w *waiter, used int) {
	if s.n < used+shelved {
		*w = waiter{next: s.first}
		s.first = w
		s.n++
	} else if s.n > used+shelved {
		s.first = s.first.next
		s.n--
	}
}

// push puts w into the queue of its tenant, behind all of the same or a higher
// priority, and reports whether the order has to be told. Cost: O(log priorities).
func (t *Tenant) push(w *waiter) bool {
	at := t.last
	if at != nil && (len(t.runs) > 0 || at.priority != w.priority) {
		at = t.enrol(w)
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
	if g := w.task.group; g != nil {
		w.place = int32(len(g.waiting))
		g.waiting = append(g.waiting, w)
	}
	t.queued++
	t.pool.waiting++
	if t.pool.victimIndex != nil {
		t.pool.victimIndex.arrived(w)
	}
	if w.picky() {
		t.pool.picky++
	}
	if w.extra != nil && w.extra.own != nil {
		t.pool.nesting++
	}
	if t.queued == 1 {
		t.pool.queues++
		t.least, t.popped, t.alike = *w.least(), 0, true
		return true
	}
	if least := w.least(); t.least != *least {
		t.alike = false
		return lower(&t.least, least) || w == t.first
	}
	return w == t.first
}

// run is the last request of one priority in a queue with several.
type run struct {
	priority int32
	last     *waiter
}

// enrol notes w as the last of its priority, and returns the request that it is
// behind, nil if it is the first.
//
//go:noinline
func (t *Tenant) enrol(w *waiter) (behind *waiter) {
	t.pool.ranked = true
	if len(t.runs) == 0 { // all had one priority
		t.runs = append(t.runs, run{t.last.priority, t.last})
	}
	i, known := t.runOf(w.priority)
	switch {
	case known:
		behind, t.runs[i].last = t.runs[i].last, w
		return behind
	case i > 0:
		behind = t.runs[i-1].last
	}
	t.runs = slices.Insert(t.runs, i, run{w.priority, w})
	return behind
}

// runOf returns where a priority is in the runs of t, the highest first, or belongs.
func (t *Tenant) runOf(priority int32) (i int, known bool) {
	return slices.BinarySearchFunc(t.runs, priority, func(r run, p int32) int { return cmp.Compare(p, r.priority) })
}

// strike takes w, which leaves the queue, out of the runs.
//
//go:noinline
func (t *Tenant) strike(w *waiter) {
	i, _ := t.runOf(w.priority)
	switch {
	case t.runs[i].last != w:
	case w.prev != nil && w.prev.priority == w.priority:
		t.runs[i].last = w.prev
	default:
		if t.runs = slices.Delete(t.runs, i, i+1); len(t.runs) == 1 {
			t.runs = slices.Delete(t.runs, 0, 1)
		}
	}
}

// least returns a vector that each need of w has at least.
func (w *waiter) least() *resources.Vector {
	if g := w.many(); g != nil {
		return &g.least
	}
	return &w.need
}

// lower lowers v to other where that is less, and reports whether that changed it.
func lower(v, other *resources.Vector) bool {
	changed := int64(0)
	for k := range v {
		least := min(v[k], other[k])
		changed |= v[k] ^ least
		v[k] = least
	}
	return changed != 0
}

// pop takes w out of the queue of its tenant, and reports whether the order has to
// be told.
func (t *Tenant) pop(w *waiter) bool {
	if len(t.runs) > 0 {
		t.strike(w)
	}
	if g := w.task.group; g != nil {
		last := g.waiting[len(g.waiting)-1]
		g.waiting[w.place], last.place = last, w.place
		g.waiting[len(g.waiting)-1] = nil
		g.waiting = g.waiting[:len(g.waiting)-1]
	}
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
	t.pool.waiting--
	if w.picky() {
		t.pool.picky--
	}
	if w.extra != nil && w.extra.own != nil {
		t.pool.nesting--
	}
	if t.queued--; t.queued == 0 {
		t.pool.queues--
	}
	// The least need may have grown. It is a lower bound, brought up to date after
	// as many requests as there are.
	if t.popped++; t.popped <= t.queued || t.alike && t.queued > 0 {
		return t.set.Strict // the first one's need is what it waits for
	}
	if t.first != nil {
		t.least, t.popped, t.alike = *t.first.least(), 0, true
		for w := t.first.next; w != nil; w = w.next {
			if least := w.least(); t.least != *least {
				t.alike = false
				lower(&t.least, least)
			}
		}
	}
	return true
}

// await tells the order what t waits for at least. Called with mu held.
func (p *Pool) await(t *Tenant) {
	w := t.first
	if w == nil {
		_ = p.fair.Park(t.user, p.at)
		return
	}
	least := &t.least
	if t.set.Strict {
		least = w.least()
	}
	_ = p.fair.Wait(t.user, *least, p.at) // check has refused what it would
}

// leave takes w out of its queue and takes back what was reserved for it. Called
// with mu held.
func (p *Pool) leave(w *waiter) {
	if p.found.w == w { // it may be used again for another request
		p.found.w = nil
	}
	p.unreserve(w)
	if p.lend != nil && p.waiting == 1 {
		p.lend.unasked()
	}
	if n := w.near(); n != nil {
		if n.over = true; n.relax != nil {
			n.relax.Stop()
		}
	}
	if t := w.tenant; t.pop(w) {
		p.await(t)
	}
}

// serve ends the wait of w, which has its leases or an error.
func (p *Pool) serve(w *waiter) {
	if w.err == nil {
		w.tenant.note(p.at - w.since)
	} else if p.events.Active() {
		p.tellRefused(w.tenant, &w.need, w.label(), w.err)
	}
	p.leave(w)
	if w.task.fn != nil {
		p.ready.add(w)
		return
	}
	w.ready <- struct{}{}
}

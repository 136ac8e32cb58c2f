package pool

import (
	"cmp"
	"slices"

	"github.com/cellsched/cellsched/resources"
)

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
	t.pool.waits.waiting++
	if t.pool.search.index != nil {
		t.pool.search.index.arrived(w)
	}
	if w.picky() {
		t.pool.waits.picky++
	}
	if w.extra != nil && w.extra.own != nil {
		t.pool.waits.nesting++
	}
	if t.queued == 1 {
		t.pool.waits.queues++
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
	t.pool.tenants.ranked = true
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
	t.pool.waits.waiting--
	if w.picky() {
		t.pool.waits.picky--
	}
	if w.extra != nil && w.extra.own != nil {
		t.pool.waits.nesting--
	}
	if t.queued--; t.queued == 0 {
		t.pool.waits.queues--
	}
	// The least need may have grown. It is a lower bound, brought up to date after
	// as many requests as there are.
	if t.popped++; t.popped <= t.queued || t.alike && t.queued > 0 {
		return t.set.Strict // it waits for the need of the first one
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

package pool

import (
	"cmp"
	"iter"
	"slices"
)

// bunch is all that one tenant has on one machine, leases or promises, in the order in
// which they were granted or made.
type bunch struct {
	rights *rights
	owed   bool
	items  []*item
	at     int // place among the bunches of the machine
}

// bunchKey is the key under which a tenant finds a bunch of its own.
type bunchKey struct {
	node int
	owed bool
}

// add puts an item on its machine.
func (m *exposed) add(it *item) {
	key := bunchKey{it.node, it.owed != nil}
	b := it.rights.bunches[key]
	if b == nil {
		b = &bunch{rights: it.rights, owed: key.owed, at: len(m.bunches)}
		it.rights.bunches[key] = b
		m.bunches = append(m.bunches, b)
	}
	b.items = slices.Insert(b.items, b.place(it), it)
}

// remove takes an item from its machine.
func (m *exposed) remove(it *item) {
	key := bunchKey{it.node, it.owed != nil}
	b := it.rights.bunches[key]
	at := b.place(it)
	if b.items = slices.Delete(b.items, at, at+1); len(b.items) > 0 {
		return
	}
	delete(it.rights.bunches, key)
	last := m.bunches[len(m.bunches)-1]
	m.bunches[b.at], last.at = last, b.at
	m.bunches[len(m.bunches)-1] = nil
	m.bunches = m.bunches[:len(m.bunches)-1]
}

// place returns where an item stands in the bunch, or belongs.
func (b *bunch) place(it *item) int {
	at, _ := slices.BinarySearchFunc(b.items, it, func(a, b *item) int { return cmp.Compare(a.key, b.key) })
	return at
}

// all walks the items on a machine.
func (m *exposed) all() iter.Seq[*item] {
	return func(yield func(*item) bool) {
		for _, b := range m.bunches {
			for _, it := range b.items {
				if !yield(it) {
					return
				}
			}
		}
	}
}

// merged are victims on one machine in the order in which they are preempted, found as
// they are asked for: the next of each bunch in a heap.
type merged struct {
	x       *preemptible
	owed    *Tenant
	w       *waiter
	shares  map[*Tenant]float64
	heap    []victim
	bunches []rest // by place in the heap
}

// rest is a bunch with the number of items that were not looked at.
type rest struct {
	*bunch
	n int
}

// merge returns the victims on a machine for w, a request within the guarantee of owed.
// Cost: O(bunches).
func (x *preemptible) merge(node int, owed *Tenant, w *waiter, shares map[*Tenant]float64) *merged {
	m := &merged{x: x, owed: owed, w: w, shares: shares}
	for _, b := range x.machines[node].bunches {
		if v, left := m.latest(rest{b, len(b.items)}); left.n >= 0 {
			m.heap, m.bunches = append(m.heap, v), append(m.bunches, left)
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.sink(i)
	}
	return m
}

// latest returns the latest victim in the rest of a bunch, and the rest before it; of -1
// items if there is none.
func (m *merged) latest(r rest) (victim, rest) {
	for r.n--; r.n >= 0; r.n-- {
		if v, some := m.x.victimOf(r.items[r.n], m.owed, m.w, m.shares); some {
			return v, r
		}
	}
	return victim{}, r
}

// all walks the victims in order.
func (m *merged) all() iter.Seq[victim] {
	return func(yield func(victim) bool) {
		for v, some := m.next(); some && yield(v); v, some = m.next() {
			continue
		}
	}
}

// next returns the next victim. Cost: O(log bunches), and O(1) for each item that is
// safe.
func (m *merged) next() (v victim, some bool) {
	if len(m.heap) == 0 {
		return v, false
	}
	v = m.heap[0]
	if m.heap[0], m.bunches[0] = m.latest(m.bunches[0]); m.bunches[0].n < 0 {
		last := len(m.heap) - 1
		m.heap[0], m.bunches[0] = m.heap[last], m.bunches[last]
		m.heap, m.bunches = m.heap[:last], m.bunches[:last]
	}
	m.sink(0)
	return v, true
}

// sink moves an entry of the heap down to its place. The first to be preempted is on
// top.
func (m *merged) sink(i int) {
	for {
		first := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(m.heap); c++ {
			if m.heap[c].before(&m.heap[first]) {
				first = c
			}
		}
		if first == i {
			return
		}
		m.heap[i], m.heap[first] = m.heap[first], m.heap[i]
		m.bunches[i], m.bunches[first] = m.bunches[first], m.bunches[i]
		i = first
	}
}

package late

import "math"

// order is the list of a job's originals by start, linked through its attempts. The
// originals before next are settled.
type order struct{ first, last, next uint32 }

// noSlot is the slot of no attempt.
const noSlot = math.MaxUint32

var empty = order{noSlot, noSlot, noSlot}

// young returns the first original that is not settled.
func (o *order) young() (slot uint32, ok bool) { return o.next, o.next != noSlot }

// settled moves next past a settled slot.
func (o *order) settled(all []attempt, slot uint32) {
	if o.next == slot {
		o.next = all[slot].next
	}
}

// append adds an original that starts now.
func (o *order) append(all []attempt, slot uint32) { o.link(all, slot, o.last) }

// insert adds an original that started some time ago, after those as old or older.
func (o *order) insert(all []attempt, slot uint32) {
	after := o.last
	for after != noSlot && all[after].start > all[slot].start {
		after = all[after].prev
	}
	o.link(all, slot, after)
}

// link puts a slot that is not settled after another, or first. If the slots behind
// it are settled, the caller settles it too: it is older than they are.
func (o *order) link(all []attempt, slot, after uint32) {
	next := o.first
	if after != noSlot {
		next = all[after].next
		all[after].next = slot
	} else {
		o.first = slot
	}
	all[slot].prev, all[slot].next = after, next
	if next != noSlot {
		all[next].prev = slot
	} else {
		o.last = slot
	}
	if o.next == next {
		o.next = slot
	}
}

func (o *order) remove(all []attempt, slot uint32) {
	prev, next := all[slot].prev, all[slot].next
	if o.next == slot {
		o.next = next
	}
	if prev != noSlot {
		all[prev].next = next
	} else {
		o.first = next
	}
	if next != noSlot {
		all[next].prev = prev
	} else {
		o.last = prev
	}
}

package experiments

import (
	"time"

	"github.com/cellsched/cellsched/locality"
)

// others have slots of the cell for work that is not simulated otherwise: each slot is
// theirs for the length of a load, then free for a gap. If a task is there when
// that is over, they come again a gap after a task on that machine has left.
type others struct {
	load, gap func() time.Duration
	have      []int32 // slots, by machine
	waiting   []int32 // for slots, by machine
}

// begin has others take all slots.
func (o *others) begin(w *world) {
	o.have, o.waiting = make([]int32, len(w.free)), make([]int32, len(w.free))
	for range w.slots {
		for n := range w.free {
			o.take(w, locality.Node(n))
		}
	}
}

func (o *others) take(w *world, n locality.Node) {
	o.count(w, n, 1)
	w.events.Push(w.now+o.load(), event{kind: leaves, node: n})
}

func (o *others) leaves(w *world, n locality.Node) {
	o.count(w, n, -1)
	w.events.Push(w.now+o.gap(), event{kind: wants, node: n})
}

// count has others hold so many slots more.
func (o *others) count(w *world, n locality.Node, slots int32) {
	o.have[n] += slots
	w.free[n] -= slots
	w.vacant -= int(slots)
	w.ours -= int(slots)
	w.changed = true
}

// wants has others take a slot if one is free.
func (o *others) wants(w *world, n locality.Node) {
	if w.free[n] > 0 {
		o.take(w, n)
	} else {
		o.waiting[n]++
	}
}

// freed is for a slot that a task has left.
func (o *others) freed(w *world, n locality.Node) {
	if o.waiting[n] > 0 {
		o.waiting[n]--
		w.events.Push(w.now+o.gap(), event{kind: wants, node: n})
	}
}

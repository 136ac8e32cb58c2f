package experiments

import (
	"cmp"
	"container/heap"
	"time"
)

// events are what is to happen, in order of time and, at one time, of when they
// were put there.
type events struct {
	now  time.Duration
	seq  int
	heap eventHeap
}

type event struct {
	at  time.Duration
	seq int
	do  func() error
}

// at has do called at the given time, or now if that is past.
func (e *events) at(at time.Duration, do func() error) {
	e.seq++
	heap.Push(&e.heap, event{max(at, e.now), e.seq, do})
}

// run calls them until none is left or one fails; after is called behind each.
func (e *events) run(after func() error) error {
	for len(e.heap) > 0 {
		next := heap.Pop(&e.heap).(event)
		e.now = next.at
		if err := next.do(); err != nil {
			return err
		}
		if err := after(); err != nil {
			return err
		}
	}
	return nil
}

// eventHeap is for container/heap.
type eventHeap []event

func (h eventHeap) Len() int      { return len(h) }
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h eventHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].at, h[j].at), cmp.Compare(h[i].seq, h[j].seq)) < 0
}
func (h *eventHeap) Push(x any) { *h = append(*h, x.(event)) }

func (h *eventHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	*h = (*h)[:last]
	return e
}

package admission_test

import (
	"cmp"
	"container/heap"
	"testing"
)

// stride is the order of a fair task queue in Temporal's matching service (service/matching, fairness
// keys and weights). A task gets a pass when it is written: 1,000 divided by the weight after
// the last one of its key, and not before the tasks dispatched already. Workers poll tasks by pass.
// Its database, buffers and partitions are left out.
type stride struct {
	weights []int
	passes  []int64 // by tenant: the last one given
	base    int64   // pass of the last task dispatched
	written int64
	waiting levels
}

// A level is a task with its place: by pass, and then in the order of writing.
type level struct {
	pass, id int64
	task     func()
}

func openStride(_ *testing.T, slots int, weights []int) fairQueue {
	return openPulled(slots, &stride{weights: weights, passes: make([]int64, len(weights))})
}

func (o *stride) push(tenant int, task func()) {
	const factor = 1_000
	step := max(1, int64(factor/o.weights[tenant]))
	o.passes[tenant] = max(o.base, o.passes[tenant]+step)
	o.written++
	heap.Push(&o.waiting, level{o.passes[tenant], o.written, task})
}

func (o *stride) pull(int) func() {
	if len(o.waiting) == 0 {
		return nil
	}
	next := heap.Pop(&o.waiting).(level)
	o.base = max(o.base, next.pass)
	return next.task
}

// levels is a heap.
type levels []level

func (l levels) Len() int { return len(l) }
func (l levels) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(l[i].pass, l[j].pass), cmp.Compare(l[i].id, l[j].id)) < 0
}
func (l levels) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *levels) Push(x any)   { *l = append(*l, x.(level)) }

func (l *levels) Pop() any {
	last := (*l)[len(*l)-1]
	*l = (*l)[:len(*l)-1]
	return last
}

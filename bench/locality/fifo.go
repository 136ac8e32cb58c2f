package main

import (
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
)

// epoch is when virtual time begins.
var epoch = time.Unix(0, 0).UTC()

// fifo serves jobs first come, first served.
type fifo struct {
	q     *delay.Queue[int]
	learn *delay.Learner // nil if nothing is learned
}

func newFIFO(p delay.Policy, topology *locality.Topology) (*fifo, error) {
	q, err := delay.NewQueue[int](p, topology)
	if err != nil {
		return nil, err
	}
	return &fifo{q: q, learn: p.Learn}, nil
}

func (f *fifo) add(number int, j *job) error {
	tasks := make([][]locality.Node, len(j.tasks))
	for i := range tasks {
		tasks[i] = j.tasks[i].holders
	}
	return f.q.Add(number, tasks...)
}

func (f *fifo) offer(now time.Duration, n locality.Node) (delay.Launch[int], bool, error) {
	return f.q.Offer(epoch.Add(now), n)
}

func (f *fifo) ended(l delay.Launch[int], t *task) error {
	if f.learn == nil || len(t.holders) == 0 {
		return nil
	}
	return f.learn.Ran(l.Level, t.run(l.Level))
}

func (f *fifo) waiting() int { return f.q.Len() }

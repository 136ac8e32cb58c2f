package main

import (
	"cmp"
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// queue is the order by submission, or by priority and then by submission. A job
// that cannot start a task now is passed over, as Hadoop's FIFO scheduler does.
type queue struct {
	priority bool
	jobs     []*job
	refused  int  // jobs before it have been refused in this round
	asked    bool // in this round
}

func (q *queue) compare(a, b *job) int {
	if q.priority {
		if c := cmp.Compare(b.Priority, a.Priority); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.seq, b.seq)
}

func (q *queue) begin() { q.refused, q.asked = 0, false }

func (q *queue) push(j *job) error {
	i, _ := slices.BinarySearchFunc(q.jobs, j, q.compare)
	q.jobs = slices.Insert(q.jobs, i, j)
	return nil
}

func (q *queue) drop(j *job) error {
	if i, ok := slices.BinarySearchFunc(q.jobs, j, q.compare); ok {
		q.jobs = slices.Delete(q.jobs, i, i+1)
		if i < q.refused {
			q.refused--
		}
	}
	return nil
}

func (q *queue) next(fits func(*job) bool) *job {
	q.asked = true
	for ; q.refused < len(q.jobs); q.refused++ {
		if j := q.jobs[q.refused]; fits(j) {
			return j
		}
	}
	return nil
}

func (q *queue) charge(*job, resources.Vector) error { return nil }
func (q *queue) credit(*job, resources.Vector) error { return nil }

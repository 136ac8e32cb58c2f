package loop

import "container/heap"

// ByDeadline returns an [Order] by deadline, the earliest first. Jobs without a deadline
// come last. Equal deadlines go by arrival, and a job that was backed off has its old
// place again. Cost of a Push or Next: O(log jobs).
func ByDeadline[K any]() Order[K] { return new(byDeadline[K]) }

type byDeadline[K any] struct {
	jobs dated[K]
}

// Push brings in a job.
func (b *byDeadline[K]) Push(p *Pending[K]) { heap.Push(&b.jobs, p) }

// Next takes out the job with the earliest deadline.
func (b *byDeadline[K]) Next() *Pending[K] {
	if len(b.jobs.ranked) == 0 {
		return nil
	}
	return heap.Pop(&b.jobs).(*Pending[K])
}

// dated is a heap by deadline.
type dated[K any] struct{ ranked[K] }

func (d dated[K]) Less(i, j int) bool {
	a, b := d.ranked[i], d.ranked[j]
	if s, t := a.job.Deadline, b.job.Deadline; !s.Equal(t) {
		return t.IsZero() || !s.IsZero() && s.Before(t)
	}
	return a.seq < b.seq
}

package loop

import "container/heap"

// ByPrecedence returns an [Order] by precedence, the highest first, and among
// equals by arrival: a job that was backed off has its old place again. It
// preempts nothing by itself. Cost of a Push or Next: O(log jobs).
func ByPrecedence[K any]() Order[K] { return new(byPrecedence[K]) }

// byPrecedence is the order of [ByPrecedence]. The zero byPrecedence is empty.
type byPrecedence[K any] struct {
	jobs ranked[K]
}

// Push brings in a job.
func (b *byPrecedence[K]) Push(p *Pending[K]) { heap.Push(&b.jobs, p) }

// Next takes out the job of highest precedence.
func (b *byPrecedence[K]) Next() *Pending[K] {
	if len(b.jobs) == 0 {
		return nil
	}
	return heap.Pop(&b.jobs).(*Pending[K])
}

// ranked is a heap: only its first element is ever asked for, so an ordered tree would
// cost more for an order that is not read.
type ranked[K any] []*Pending[K]

func (r ranked[K]) Len() int { return len(r) }

func (r ranked[K]) Less(i, j int) bool {
	a, b := r[i], r[j]
	if a.job.Precedence != b.job.Precedence {
		return a.job.Precedence > b.job.Precedence
	}
	return a.seq < b.seq
}

func (r ranked[K]) Swap(i, j int) { r[i], r[j] = r[j], r[i] }

func (r *ranked[K]) Push(x any) { *r = append(*r, x.(*Pending[K])) }

func (r *ranked[K]) Pop() any {
	last := len(*r) - 1
	p := (*r)[last]
	(*r)[last] = nil
	*r = (*r)[:last]
	return p
}

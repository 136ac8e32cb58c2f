package loop

import "container/heap"

// ByPrecedence is an [Order] by precedence, the highest first, and among
// equals by arrival: a job that was backed off has its old place again. It
// preempts nothing by itself. The zero ByPrecedence is empty and ready to use.
// Cost: O(log jobs).
type ByPrecedence[K any] struct {
	jobs ranked[K]
}

// Push brings in a job.
func (b *ByPrecedence[K]) Push(p *Pending[K]) { heap.Push(&b.jobs, p) }

// Next takes out the job of highest precedence.
func (b *ByPrecedence[K]) Next() *Pending[K] {
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

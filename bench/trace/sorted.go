package trace

import (
	"cmp"
	"container/heap"
	"fmt"
	"iter"
)

// Sorted passes jobs on in the order in which they were submitted, of equal ones
// in the order in which they come, for files that are not quite sorted: it holds
// back so many jobs, at least one. A job that would have to come before one that
// was passed on is an [ErrOrder] at its place in file. Cost: O(log window) a job.
func Sorted(file string, jobs iter.Seq2[Job, error], window int) iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		var h backlog
		var n int
		var last Job
		pass := func() bool {
			last = heap.Pop(&h).(arrival).Job
			return yield(last, nil)
		}
		for j, err := range jobs {
			if err == nil && n > 0 && j.Submit < last.Submit {
				err = &Error{File: file, Line: j.SubmitAt.Line, Column: j.SubmitAt.Column, Reason: ErrOrder, Detail: fmt.Sprintf(
					"job %q was submitted at %v, before one that was read more than %d jobs earlier, at %v, want those by submission", clip(j.ID), j.Submit, max(1, window), last.Submit)}
			}
			if err != nil {
				yield(Job{}, err)
				return
			}
			heap.Push(&h, arrival{Job: j, n: n})
			n++
			if len(h) > max(1, window) && !pass() {
				return
			}
		}
		for len(h) > 0 {
			if !pass() {
				return
			}
		}
	}
}

type arrival struct {
	Job
	n int
}

// backlog is a heap by submission, then by arrival.
type backlog []arrival

func (b backlog) Len() int { return len(b) }
func (b backlog) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(b[i].Submit, b[j].Submit), cmp.Compare(b[i].n, b[j].n)) < 0
}
func (b backlog) Swap(i, j int) { b[i], b[j] = b[j], b[i] }
func (b *backlog) Push(v any)   { *b = append(*b, v.(arrival)) }
func (b *backlog) Pop() any {
	old := *b
	v := old[len(old)-1]
	old[len(old)-1] = arrival{}
	*b = old[:len(old)-1]
	return v
}

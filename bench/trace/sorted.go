package trace

import (
	"fmt"
	"iter"

	"github.com/cellsched/cellsched/bench/internal/queue"
)

// Sorted passes jobs on in the order in which they were submitted, of equal ones
// in the order in which they come. It is for files that are not quite sorted: it holds
// back so many jobs, at least one. A job that would have to come before one that
// was passed on is an [ErrOrder] at its place in file. Cost: O(log window) a job.
func Sorted(file string, jobs iter.Seq2[Job, error], window int) iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		var backlog queue.Queue[Job]
		var passed bool
		var last Job
		pass := func() bool {
			_, last, passed = backlog.Pop()
			return yield(last, nil)
		}
		for j, err := range jobs {
			if err == nil && passed && j.Submit < last.Submit {
				err = &Error{File: file, Line: j.SubmitAt.Line, Column: j.SubmitAt.Column, Reason: ErrOrder, Detail: fmt.Sprintf(
					"job %q was submitted at %v, before one that was read more than %d jobs earlier, at %v, want those by submission", clip(j.ID), j.Submit, max(1, window), last.Submit)}
			}
			if err != nil {
				yield(Job{}, err)
				return
			}
			backlog.Push(j.Submit, j)
			if backlog.Len() > max(1, window) && !pass() {
				return
			}
		}
		for backlog.Len() > 0 {
			if !pass() {
				return
			}
		}
	}
}

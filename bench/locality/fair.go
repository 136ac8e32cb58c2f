package main

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
)

// fair serves the job first that runs the fewest tasks. Two nodes are in no
// group together.
type fair struct {
	policy delay.Policy
	line   delay.Line
	jobs   []*sharer // that have pending tasks, in order
	all    map[int]*sharer
}

type sharer struct {
	delay.Job

	number, running, pending int
	started                  []bool
	at                       map[locality.Node][]int // tasks
}

func newFair(p delay.Policy) *fair { return &fair{policy: p, all: make(map[int]*sharer)} }

func (f *fair) add(number int, j *job) error {
	fresh, err := delay.New(f.policy)
	if err != nil {
		return err
	}
	s := &sharer{Job: fresh, number: number, pending: len(j.tasks), started: make([]bool, len(j.tasks)), at: make(map[locality.Node][]int)}
	for i, t := range j.tasks {
		for _, n := range t.holders {
			s.at[n] = append(s.at[n], i)
		}
	}
	f.jobs = append(f.jobs, s)
	f.all[number] = s
	return nil
}

func (f *fair) offer(now time.Duration, n locality.Node) (delay.Launch[int], bool, error) {
	slices.SortFunc(f.jobs, func(a, b *sharer) int {
		return cmp.Or(cmp.Compare(a.running, b.running), cmp.Compare(a.number, b.number))
	})
	taker, err := f.line.Offer(epoch.Add(now), f.order(n))
	if taker == nil || err != nil {
		return delay.Launch[int]{}, false, err
	}
	i := slices.IndexFunc(f.jobs, func(s *sharer) bool { return &s.Job == taker })
	s := f.jobs[i]
	task, level := s.nearest(n)
	s.started[task] = true
	s.running++
	if s.pending--; s.pending == 0 {
		f.jobs = slices.Delete(f.jobs, i, i+1)
	}
	return delay.Launch[int]{Job: s.number, Task: task, Level: level}, true, nil
}

func (f *fair) order(n locality.Node) iter.Seq2[*delay.Job, locality.Level] {
	return func(yield func(*delay.Job, locality.Level) bool) {
		for _, s := range f.jobs {
			if _, level := s.nearest(n); !yield(&s.Job, level) {
				return
			}
		}
	}
}

// nearest returns the pending task that is nearest to n.
func (s *sharer) nearest(n locality.Node) (task int, level locality.Level) {
	local := s.at[n]
	for len(local) > 0 && s.started[local[0]] {
		local = local[1:]
		s.at[n] = local
	}
	if len(local) > 0 {
		return local[0], 0
	}
	return slices.Index(s.started, false), 1
}

func (f *fair) ended(l delay.Launch[int], _ *task) error {
	f.all[l.Job].running--
	return nil
}

func (f *fair) waiting() int { return len(f.jobs) }

package flow

import (
	"slices"
)

// job is a job with the counts of its tasks.
type job[J comparable] struct {
	key                J
	minShare, maxShare int // the caller's bounds
	told               [2]int

	tasks   int
	planned int // that run by the plan
	deficit int // scratch: tasks missing to its minimum
	stuck   int // tasks with an arc to wait and no other
	pinned  int // tasks without an arc to wait
}

// AddJob adds a job. Each plan runs minimum to maximum of its tasks (E and F of the paper),
// or all if it has fewer.
//
// Other schedulers may have taken so much of the cell that not all jobs can have their
// minimum. Then all minimums are capped at one number; tasks that fit nowhere now do not
// count. If even so there is no plan, no job falls below its present number. Tasks that
// were told to stop count as stopped. Errors: those of [quincy.Planner.AddJob].
func (s *Scheduler[J, T]) AddJob(j J, minimum, maximum int) error {
	if s.none() {
		return absent("scheduler")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.book.planner.AddJob(j, minimum, maximum); err != nil {
		return err
	}
	it := &job[J]{key: j, minShare: minimum, maxShare: maximum, told: [2]int{minimum, maximum}}
	s.book.jobs[j] = it
	s.book.jobList = append(s.book.jobList, it)
	return nil
}

// SetShares changes the bounds of a job from the next round on. Errors: those of
// [quincy.Planner.SetShares].
func (s *Scheduler[J, T]) SetShares(j J, minimum, maximum int) error {
	if s.none() {
		return absent("scheduler")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.book.planner.SetShares(j, minimum, maximum); err != nil {
		return err
	}
	it := s.book.jobs[j]
	it.minShare, it.maxShare, it.told = minimum, maximum, [2]int{minimum, maximum}
	return nil
}

// RemoveJob removes a job without tasks. Errors: those of
// [quincy.Planner.RemoveJob].
func (s *Scheduler[J, T]) RemoveJob(j J) error {
	if s.none() {
		return absent("scheduler")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.book.planner.RemoveJob(j); err != nil {
		return err
	}
	s.fleet.freed = true
	it := s.book.jobs[j]
	delete(s.book.jobs, j)
	s.book.jobList = slices.DeleteFunc(s.book.jobList, func(other *job[J]) bool { return other == it })
	return nil
}

// flag notes whether tk is stuck or pinned.
func (tk *task[J, T]) flag(stuck, pinned bool) {
	change(&tk.job.stuck, &tk.stuck, stuck)
	change(&tk.job.pinned, &tk.pinned, pinned)
}

func change(n *int, was *bool, is bool) {
	switch {
	case is && !*was:
		*n++
	case !is && *was:
		*n--
	}
	*was = is
}

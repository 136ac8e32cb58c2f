package flow

import (
	"slices"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality/quincy"
)

// job is a job and what its tasks can do.
type job[J comparable] struct {
	key      J
	low, top int // as the caller has them
	told     [2]int

	tasks   int
	planned int // that run by the plan
	due     int // scratch: how many more of them its low wants
	stuck   int // tasks with an arc to wait and no other
	pinned  int // tasks without an arc to wait
}

// AddJob adds a job of which at least low and at most top tasks run by each
// plan (E and F of the paper), or all it has if these are fewer.
//
// Where others have taken so much of the cell that not all jobs can have their
// low, all are lowered to the same number; tasks that fit nowhere now do not
// count. If even so there is no plan, no job is below what it has already.
// Tasks that were told to stop count as stopped. Errors: those of
// [quincy.Planner.AddJob].
func (s *Scheduler[J, T]) AddJob(j J, low, top int) error {
	if s.none() {
		return absent("scheduler")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.planner.AddJob(j, low, top); err != nil {
		return err
	}
	it := &job[J]{key: j, low: low, top: top, told: [2]int{low, top}}
	s.jobs[j] = it
	s.jobList = append(s.jobList, it)
	return nil
}

// SetShares changes the bounds of a job from the next round on. Errors: those of
// [quincy.Planner.SetShares].
func (s *Scheduler[J, T]) SetShares(j J, low, top int) error {
	if s.none() {
		return absent("scheduler")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.planner.SetShares(j, low, top); err != nil {
		return err
	}
	it := s.jobs[j]
	it.low, it.top, it.told = low, top, [2]int{low, top}
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
	if err := s.planner.RemoveJob(j); err != nil {
		return err
	}
	s.freed = true
	it := s.jobs[j]
	delete(s.jobs, j)
	s.jobList = slices.DeleteFunc(s.jobList, func(other *job[J]) bool { return other == it })
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

// share tells the planner the bounds of all jobs, lower ones no higher than most
// gives.
func (s *Scheduler[J, T]) share(most func(j *job[J]) int) {
	for _, j := range s.jobList {
		low := min(j.low, most(j), j.tasks-j.stuck)
		told := [2]int{low, max(j.top, j.pinned)}
		if told == j.told {
			continue
		}
		if err := s.planner.SetShares(j.key, told[0], told[1]); err != nil {
			s.errs = append(s.errs, fault.Newf("flow", err, "shares of job %s", fault.Key(j.key)))
			continue
		}
		j.told = told
	}
}

// level returns the largest number to which all lower bounds can be lowered, so
// that they add up to no more than the slots.
func (s *Scheduler[J, T]) level() int {
	low, high := 0, quincy.MaxSlots
	for low < high {
		mid := (low + high + 1) / 2
		sum := 0
		for _, j := range s.jobList {
			sum += min(j.low, j.tasks-j.stuck, mid)
		}
		if sum <= s.slots {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}

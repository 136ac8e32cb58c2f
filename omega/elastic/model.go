package elastic

import (
	"math"
	"time"
)

// Model predicts the remaining run time of a job with so many workers, one at
// least. It has no side effects; [Policy.Plan] calls it in rising order, at most
// once for each number of workers that it may choose. A job that only gets slower
// beyond some number is welcome.
type Model func(workers int) time.Duration

// MapReduce is a job of two phases, or the rest of one: all map activities, then all
// reduce activities. Each phase is sped up in proportion to the workers as long as
// there is an activity for each. [MapReduce.Time] is its [Model], the linear one of the
// Omega paper, section 6.
//
// The zero MapReduce has nothing left to do. It is a plain value.
type MapReduce struct {
	// Maps and Reduces are how many activities of each there are, and so how
	// many workers each phase can use.
	Maps, Reduces int
	// MapWork and ReduceWork are the run times of all activities of a phase, one
	// after the other on one worker.
	MapWork, ReduceWork time.Duration
}

// Check returns an error that wraps [ErrModel] if a number is negative, or if a
// phase has work and no activity to do it.
func (m MapReduce) Check() error {
	for _, phase := range []struct {
		name       string
		activities int
		work       time.Duration
	}{{"map", m.Maps, m.MapWork}, {"reduce", m.Reduces, m.ReduceWork}} {
		switch {
		case phase.activities < 0:
			return refuse(ErrModel, "%d %s activities, want 0 or more", phase.activities, phase.name)
		case phase.work < 0:
			return refuse(ErrModel, "%v of %s work, want 0 or more", phase.work, phase.name)
		case phase.work > 0 && phase.activities == 0:
			return refuse(ErrModel, "%v of %s work, want an activity to do it", phase.work, phase.name)
		}
	}
	return nil
}

// Parallelism returns the most workers that make it faster: the activities of
// the wider phase that has work left.
func (m MapReduce) Parallelism() int {
	most := 0
	if m.MapWork > 0 {
		most = m.Maps
	}
	if m.ReduceWork > 0 {
		most = max(most, m.Reduces)
	}
	return most
}

// Time predicts how long it takes with the given workers, each phase rounded up
// to the nanosecond. It never rises with their number. Without workers it never
// ends, which is the longest Duration. Cost: O(1).
func (m MapReduce) Time(workers int) time.Duration {
	if workers <= 0 {
		return math.MaxInt64
	}
	a, b := phaseTime(m.MapWork, m.Maps, workers), phaseTime(m.ReduceWork, m.Reduces, workers)
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// phaseTime returns how long one phase takes.
func phaseTime(work time.Duration, activities, workers int) time.Duration {
	if work <= 0 {
		return 0
	}
	rate := time.Duration(min(workers, activities))
	if rate <= 0 {
		return math.MaxInt64
	}
	return (work-1)/rate + 1
}

// After returns the rest of the job after the given workers have run for d. It is
// exact, but that a phase ends on a whole nanosecond: After(w, d).Time(w) is
// Time(w)-d. Cost: O(1).
func (m MapReduce) After(workers int, d time.Duration) MapReduce {
	m.MapWork, d = phaseAfter(m.MapWork, m.Maps, workers, d)
	m.ReduceWork, _ = phaseAfter(m.ReduceWork, m.Reduces, workers, d)
	return m
}

// phaseAfter returns the work left of one phase, and how much of d it did not
// take.
func phaseAfter(work time.Duration, activities, workers int, d time.Duration) (left, spare time.Duration) {
	rate := time.Duration(min(workers, activities))
	switch {
	case work <= 0:
		return work, d
	case d <= 0 || rate <= 0:
		return work, 0
	}
	if t := phaseTime(work, activities, workers); t <= d {
		return 0, d - t
	}
	// The phase does not end in d, so the work done is less than the work left.
	done := int64(rate) * int64(d)
	return work - time.Duration(done), 0
}

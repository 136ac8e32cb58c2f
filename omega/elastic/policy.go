package elastic

import (
	"math"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Policy bounds the idle room that a job may use. The zero Policy is the paper's
// max-parallelism: as many workers as still make the job end sooner. Both bounds
// may be set, and then both hold. Omega paper, section 6.1.
//
// It is a plain value, safe for concurrent use.
type Policy struct {
	// Cap is the utilisation, in per cent, above which the cell is not filled
	// by extra workers: the paper's global cap, there 60. 0 is none.
	Cap int
	// Times bounds the workers of a job: it gets at most Times × Asked, the paper's
	// relative job size (there 4). With 1 it gets Asked at most. 0 is no bound.
	Times int
}

// Job is a job that wants workers, pending or running.
type Job struct {
	Need  resources.Vector // of one worker
	Asked int              // how many workers it asked for, 1 or more
	Held  int              // how many it has already
	// Most is how many workers it can use, such as [MapReduce.Parallelism]; 0
	// where only the model knows.
	Most int
	// Model predicts the run time of the job, or the remaining one of a running
	// job.
	Model Model
}

// Plan is how many workers a job should have.
type Plan struct {
	Workers int           // in all, with those that run
	Time    time.Duration // predicted; the longest Duration if there is no worker
	// Speedup is how many times as fast that is as with the workers that the job asked
	// for, or as many of them as there is room for. It is 1 or more, and infinite where
	// Time is 0 only thanks to the extra workers.
	Speedup float64
	Bound   Bound // the reason for no more workers
}

// Bound is the reason why a job did not get more workers.
type Bound uint8

// The bounds. A plan that reaches several at once has the first one.
const (
	Parallelism Bound = iota // more, within the others, would not make it faster
	Idle                     // nothing more is idle
	Capped                   // the policy's Cap
	Sized                    // the policy's Times
)

// String returns the bound in lower case.
func (b Bound) String() string {
	switch b {
	case Parallelism:
		return "parallelism"
	case Idle:
		return "idle"
	case Capped:
		return "capped"
	case Sized:
		return "sized"
	}
	return "unknown bound"
}

// Plan returns the number of workers with which the job is predicted to end first,
// within the idle room and the policy. Of equal numbers the smallest is returned.
//
// The job gets the workers that it asked for as far as there is room, whatever the
// policy and the model say. A running job gets fewer than it holds where workers beyond
// those asked for no longer help or the cell is above the cap.
//
// It is a pure function: it takes nothing.
//
// Cost: one call of the model for each number of workers from Asked up to the bounds,
// or up to the first number with a run time of 0. Set Most where the cell is large and
// jobs are small. Errors: [ErrPolicy], [ErrJob], [ErrModel], [ErrRoom],
// resources.ErrQuantity. Omega paper, section 6.1.
func (p Policy) Plan(j Job, r Room) (Plan, error) {
	if err := p.check(); err != nil {
		return Plan{}, err
	}
	if err := j.check(); err != nil {
		return Plan{}, err
	}
	if err := r.check(); err != nil {
		return Plan{}, err
	}
	idle := j.Held + min(r.Workers, math.MaxInt32-j.Held)
	base := min(j.Asked, idle)
	if base == 0 {
		return Plan{Time: math.MaxInt64, Speedup: 1, Bound: Idle}, nil
	}
	most, bound := p.bound(j, r, base, idle)
	plain, err := j.predict(base)
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{Workers: base, Time: plain, Bound: bound}
	for n := base + 1; n <= most && plan.Time > 0; n++ {
		t, err := j.predict(n)
		if err != nil {
			return Plan{}, err
		}
		if t < plan.Time {
			plan.Workers, plan.Time = n, t
		}
	}
	if plan.Workers < most {
		plan.Bound = Parallelism
	}
	plan.Speedup = speedup(plain, plan.Time)
	return plan, nil
}

// bound returns the most workers to consider, and the bound that is reached there.
func (p Policy) bound(j Job, r Room, base, idle int) (most int, bound Bound) {
	most, bound = idle, Idle
	if j.Most > 0 && max(j.Most, base) <= most {
		most, bound = max(j.Most, base), Parallelism
	}
	if p.Cap > 0 {
		if n := max(j.Held+min(r.below(p.Cap, j.Need), math.MaxInt32-j.Held), base); n < most {
			most, bound = n, Capped
		}
	}
	if p.Times > 0 && p.Times <= most/j.Asked {
		if n := max(p.Times*j.Asked, base); n < most {
			most, bound = n, Sized
		}
	}
	return most, bound
}

func (j *Job) predict(workers int) (time.Duration, error) {
	t := j.Model(workers)
	if t < 0 {
		return 0, refuse(ErrModel, "model says %v for %d workers, want 0 or more", t, workers)
	}
	return t, nil
}

// speedup returns slow / fast, and 1 where neither takes any time.
func speedup(slow, fast time.Duration) float64 {
	switch {
	case slow == fast:
		return 1
	case fast == 0:
		return math.Inf(1)
	}
	return float64(slow) / float64(fast)
}

func (p Policy) check() error {
	if p.Cap < 0 || p.Cap > 100 {
		return refuse(ErrPolicy, "cap of %d %%, want 0 to 100", p.Cap)
	}
	if p.Times < 0 {
		return refuse(ErrPolicy, "%d times what a job asked for, want 0 or more", p.Times)
	}
	return nil
}

func (j *Job) check() error {
	if err := checkNeed(j.Need); err != nil {
		return err
	}
	for _, count := range []struct {
		what     string
		n, least int
	}{{"asked for", j.Asked, 1}, {"held", j.Held, 0}, {"at most", j.Most, 0}} {
		if count.n < count.least || count.n > math.MaxInt32 {
			return refuse(ErrJob, "%d workers %s, want %d to %d", count.n, count.what, count.least, math.MaxInt32)
		}
	}
	if j.Model == nil {
		return refuse(ErrModel, "model is nil, want a function of the workers")
	}
	return nil
}

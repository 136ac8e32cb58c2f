package delay

import (
	"math/bits"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// Learner learns how long it pays to wait. It observes the offers of the jobs that
// have it as [Policy].Learn, and the run times of their tasks ([Learner.Ran]).
//
// For each level it estimates two quantities:
//
//   - the gain G of waiting: the mean run time of tasks launched farther away, less
//     the mean of those launched at the level or nearer. Both are moving averages,
//     in which a new run counts for 1/64;
//   - the expected wait T of a task. It is the total time for which pending tasks
//     have been passed by offers, divided by the launches at the level or nearer
//     (Little's law). It looks back 64 launches.
//
// T depends on how often offers come, how likely they are of use, and how many
// tasks share them. It is learned separately for jobs with 1, 2 to 3, 4 to 7
// pending tasks and so on, up to 2,048. A launch counts with the time since the
// last offer, so jobs that do not wait teach T, too.
//
// A job with K pending tasks waits for 3·(G-T)/K, and not at all if T is more than
// G. That is, it waits until T seems to exceed G. The estimates count as three tasks
// in that, and the job's own waiting time is added to them. Each of its launches at
// the level counts as one more, and takes G/K off the job's waiting time. So a job stops waiting soon if no node with its data
// becomes free, and a large job sooner, even if others do well to wait.
//
// While G and T differ by less than the standard error of G, by the variance of the
// runs, they may be equal: jobs wait as [Policy].Waits. They also do, level by
// level, before 8 runs are known there or nearer and 8 farther away. Set these
// waits if there is much to gain: otherwise a backlog may build up before anything
// is learned.
//
// A job that waits sees no far nodes. So one of 256 launches makes a job take any
// node next. Until enough runs are known, one of 16 does, up to the 256th launch.
// Each run on one side takes 1/1024 off the weight of the other side, down to a
// weight of 8: the few far runs then count for more.
//
// It saves the time of tasks, not that of jobs, which end with their last task: a
// large job may gain from longer waits. Means mislead if far tasks are of another
// kind than near ones. Use a Learner for each kind of job then, if there are many
// of each.
//
// The zero Learner knows nothing. It and all jobs that share it are not safe for
// concurrent use. None of its methods allocates, except for an error. Only
// differences of times count: the same calls give the same waits.
type Learner struct {
	splits   [locality.MaxLevels - 1]split
	known    int // splits from here on have nothing beyond them
	launches uint64
	due      bool // a job is to take any node
}

const (
	memory   = 64      // runs and launches that count
	enough   = 8       // runs to go by
	patience = 3       // number of tasks that the estimates count for
	explore  = 256     // launches until far nodes are tried again
	early    = 16      // the same, of the first so many launches, until there is enough to go by
	fade     = 1024    // the part of its weight that a side loses by a run of the other
	unit     = 1 << 16 // of a number of launches, so that a part of one is a number
	whole    = 1 << 10 // likewise of a number of runs
	sizes    = 12      // of jobs, each from twice as many tasks on: 1, 2, 4, to 2,048
	longest  = 1 << 50 // ns, 13 days, for one launch and for a gain: sums do not overflow
)

// split is the estimates for nodes up to some level and for nodes farther away.
type split struct {
	near, far average
	demands   [sizes]demand // by the size of jobs
}

// demand is the total wait of tasks, and the number of units of a task launched
// near.
type demand struct {
	waited time.Duration
	found  int64
}

// size returns the class of jobs with so many pending tasks, at least one.
func size(tasks int) int { return min(bits.Len(uint(tasks)), sizes) - 1 }

// average is a moving average of run times.
type average struct {
	runs     int64 // in wholes, at most memory
	mean     time.Duration
	variance float64 // in ns²; no more than a hint, so rounding is harmless
}

func (a *average) add(run time.Duration) {
	a.runs = min(a.runs+whole, memory*whole)
	off, part := run-a.mean, whole/float64(a.runs)
	a.variance = (1 - part) * (a.variance + part*float64(off)*float64(off))
	a.mean += off * whole / time.Duration(a.runs)
}

// fade notes a run on the other side.
func (a *average) fade() {
	if a.runs > enough*whole {
		a.runs = max(a.runs-a.runs/fade, enough*whole)
	}
}

// chance returns the square of the standard error of the mean.
func (a *average) chance() float64 { return a.variance * whole / float64(a.runs) }

// Ran adds the run time of a task that was launched at that level. Leave out tasks
// without preference and failed tasks. A run time less than 0 fails with
// [resources.ErrQuantity]. Cost: O(levels).
func (l *Learner) Ran(level locality.Level, run time.Duration) error {
	if l == nil {
		return absent("learner")
	}
	if run < 0 {
		return refuse(resources.ErrQuantity, "learn: run time at level %d = %v, want 0 or more", level, run)
	}
	run = min(run, longest)
	at := min(int(level), len(l.splits))
	l.known = max(l.known, at)
	for i := range l.splits {
		if at <= i {
			l.splits[i].near.add(run)
			l.splits[i].far.fade()
		} else {
			l.splits[i].far.add(run)
			l.splits[i].near.fade()
		}
	}
	return nil
}

// Expect returns the estimates for a level. Gain is the additional run time of
// tasks launched farther away. Wait is the time that a task waits for a node at
// that level or nearer, in a job with so many pending tasks. Ok is false while too
// few runs are known.
func (l *Learner) Expect(level locality.Level, tasks int) (gain, wait time.Duration, ok bool) {
	if l == nil || int(level) >= l.known || !l.splits[level].ok() {
		return 0, 0, false
	}
	s := &l.splits[level]
	return s.gain(), s.demands[size(max(tasks, 1))].expected(), true
}

// knows reports whether there are enough runs to go by, for so many levels.
func (l *Learner) knows(levels int) bool {
	for i := range levels {
		if !l.splits[i].ok() {
			return false
		}
	}
	return true
}

func (s *split) ok() bool { return min(s.near.runs, s.far.runs) >= enough*whole }

func (s *split) gain() time.Duration { return max(0, s.far.mean-s.near.mean) }

// expected returns how long a task waits. Before the first launch, the next may be
// at any moment. Rounding a nanosecond is harmless here.
func (d *demand) expected() time.Duration {
	return time.Duration(min(float64(d.waited)/float64(max(d.found, unit))*unit, 2*longest))
}

// met notes a launch, near or not, after a wait of tasks.
func (d *demand) met(waited time.Duration, near bool) {
	d.waited += waited - d.waited/memory
	d.found -= d.found / memory
	if near {
		d.found += unit
	}
}

// clear reports whether gain and wait are farther apart than by chance.
func (s *split) clear(tasks int) bool {
	apart := float64(s.far.mean - s.near.mean - s.demands[size(tasks)].expected())
	return apart*apart >= s.near.chance()+s.far.chance()
}

// wait returns how long a job of so many tasks waits.
func (s *split) wait(tasks int) time.Duration {
	return max(0, patience*(s.gain()-s.demands[size(tasks)].expected())) / time.Duration(tasks)
}

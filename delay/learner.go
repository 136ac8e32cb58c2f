package delay

import (
	"math/bits"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// Learner learns how long it pays to wait, from what the jobs meet that have it
// as [Policy].Learn, and from how long their tasks run ([Learner.Ran]).
//
// For each level it knows two things:
//
//   - the gain G of waiting: the mean run time of tasks launched farther away
//     less that of those launched at the level or nearer. Both are moving
//     averages, in which a new run counts for 1/64;
//   - the wait T that is to be expected: the time for which pending tasks have
//     been passed by offers, added up over tasks, for each that was launched at
//     the level or nearer (Little's law). So it goes by how often offers come,
//     how likely they are of use, and how many tasks have to share them. A
//     launch counts with the time since the offer before, so T is learned by
//     jobs that do not wait, too. It looks back 64 launches, and is learned apart
//     for jobs with 1, 2 to 3, 4 to 7 pending tasks and so on, up to 2,048.
//
// A job with K pending tasks waits for 3·(G-T)/K, and not at all if T is more
// than G. That is, it waits until it has reason to believe that T is more than G:
// what all have learned counts for three tasks in it, and what its own tasks meet
// is added to that. Each of its launches at the level counts for one more, which
// is to take G/K off what the job has waited. So jobs whose data is where nothing
// becomes free stop waiting soon, large ones first, even if others do well to wait.
//
// As long as G and T are not farther apart than the standard error of G, by the
// variance of the runs, they may as well be alike: jobs wait as [Policy].Waits say.
// So they do, level by level, before 8 runs are known there or nearer and 8
// farther away. Have them wait from the start: where there is much to gain and
// they do not, a backlog may build up before anything is learned.
//
// Who waits sees no far nodes. So of 256 launches one has a job take any node
// next, and until enough runs are known one of the first 16 and so on up to the
// 256th. Each run on one side takes 1/1024 off the weight of those on the other,
// down to that of 8: the few far runs of who waits count for more.
//
// It is the time of tasks that is saved so, not that of jobs, which end with
// their last task: a large job may gain from longer waits. Means mislead where far
// tasks are of another kind than near ones: give each kind of job a Learner of its
// own, if there are many of each.
//
// The zero Learner knows nothing. It and all jobs that share it are not safe for
// concurrent use. None of its methods allocates, unless for an error. It makes no
// difference what the clock says, only what time passes: the same calls give the
// same waits.
type Learner struct {
	splits   [locality.MaxLevels - 1]split
	known    int // splits from here on have nothing beyond them
	launches uint64
	due      bool // a job is to take any node
}

const (
	memory   = 64      // runs and launches that count
	enough   = 8       // runs to go by
	patience = 3       // tasks that what is learned counts for
	explore  = 256     // launches until far nodes are tried again
	early    = 16      // the same, of the first so many launches, until there is enough to go by
	fade     = 1024    // the part of its weight that a side loses by a run of the other
	unit     = 1 << 16 // of a number of launches, so that a part of one is a number
	whole    = 1 << 10 // likewise of a number of runs
	sizes    = 12      // of jobs, each from twice as many tasks on: 1, 2, 4, to 2,048
	longest  = 1 << 50 // ns, 13 days, for one launch and for a gain: sums do not overflow
)

// split is what is known about nodes up to some level and those farther away.
type split struct {
	near, far average
	demands   [sizes]demand // by the size of jobs
}

// demand is how long tasks have waited together, and how many units of a task
// were launched near.
type demand struct {
	waited time.Duration
	found  int64
}

// size returns where jobs of so many pending tasks, at least one, belong.
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

// Ran tells that a task which was launched at that level has run for so long.
// Tasks without preference and those that failed have nothing to teach: leave
// them out. A run time less than 0 fails with [resources.ErrQuantity]. Cost:
// O(levels).
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

// Expect returns what is known of a level: by how much longer tasks run that are
// launched farther away, and how long a task waits for a node at that level or
// nearer, if so many of its job are pending. It is false as long as too few runs
// are known to go by.
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

// expected returns how long a task waits. Until one was launched, the next may
// be at any moment. Rounding a nanosecond is harmless here.
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

//go:build explore

package explore

import (
	"cmp"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
)

// The errors of a schedule, besides a failed check or a panic of the scenario.
var (
	ErrDeadlock = errors.New("explore: all threads wait for one another")
	ErrLivelock = errors.New("explore: more steps than the limit")
	// ErrNotRepeatable says that the threads did something else when a schedule,
	// or the beginning of one, was run again.
	ErrNotRepeatable = errors.New("explore: the same schedule ran differently")
)

// Config says how much is explored.
type Config struct {
	// Preemptions is how many times in one run the turn may be taken from a
	// thread that could go on.
	Preemptions int
	// Steps is how many steps a run may have; zero stands for 10,000. A
	// scenario that always ends needs few: it is there to find loops.
	Steps int
	// Runs is how many runs are made at most; zero for no limit.
	Runs int
	// Repetitive asks for all schedules, those too that differ from others in
	// nothing that a thread can notice. It is there to test the explorer.
	Repetitive bool
}

// Result counts the schedules of an exploration.
type Result struct {
	Runs  int // all runs, those repeated with a higher number of preemptions included
	Steps int // of the longest run
	// Threads is how many the scenario started.
	Threads int
	// Bounded is false if the preemptions were enough for all schedules there
	// are.
	Bounded bool
}

// Schedule is one order of the threads: at each step at which several could go
// on, which did. 0 is the one that had the turn, or the first to be started;
// the others follow in the order in which they were started. The zeros at the
// end are left out.
type Schedule []int

// String returns the schedule as a Go literal to paste into a test.
func (s Schedule) String() string {
	var taken []string
	for i, c := range s {
		if c != 0 {
			taken = append(taken, fmt.Sprintf("%d: %d", i, c))
		}
	}
	return "explore.Schedule{" + strings.Join(taken, ", ") + "}"
}

// Explore runs the scenario in all schedules with at most the given number of
// preemptions, fewer first. It ends at the first that fails, with a
// [ScheduleError], or at the limit of runs. It must not be called while another
// exploration, or any goroutine that uses the same atomics, is running: not in
// parallel tests. Cost: O(s^(p+1)) steps for runs of s steps and p preemptions.
func Explore(cfg Config, scenario func(*Run)) (Result, error) {
	var res Result
	x := explorer{steps: cmp.Or(cfg.Steps, defaultSteps), repetitive: cfg.Repetitive, touched: make(map[any]*touch)}
	defer x.end()
	for x.bound = 0; x.bound <= cfg.Preemptions; x.bound++ {
		x.path, x.withheld = x.path[:0], false
		for more := true; more; more = x.advance() {
			if cfg.Runs > 0 && res.Runs == cfg.Runs {
				res.Bounded = true
				return res, nil
			}
			if res.Runs == manyRuns {
				// The live heap is small: it would be collected all the time.
				defer debug.SetGCPercent(debug.SetGCPercent(collectAt))
			}
			r := x.run(scenario, false)
			res.Runs++
			res.Steps, res.Threads = max(res.Steps, r.steps), max(res.Threads, len(r.threads))
			if r.err != nil {
				return res, x.explain(res.Runs, scenario, r)
			}
		}
		if res.Bounded = x.withheld; !res.Bounded {
			break
		}
	}
	return res, nil
}

// Replay runs the scenario once, in the given schedule, and returns a
// [ScheduleError] if it fails.
func Replay(cfg Config, schedule Schedule, scenario func(*Run)) error {
	x := explorer{steps: cmp.Or(cfg.Steps, defaultSteps), bound: len(schedule), given: schedule, touched: make(map[any]*touch)}
	defer x.end()
	if r := x.run(scenario, true); r.err != nil {
		return r.failure(1, x.schedule())
	}
	return nil
}

const (
	defaultSteps = 10_000
	manyRuns     = 1000
	collectAt    = 2000 // percent of the live heap
)

// explorer is a depth-first walk over schedules.
//
// It leaves out those in which a thread is preempted before an operation that does not
// concern the others, because it is the same to be preempted after it. Once all
// schedules have been run in which the thread went on, the explorer knows whether the
// operation concerns the others. In one of those schedules the others have done all
// that they do if the thread does not go on, at least up to where they touch the
// object.
type explorer struct {
	steps, bound int
	repetitive   bool
	withheld     bool // the bound has left out schedules

	// path are the decisions of the run in progress, or of the last; the next
	// run repeats the first of them.
	path  []decision
	given Schedule // what to decide, where a schedule is replayed

	// Kept from run to run for their memory.
	coroutines []*coroutine
	touched    map[any]*touch
	pending    []pending
}

// decision is one among options, of which those from limit on would exceed the
// bound.
type decision struct {
	taken, options, limit int
	preempts              bool // all options but the first take the turn from a thread
	concerns              bool // others touch what that thread was about to touch
}

// advance goes on to the next schedule, and returns false after the last.
func (x *explorer) advance() bool {
	for last := len(x.path) - 1; last >= 0; last-- {
		d := &x.path[last]
		if !d.preempts || d.concerns || x.repetitive {
			if d.taken+1 < d.limit {
				d.taken++
				return true
			}
			x.withheld = x.withheld || d.limit < d.options
		}
		x.path = x.path[:last]
	}
	return false
}

// decide takes decision number at of a run.
func (x *explorer) decide(at int, d decision) (int, error) {
	if at == len(x.path) {
		if at < len(x.given) {
			d.taken = x.given[at]
		}
		x.path = append(x.path, d)
	}
	was := x.path[at]
	if was.options != d.options || was.limit != d.limit || was.taken >= d.options {
		return 0, fmt.Errorf("%w: decision %d is one of %d", ErrNotRepeatable, at, d.options)
	}
	return was.taken, nil
}

func (x *explorer) schedule() Schedule {
	n := len(x.path)
	for n > 0 && x.path[n-1].taken == 0 {
		n--
	}
	s := make(Schedule, n)
	for i := range s {
		s[i] = x.path[i].taken
	}
	return s
}

// explain runs a schedule that failed once more, to see what it does.
func (x *explorer) explain(number int, scenario func(*Run), failed *Run) error {
	again := x.run(scenario, true)
	if again.err == nil {
		again.err = fmt.Errorf("%w: it fails no more, after: %w", ErrNotRepeatable, failed.err)
	}
	return again.failure(number, x.schedule())
}

package experiments

import (
	"errors"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/locality"
)

// tally is the sums over a run.
type tally struct {
	core, rack   int64           // bytes moved over the switches
	read         int64           // bytes of input of tasks that ended
	wasted       int64           // bytes moved for tasks that were stopped
	expected     int64           // bytes moved for tasks that ended
	useful, lost time.Duration   // of slots, in tasks that ended and that were stopped
	levels       [beyond + 1]int // tasks that ended, by how far their input was
	starts       int             // of tasks
	stops        int             // of tasks before they ended
	forced       int             // stops that shares ask for: the tasks that jobs have above them, round by round
	present      int             // jobs, summed up over the rounds
	finished     []completion
	first, last  time.Duration // when the first job came, and when one ended
	rounds       int           // in which the policy was asked
	spent, worst time.Duration // on the CPU by that, in all rounds and in one
}

// completion is the outcome of a job.
type completion struct {
	tasks       int
	took, alone time.Duration
	held, due   time.Duration // of slots
}

func (t *tally) jobs() int { return len(t.finished) }

// task counts one that has ended.
func (t *tally) task(bytes int64, level locality.Level, held time.Duration) {
	t.read += bytes
	t.levels[level]++
	t.useful += held
}

// stop counts one that was stopped.
func (t *tally) stop(moved int64, held time.Duration) {
	t.stops++
	t.wasted += moved
	t.lost += held
}

// job counts one that has ended.
func (t *tally) job(l *live, now time.Duration, slots int) {
	t.finished = append(t.finished, completion{len(l.tasks), now - l.at, l.alone(slots), l.held, l.due})
	t.last = now
}

// decided counts a round.
func (t *tally) decided(cpu time.Duration) {
	t.rounds++
	t.spent += cpu
	t.worst = max(t.worst, cpu)
}

var errBalance = errors.New("does not add up")

// check sees to it that at the end every task has ended once, everything that was
// taken is back, and all that had to be moved was, and no more.
func (w *world) check(jobs []*job) error {
	t := &w.tally
	tasks, run, read := 0, time.Duration(0), int64(0)
	for _, j := range jobs {
		tasks += len(j.tasks)
		for i := range j.tasks {
			run += j.tasks[i].run.Truncate(time.Microsecond)
			read += j.tasks[i].bytes()
		}
	}
	held := time.Duration(0)
	for _, c := range t.finished {
		held += c.held
		if c.took < c.alone.Truncate(time.Microsecond) {
			return fmt.Errorf("a job took %v, alone it would have taken %v: %w", c.took, c.alone, errBalance)
		}
	}
	free := 0
	for n, slots := range w.free {
		if w.others != nil {
			slots += w.others.have[n]
		}
		if int(slots) != w.slots {
			return fmt.Errorf("machine %d has %d slots at the end, want %d: %w", n, slots, w.slots, errBalance)
		}
		free += int(w.free[n])
	}
	for _, c := range []struct {
		what      string
		got, want int64
	}{
		{"tasks ended", int64(t.levels[onNode] + t.levels[inRack] + t.levels[beyond]), int64(tasks)},
		{"starts", int64(t.starts), int64(tasks + t.stops)},
		{"bytes read", t.read, read},
		{"bytes moved", t.core + t.rack, t.expected + t.wasted},
		{"slot time", int64(held), int64(t.useful + t.lost)},
		{"free slots", int64(w.vacant), int64(free)},
		{"jobs left", int64(len(w.jobs)), 0},
		{"flows left", int64(len(w.core.flows) + len(w.over)), 0},
	} {
		if c.got != c.want {
			return fmt.Errorf("%s: %d, want %d: %w", c.what, c.got, c.want, errBalance)
		}
	}
	if t.useful < run {
		return fmt.Errorf("tasks took %v, want at least %v: %w", t.useful, run, errBalance)
	}
	return nil
}

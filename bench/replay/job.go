package main

import (
	"slices"
	"strings"
	"time"

	"github.com/cellsched/cellsched/bench/trace"
	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// job is a job of the trace on its way through the replay.
type job struct {
	trace.Job
	who     *sharer
	seq     int // its place among those submitted
	rest    []trace.Tasks
	bundles []*bundle // of this stage, with tasks to start
	running int       // tasks of this stage
	placed  bool      // a task has started
	found   *bundle   // whose task fits, and where: what the last search says
	machine omega.MachineID
}

// sharer is whom shares are over: a user, a class or a job, as -by says.
type sharer struct {
	name    string
	account omega.Account
	weight  float64
	jobs    queue // used by orders among sharers
	tasks   int
	held    resources.Vector
	share   float64   // dominant, not weighted
	since   time.Time // when it became that
	area    float64   // share by seconds, up to then
	peak    float64
	changed bool // in this round
}

// bundle is tasks of one job and stage that may run on the same machines: they
// may differ in duration and in where their data is.
type bundle struct {
	job    *job
	need   resources.Vector
	models []bool // machines that will do by node; nil is all
	groups []trace.Tasks
	first  []int // number of the first task of each group
	tasks  int
	left   int
	since  time.Time // when the tasks could start
	near   *near     // nil where no task prefers a place
	delay  delay.Job
	ending *ending // what ends together with the task started last

	// A search that failed is repeated on machines that have been freed since.
	tried   bool
	at      locality.Level // what was allowed then
	freedBy int            // position in the log
}

// group returns the index of the group of a task.
func (b *bundle) group(task int) int {
	i, ok := slices.BinarySearch(b.first, task)
	if !ok {
		i--
	}
	return i
}

// alike says whether tasks can be in one bundle.
func alike(a, b *trace.Tasks) bool {
	return a.Need == b.Need && slices.Equal(a.Models, b.Models)
}

// bundles makes bundles of the first stage of some work, and returns the rest.
func bundles(work []trace.Tasks) (all []*bundle, rest []trace.Tasks) {
	n := 0
	for n < len(work) && work[n].Stage == work[0].Stage {
		i := slices.IndexFunc(all, func(b *bundle) bool { return alike(&b.groups[0], &work[n]) })
		if i < 0 {
			i = len(all)
			all = append(all, &bundle{need: work[n].Need})
		}
		b := all[i]
		b.groups = append(b.groups, work[n])
		b.first = append(b.first, b.tasks)
		b.tasks += work[n].Count
		b.left = b.tasks
		n++
	}
	return all, work[n:]
}

// key names models for a table.
func key(models []string) string { return strings.Join(models, "|") }

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
	leaf    *leaf     // in the order of pools
	found   *bundle   // with the task that fits, by the last search; machine is its place
	machine omega.MachineID
}

// sharer is a holder of shares: a user, a class or a job, as -by says.
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
	ending *ending // the tasks that end together with the one started last

	// A search that failed is repeated on machines that have been freed since.
	tried   bool
	at      locality.Level // the level that was allowed then
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

// sort is the common properties of the tasks of one bundle. Tasks that prefer no place
// are apart: they have nothing to wait for.
type sort struct {
	need    resources.Vector
	models  string
	prefers bool
}

// bundles makes bundles of the first stage of some work, and returns the rest.
// Cost: O(work), hashing included.
func bundles(s *sites, work []trace.Tasks) (all []*bundle, rest []trace.Tasks) {
	bySort := map[sort]*bundle{}
	n := 0
	for n < len(work) && work[n].Stage == work[0].Stage {
		w := &work[n]
		k := sort{w.Need, key(w.Models), s.prefers(w)}
		b, ok := bySort[k]
		if !ok {
			b = &bundle{need: w.Need}
			bySort[k] = b
			all = append(all, b)
		}
		b.groups = append(b.groups, *w)
		b.first = append(b.first, b.tasks)
		b.tasks += w.Count
		b.left = b.tasks
		n++
	}
	return all, work[n:]
}

// key names models for a table.
func key(models []string) string { return strings.Join(models, "|") }

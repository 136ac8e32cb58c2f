package experiments

import (
	"slices"
	"time"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// job is tasks that are alike.
type job struct {
	need   resources.Vector
	left   int // to be started
	length func() time.Duration
	long   bool
	// rigid has all tasks begin at once and end together: until there is room for
	// all, those that have some hold it for nothing.
	rigid bool
	// placed and done, if not nil, are called when all have begun, and have ended.
	placed func()
	done   func() error

	running int
	held    []omega.AllocationID // of a rigid job
}

// tenant is a framework with jobs, which get room in the order in which they
// came. It is suppressed while it wants nothing.
type tenant struct {
	*framework
	jobs  []*job
	most  int // tasks at a time, 0 for as many as it gets
	quiet bool
}

// tenant registers a framework without jobs.
func (w *world) tenant(r offers.Registration) (*tenant, error) {
	t := &tenant{}
	f, err := w.add(r, t.pick)
	if err != nil {
		return nil, err
	}
	t.framework = f
	f.offered = func(got []offers.Offer) error {
		if err := f.launch(got); err != nil {
			return err
		}
		return t.tell()
	}
	return t, t.tell()
}

// submit adds a job.
func (t *tenant) submit(j *job) error {
	t.jobs = append(t.jobs, j)
	return t.tell()
}

// tell reports to the master whether there is something to start.
func (t *tenant) tell() error {
	quiet := t.room() == 0 || !slices.ContainsFunc(t.jobs, func(j *job) bool { return j.left > 0 })
	if quiet == t.quiet {
		return nil
	}
	t.quiet = quiet
	if quiet {
		return t.Suppress(t.w.time())
	}
	return t.Revive(t.w.time())
}

// room returns how many tasks more there may be.
func (t *tenant) room() int {
	if t.most == 0 {
		return 1 << 30
	}
	return t.most - len(t.running)
}

// pick fills the offer, job by job.
func (t *tenant) pick(_ *framework, o offers.Offer) []task {
	var tasks []task
	room, long, most := o.Room, o.Long, t.room()
	for _, j := range t.jobs {
		for j.left > 0 && len(tasks) < most {
			rest, ok := room.Sub(j.need)
			left, may := long.Sub(j.need)
			if !ok || j.long && !may {
				break
			}
			if room = rest; j.long {
				long = left
			}
			tasks = append(tasks, t.task(j))
		}
	}
	return tasks
}

// task takes the next task from a job.
func (t *tenant) task(j *job) task {
	j.left--
	j.running++
	if j.left == 0 && j.placed != nil {
		j.placed()
	}
	next := task{
		need: j.need, long: j.long, length: -1,
		ended: func() error { return t.ended(j) },
		killed: func() error {
			j.running--
			j.left++
			return t.tell()
		},
	}
	if !j.rigid {
		next.length = j.length()
		return next
	}
	next.began = func(id omega.AllocationID) {
		if j.held = append(j.held, id); j.left == 0 && len(j.held) == j.running {
			t.w.after(j.length(), func() error { return t.endAll(j) })
		}
	}
	return next
}

// endAll ends a rigid job.
func (t *tenant) endAll(j *job) error {
	for _, id := range j.held {
		if err := t.finish(id); err != nil {
			return err
		}
	}
	j.running = 1 // the last one ends it
	return t.ended(j)
}

// ended notes that a task has.
func (t *tenant) ended(j *job) error {
	j.running--
	if j.running == 0 && j.left == 0 {
		t.jobs = slices.DeleteFunc(t.jobs, func(other *job) bool { return other == j })
		if j.done != nil {
			if err := j.done(); err != nil {
				return err
			}
		}
	}
	return t.tell()
}

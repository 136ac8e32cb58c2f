package loop

import (
	"fmt"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Job is a number of tasks that are alike and wanted together: one demand.
type Job[K any] struct {
	Key        K // the caller's name for it; the loop only hands it back
	Account    omega.Account
	Precedence omega.Precedence
	Need       resources.Vector // of each task
	Tasks      int              // at least 1
	// Gang asks for all tasks or none. Without it, placed tasks are kept while the
	// rest is tried again.
	Gang bool
	// Deadline ends the job if it is not placed by then; zero for none. No
	// attempt begins at or after it. One that has begun is finished.
	Deadline time.Time
	// Allow says which machines will do; nil for all. A change of its mind
	// about a job that waits is noticed after [Loop.Recheck].
	Allow func(locality.Node) bool
}

// Claim returns the claim of one task of the job on machine m.
func (j *Job[K]) Claim(m omega.MachineID) omega.Claim {
	return omega.Claim{Machine: m, Account: j.Account, Need: j.Need, Precedence: j.Precedence}
}

// Query returns the query for a machine for the job.
func (j *Job[K]) Query() omega.Query { return omega.Query{Need: j.Need, Allow: j.Allow} }

func (j *Job[K]) check() error {
	if j.Tasks < 1 {
		return fmt.Errorf("%w: %d tasks, want 1 or more", ErrJob, j.Tasks)
	}
	if err := j.Need.Check(); err != nil {
		return invalid(err, "need")
	}
	if j.Need == (resources.Vector{}) {
		return invalid(resources.ErrQuantity, "need is zero")
	}
	return nil
}

// allowed returns an error unless the limits of a scheduler without allocations allow
// the job.
func (j *Job[K]) allowed(l *omega.Limits) error {
	if j.Precedence < l.Lowest || j.Precedence > l.Highest {
		return invalid(omega.ErrForbidden, "precedence %d, the scheduler may claim at %d to %d", j.Precedence, l.Lowest, l.Highest)
	}
	if !j.Gang {
		return j.within(l, 1)
	}
	if l.Gang > 0 && j.Tasks > l.Gang {
		return invalid(omega.ErrLimit, "gang of %d tasks, the scheduler may claim %d at once", j.Tasks, l.Gang)
	}
	return j.within(l, int64(j.Tasks))
}

// within returns an error unless a scheduler may hold so many tasks.
func (j *Job[K]) within(l *omega.Limits, tasks int64) error {
	if l.Held == nil {
		return nil
	}
	for k, q := range j.Need {
		if most := l.Held[k]; q > most/tasks {
			return invalid(omega.ErrLimit, "%d tasks of kind%d=%d at once, the scheduler may hold kind%d=%d", tasks, k, q, k, most)
		}
	}
	return nil
}

// Pending is a job in a loop. Its methods may be called where the loop calls:
// from an [Order], a [Place] and the hook; elsewhere it is only a handle for
// [Loop.Cancel].
type Pending[K any] struct {
	job       Job[K]
	submitted time.Time
	seq       uint64 // of arrival
	state     state
	cancelled bool
	searching bool // its last attempt found no room
	early     bool // in the Order before its back-off ends, since there may be room

	placed    int
	attempts  int
	idle      int                 // of these, placed all that they were to, or passed up room
	passes    int                 // attempts in a row that passed up room and placed nothing
	fruitless int                 // attempts in a row that placed nothing
	last      error               // why the last attempt did not do
	since     time.Time           // it waits for room: since it came, or placed a task
	room      omega.ReservationID // for it, 0 for none
	until     time.Time           // at which that ends
	on, tried []locality.Node     // where that is, and where one has ended unused
	short     int                 // so many were too short
	ration    int                 // tasks that the next attempt may place, 0 for all
	near      *nearby

	pos [alarms]int // place in each timeline plus one, 0 if it is not there
}

// state is the place of a job in the loop.
type state uint8

const (
	arriving state = iota // submitted, not seen by a step yet
	queued                // in the Order
	deciding              // in an attempt
	waiting               // for its back-off to end
	parked                // until the machines change
	ended
	states
)

// pending reports whether a job waits for room or for its turn.
func (s state) pending() bool { return s == queued || s == deciding || s == waiting }

// Job returns the job as it was submitted. It is not to be changed.
func (p *Pending[K]) Job() *Job[K] { return &p.job }

// Submitted returns when the job was submitted.
func (p *Pending[K]) Submitted() time.Time { return p.submitted }

// Left returns how many of its tasks are to be placed yet.
func (p *Pending[K]) Left() int { return p.job.Tasks - p.placed }

// Ration has the next attempt place at most n of the tasks that are left; 0, and less, is
// for all. An [Order] calls it in Next. When the tasks of an attempt are placed and others
// are left, the job comes back to the order at once, and the attempt counts against no
// limit. A gang is not divided.
func (p *Pending[K]) Ration(n int) { p.ration = max(n, 0) }

// ask returns how many tasks an attempt that begins is to place.
func (p *Pending[K]) ask() int {
	tasks, ration := p.Left(), p.ration
	if p.ration = 0; ration > 0 && !p.job.Gang {
		tasks = min(tasks, ration)
	}
	return tasks
}

// atOnce returns how many tasks are to find room at once.
func (p *Pending[K]) atOnce() int {
	if p.job.Gang {
		return p.job.Tasks
	}
	return 1
}

// Attempts returns how many attempts the job has had.
func (p *Pending[K]) Attempts() int { return p.attempts }

// Done reports whether the job has ended: an [Order] may forget it.
func (p *Pending[K]) Done() bool { return p.state == ended }

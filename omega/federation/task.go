package federation

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Task names one task: by its job and its number there, from 0 up.
type Task struct {
	Job   string
	Index int
}

// String returns the name of the job and the number.
func (t Task) String() string { return fmt.Sprintf("%s[%d]", fault.Quote(t.Job), t.Index) }

func (t Task) compare(o Task) int {
	return cmp.Or(strings.Compare(t.Job, o.Job), cmp.Compare(t.Index, o.Index))
}

// Job is a number of like tasks, submitted by a user.
type Job struct {
	// Name satisfies [resources.CheckName]. It is unique among the jobs of all global
	// masters that have not ended.
	Name string
	// User is the account that is charged in each cell. It satisfies
	// [resources.CheckName]. All jobs of a user go to one global master.
	User  string
	Tasks int // 1 to 2^24
	// Need is the need of each task: see [resources.Vector.CheckNeed].
	Need resources.Vector
	// Require lists predicates. The machine of a task satisfies all of them when the
	// task is granted: the local master refuses a machine whose attributes have changed
	// since the last report. Attributes of machines are texts.
	Require []locality.Predicate
	// Gang asks for all tasks at once, on machines of one cell.
	Gang bool
	// Precedence is the precedence of the claims. Jobs of higher precedence are
	// matched first.
	Precedence omega.Precedence
	// Ended is nil for a new job. It is not nil for a job that was submitted to a
	// predecessor of this global master: it lists the tasks that are known to have
	// ended. Such a job waits until all local masters have listed their tasks. The
	// predecessor must not have told of more since: it has to be dead, or superseded.
	Ended []int
}

// maxTasks is the largest number of tasks of a job.
const maxTasks = 1 << 24

func (j *Job) check() error {
	if err := resources.CheckName(j.Name); err != nil {
		return fault.New("federation", "name of a job", err, ErrInvalid)
	}
	if err := resources.CheckName(j.User); err != nil {
		return fault.New("federation", fmt.Sprintf("job %s: user", fault.Quote(j.Name)), err, ErrInvalid)
	}
	if j.Tasks < 1 || j.Tasks > maxTasks {
		return invalid("job %s: %d tasks, want 1 to %d", fault.Quote(j.Name), j.Tasks, maxTasks)
	}
	if err := j.Need.CheckNeed(); err != nil {
		return fault.New("federation", fmt.Sprintf("job %s: need", fault.Quote(j.Name)), err, ErrInvalid)
	}
	seen := map[int]bool{}
	for _, i := range j.Ended {
		if i < 0 || i >= j.Tasks || seen[i] {
			return invalid("job %s: ended task %d, want different numbers from 0 to %d", fault.Quote(j.Name), i, j.Tasks-1)
		}
		seen[i] = true
	}
	return nil
}

// require returns the constraints as a text: equal texts mean the same.
func (j *Job) require() string {
	var b strings.Builder
	for _, p := range j.Require {
		b.WriteString(p.String())
		b.WriteByte('\n')
	}
	return b.String()
}

// Event is a change of a task, as a global master or a verifier tells of it.
type Event struct {
	Task       Task
	Kind       Kind
	Local      string             // the local master
	Allocation omega.AllocationID // zero where the task did not start there
}

// Kind is the kind of an [Event].
type Kind uint8

// The kinds of events.
const (
	// Started: the task was granted its room. A runner starts it when
	// [omega.Cell.ReadyAt] says so.
	Started Kind = iota + 1
	// Stopping: the task was preempted. A runner stops it and calls [Verifier.Done] with this event.
	Stopping
	// Ended: the task is finished.
	Ended
	// Returned: the task was stopped, or its machine was lost. It waits again.
	Returned
)

// String returns the kind in lower case.
func (k Kind) String() string {
	switch k {
	case Started:
		return "started"
	case Stopping:
		return "stopping"
	case Ended:
		return "ended"
	case Returned:
		return "returned"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

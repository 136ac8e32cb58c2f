package federation

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Local is a local master: one cell, as it serves one global master. A cell that serves
// several has a Local for each, with a scheduler of its own.
type Local struct {
	Name string
	// Scheduler has the name of the global master, and serves the verifier alone. For a
	// verifier that replaces another one it comes from [omega.Cell.Replace], so that its
	// epoch, the incarnation of the verifier, is higher.
	Scheduler *omega.Scheduler
	// Store takes the commits; nil is the scheduler's cell, as [omega.Local] has it.
	Store omega.Store
	// Partitions maps each global master to the machines of its partition. Each
	// machine of the cell is in one partition: see [Split]. A machine that is added
	// later belongs to none. With nil Partitions all machines belong to this global
	// master.
	Partitions map[string]omega.Mask
	// Heartbeat is the time between two reports on all machines; 0 is ten seconds.
	Heartbeat time.Duration
	// Piece is the most machines that one message reports on, at least 64; 0 is 4,096.
	Piece int
	// Records are the records of a verifier before this one: see
	// [Verifier.Records].
	Records Records
	// Notify, if not nil, is told of tasks that start, are to be stopped, have ended or
	// were returned, by Step, before the messages that depend on it are returned. It must
	// not call methods of the verifier other than Done and Records.
	Notify func(Event)
}

// Records are the state of a verifier that has to outlive it, in addition to the cell.
// The zero Records are for a first verifier.
type Records struct {
	// Epoch is the epoch of the global master that the verifier serves, plus 1; 0
	// before it has heard of one. A verifier that forgot it might serve a global
	// master that was replaced.
	Epoch uint64
	// Tasks are the running tasks, as [Started], and the tasks whose end the global
	// master has not acknowledged, as [Ended].
	Tasks []Event
}

const (
	defaultHeartbeat = 10 * time.Second
	defaultPiece     = 4096
)

// Verifier is the side of a local master that serves one global master: it commits the
// launches that still fit, and reports on tasks and machines. NewVerifier makes it.
//
// It is a state machine. Receive takes messages, Done takes tasks that are finished, Step
// commits and returns messages; Run is a loop of them. Receive, Done and Records are safe
// for concurrent use, Step and Run belong to one goroutine. The methods of a nil Verifier
// fail with [resources.ErrNil], or return nothing.
type Verifier struct {
	local   Local
	global  string
	cell    *omega.Cell
	part    omega.Mask // nil for all
	attempt omega.Attempt

	mu    sync.Mutex
	inbox []Message
	over  []finished
	tasks map[Task]*record
	epoch uint64 // of the global master, from 1; 0 before it is heard of; only Step writes it
	wake  chan struct{}

	// The fields below belong to Step.
	byID     map[omega.AllocationID]*record
	settled  uint64            // batches up to this number are answered and settled
	answers  map[uint64]answer // of the others
	queue    []work
	notices  []notice // that are not acknowledged
	noticed  uint64   // number of the last one
	untold   int      // of notices, the last ones, that were not sent yet
	listing  bool     // the list is asked for
	verdicts []answer // to be sent
	items    []int    // scratch: the number in the transaction of each launch
	// The machine and the precedence of the claim of a launch that seeks a machine.
	machine    omega.MachineID
	precedence omega.Precedence

	states states
	beat   time.Time // of the next heartbeat
}

// record is a task that the verifier knows of.
type record struct {
	Event
	stopping bool // the runner was told to stop it
}

// finished is a call of Done.
type finished struct {
	task       Task
	allocation omega.AllocationID
	complete   bool
}

// NewVerifier returns the verifier of a local master. An allocation of the scheduler
// without a record is released at the first step; a record that the cell does not know
// is dropped, and its task goes back to the queue of the global master. Errors:
// [ErrInvalid] names the field and the value; resources.ErrNil without a scheduler.
func NewVerifier(l Local) (*Verifier, error) {
	if err := resources.CheckName(l.Name); err != nil {
		return nil, fault.New("federation", "name of a local master", err, ErrInvalid)
	}
	cell := l.Scheduler.Cell()
	if cell == nil {
		return nil, absent("scheduler of local master " + fault.Quote(l.Name))
	}
	if l.Scheduler.Name() == l.Name {
		return nil, invalid("local master %s: its scheduler has that name, want that of a global master", fault.Quote(l.Name))
	}
	if l.Heartbeat < 0 || l.Piece < 0 || l.Piece > 0 && l.Piece < blockSize {
		return nil, invalid("local master %s: heartbeat %v, pieces of %d, want 0 or more, and 0 or %d or more",
			fault.Quote(l.Name), l.Heartbeat, l.Piece, blockSize)
	}
	if err := checkPartitions(cell, l.Partitions, l.Scheduler.Name()); err != nil {
		return nil, fault.New("federation", "local master "+fault.Quote(l.Name), err)
	}
	if l.Heartbeat == 0 {
		l.Heartbeat = defaultHeartbeat
	}
	if l.Piece == 0 {
		l.Piece = defaultPiece
	}
	if l.Store == nil {
		l.Store = omega.Local{Scheduler: l.Scheduler}
	}
	v := &Verifier{
		local: l, global: l.Scheduler.Name(), cell: cell, part: l.Partitions[l.Scheduler.Name()],
		tasks: map[Task]*record{}, byID: map[omega.AllocationID]*record{}, answers: map[uint64]answer{}, wake: make(chan struct{}, 1),
	}
	v.states.fill(v)
	v.attempt.Store = watched{v}
	if err := v.restore(); err != nil {
		return nil, err
	}
	v.local.Records = Records{}
	return v, nil
}

// restore takes over the records of a verifier before this one.
func (v *Verifier) restore() error {
	v.epoch = v.local.Records.Epoch
	for _, e := range v.local.Records.Tasks {
		if e.Kind != Started && e.Kind != Ended || e.Task.Index < 0 || e.Task.Index >= maxTasks {
			return invalid("local master %s: record of task %v that is %v, want %v or %v", fault.Quote(v.local.Name), e.Task, e.Kind, Started, Ended)
		}
		if v.tasks[e.Task] != nil {
			return invalid("local master %s: two records of task %v, want one", fault.Quote(v.local.Name), e.Task)
		}
		r := &record{Event: e}
		if e.Kind == Ended {
			v.tasks[e.Task] = r
			v.notify(r)
		} else if v.local.Scheduler.Holds(e.Allocation) {
			v.tasks[e.Task], v.byID[e.Allocation] = r, r
		}
	}
	for a := range v.local.Scheduler.Allocations() {
		if v.byID[a.ID] == nil {
			v.queue = append(v.queue, work{release: a.ID})
		}
	}
	return nil
}

// Receive takes a message of the global master, for the next Step. Errors: [ErrUnknown]
// for another sender, or a message for another master; [ErrInvalid] for a message of a
// local master.
func (v *Verifier) Receive(m Message) error {
	switch {
	case v == nil:
		return absent("verifier")
	case m.To != v.local.Name:
		return unknown("message for %s, want one for %s", fault.Quote(m.To), fault.Quote(v.local.Name))
	case m.From != v.global:
		return unknown("message from %s, want one from %s", fault.Quote(m.From), fault.Quote(v.global))
	case m.ask == nil:
		return invalid("message from %s: want a request", fault.Quote(m.From))
	}
	v.mu.Lock()
	v.inbox = append(v.inbox, m)
	v.mu.Unlock()
	v.signal()
	return nil
}

// Done tells that a run of a task is over: the task is complete, or it was stopped or has
// failed and goes back to the queue of the global master. The run is the event that told of
// its start, of which Task and Allocation count. Its room is released at the next step.
// Errors: [ErrUnknown] for a run that is not in progress here, such as one that was over
// before the task was started again.
func (v *Verifier) Done(run Event, complete bool) error {
	if v == nil {
		return absent("verifier")
	}
	v.mu.Lock()
	r := v.tasks[run.Task]
	if r == nil || r.Kind == Ended || r.Allocation != run.Allocation {
		v.mu.Unlock()
		return unknown("task %v: its run with allocation %v is not in progress on local master %s", run.Task, run.Allocation, fault.Quote(v.local.Name))
	}
	v.over = append(v.over, finished{run.Task, run.Allocation, complete})
	v.mu.Unlock()
	v.signal()
	return nil
}

// Records returns the memory of the verifier, with tasks by name. A verifier that takes
// over is made with it: see Local.Records. A program that may end keeps the records of
// after a Step before it sends the messages which that has returned.
func (v *Verifier) Records() Records {
	if v == nil {
		return Records{}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	all := Records{Epoch: v.epoch, Tasks: make([]Event, 0, len(v.tasks))}
	for _, r := range v.tasks {
		all.Tasks = append(all.Tasks, r.Event)
	}
	slices.SortFunc(all.Tasks, func(a, b Event) int { return a.Task.compare(b.Task) })
	return all
}

// signal makes Run look again.
func (v *Verifier) signal() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// Run steps whenever a message was received, a task is done or was preempted, or a
// heartbeat is due, and sends the messages. It returns the context's cause once ctx is
// done, and the errors of Step. Send must not wait; it may lose messages.
func (v *Verifier) Run(ctx context.Context, send func(Message)) error {
	if v == nil {
		return absent("verifier")
	}
	within, stop := context.WithCancel(ctx)
	var marks sync.WaitGroup
	marks.Go(func() {
		for v.local.Scheduler.WaitMark(within) == nil {
			v.signal()
		}
	})
	defer marks.Wait()
	defer stop()
	return run(ctx, v.wake, func(now time.Time) (time.Time, error) {
		out, next, err := v.Step(ctx, now)
		for _, m := range out {
			send(m)
		}
		return next, err
	})
}

// forget drops the records of ended tasks that are launched again: the launch is for a new
// job of the same name. A global master launches them only after it has followed the
// notice, or the list, that told of the end.
func (v *Verifier) forget(launches []launch) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range launches {
		task := launches[i].Task
		if r := v.tasks[task]; r == nil || r.Kind != Ended {
			continue
		}
		delete(v.tasks, task)
		v.notices = slices.DeleteFunc(v.notices, func(n notice) bool { return n.Event.Task == task })
	}
	v.untold = min(v.untold, len(v.notices))
}

// acknowledge drops notices that the global master has followed, and the records of the
// tasks that have ended.
func (v *Verifier) acknowledge(heard []uint64) {
	if len(heard) == 0 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.notices = slices.DeleteFunc(v.notices, func(n notice) bool {
		if !slices.Contains(heard, n.Number) {
			return false
		}
		if r := v.tasks[n.Event.Task]; r != nil && r.Kind == Ended && n.Event.Kind == Ended {
			delete(v.tasks, n.Event.Task)
		}
		return true
	})
	v.untold = min(v.untold, len(v.notices))
}

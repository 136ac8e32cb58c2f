package flow

import (
	"slices"
	"sync"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Scheduler keeps jobs and tasks of the caller's own types J and T, and places
// them on a cell in rounds. Schedulers are made by [New]. The methods of a nil or
// zero Scheduler fail with [resources.ErrNil].
//
// It is safe for concurrent use. A mutex is held while a call works and plans, callbacks
// included, and free while a round waits for its [omega.Store]: the other methods answer
// meanwhile. Times never go back. The same calls in the same
// order, others' commits included, give the same rounds. What its
// [omega.Scheduler] held before, it takes for another's room, but for what
// [Scheduler.AddRunning] tells it of.
type Scheduler[J, T comparable] struct {
	cfg     Config[T]
	planner *quincy.Planner[J, T]
	attempt omega.Attempt // of the round in progress, with the mutex or without

	mu sync.Mutex // guards what follows
	// rounding says that a Round is in progress. It alone plans, and reads the snapshot.
	rounding bool
	phase    phase

	begun bool
	epoch time.Time // the planner's time 0, once begun
	now   int64

	jobs     map[J]*job[J]
	jobList  []*job[J] // as they were added
	tasks    map[T]*task[J, T]
	list     []*task[J, T] // in an order that depends on the calls alone
	fitters  []*task[J, T] // that wait for a machine where they fit, likewise
	machines []*machine[J, T]
	slots    int // of all machines
	patience int64
	held     map[omega.AllocationID]*hold[J, T]
	beyond   map[locality.Node]omega.MachineID // that the planner has no room for
	freed    bool                              // it may have some since

	dirty    []*machine[J, T] // whose slots are to be counted again
	awaiting []*machine[J, T] // with tasks that wait for room there
	hinted   []*machine[J, T] // with a slot more than are free
	releases []*hold[J, T]    // for the next transaction
	sent     []*hold[J, T]    // in the transaction on the way, to be released
	reserved []*task[J, T]    // granted, to be started
	barred   []*machine[J, T] // that it may not claim
	kept     keeping[J, T]    // the machine that is, if any

	reservations []reservation[J, T] // in the cell
	settling     func()              // what the outcome of the transaction does to them, or nil
	vain         []*machine[J, T]    // those that were for that task, and to no avail
	stirs        int                 // changes of machines, and ends of tasks
	resync       bool                // some machine may have been missed
	joined       bool                // machines have come
	unwilling    int                 // tasks that wait and always will, by their costs
	short        bool                // limits have left some waiting in the last round
	left         resources.Vector    // what limits left when the round began

	// Of one round.
	report   Report[T]
	errs     []error
	going    []*task[J, T]    // to be told to stop
	queue    []*machine[J, T] // to be checked
	claimed  []*task[J, T]    // in the transaction on the way
	late     []*task[J, T]    // kept for its memory only
	changed  []omega.MachineState
	waiting  []*task[J, T]  // by rank, where limits are short of them
	trades   []trade[J, T]  // for the limits
	choosing *keeping[J, T] // for whose task arcs are asked
	fits     map[resources.Vector]*fits[J, T]
	able     map[resources.Vector]bool // whether a machine has as much
	turn     int                       // where the next search among them begins
	bare     bool                      // arcs are to be those that cannot be wrong
	arcs     []quincy.Arc
}

// New returns a scheduler without jobs. Errors: [ErrConfig].
func New[J, T comparable](cfg Config[T]) (*Scheduler[J, T], error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	s := &Scheduler[J, T]{
		cfg: cfg, attempt: omega.Attempt{Store: cfg.Store}, patience: max(1, int64(cfg.Patience/cfg.Unit)), jobs: map[J]*job[J]{}, tasks: map[T]*task[J, T]{}, resync: true, beyond: map[locality.Node]omega.MachineID{},
		held: map[omega.AllocationID]*hold[J, T]{}, able: map[resources.Vector]bool{}, fits: map[resources.Vector]*fits[J, T]{},
	}
	var err error
	s.planner, err = quincy.New[J](quincy.Config[T]{Arcs: s.arcsOf, Verify: cfg.Verify})
	return s, err
}

// none reports whether s is nil, or not made by [New].
func (s *Scheduler[J, T]) none() bool { return s == nil || s.planner == nil }

// Add adds a task, which waits from now on. Errors: [resources.ErrQuantity] for a
// need that is zero or invalid, [omega.ErrUnknown] account, [omega.ErrForbidden] for
// a precedence at which the scheduler may not claim, and those of
// [quincy.Planner.AddTask].
func (s *Scheduler[J, T]) Add(t T, want Task[J], now time.Time) error {
	if s.none() {
		return absent("scheduler")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at, err := s.units(now)
	if err != nil {
		return err
	}
	j, err := s.vacant(t, want.Job)
	if err != nil {
		return err
	}
	if err := s.admissible(t, &want); err != nil {
		return err
	}
	tk := &task[J, T]{key: t, want: want, job: j, small: want.Need.Fits(s.cfg.Slot), since: at, fitter: -1, over: s.short}
	s.tasks[t] = tk
	if err := s.planner.AddTask(t, want.Job, at); err != nil {
		s.unflag(tk)
		delete(s.tasks, t)
		return err
	}
	s.enlist(tk, now, at)
	s.seeks(tk)
	return nil
}

// admissible says why a task could never be claimed, whatever the machines are.
func (s *Scheduler[J, T]) admissible(t T, want *Task[J]) error {
	if err := want.Need.Check(); err != nil {
		return fault.Newf("flow", err, "task %s: need", fault.Key(t))
	}
	if want.Need == (resources.Vector{}) {
		return fault.Newf("flow", resources.ErrQuantity, "task %s: need is zero", fault.Key(t))
	}
	if _, ok := s.cfg.Cell.AccountName(want.Account); !ok {
		return fault.Newf("flow", omega.ErrUnknown, "task %s: account %d", fault.Key(t), want.Account)
	}
	limits := s.cfg.Scheduler.Limits()
	if want.Precedence < limits.Lowest || want.Precedence > limits.Highest {
		return fault.Newf("flow", omega.ErrForbidden, "task %s: precedence %d, scheduler %q may claim at %d to %d",
			fault.Key(t), want.Precedence, s.cfg.Scheduler.Name(), limits.Lowest, limits.Highest)
	}
	return nil
}

// vacant returns the job of a task that is to be added, which is not there yet.
func (s *Scheduler[J, T]) vacant(t T, of J) (*job[J], error) {
	j, ok := s.jobs[of]
	if !ok {
		return nil, fault.Newf("flow", quincy.ErrUnknown, "task %s: job %s", fault.Key(t), fault.Key(of))
	}
	if _, ok := s.tasks[t]; ok {
		return nil, about(t, quincy.ErrDuplicate)
	}
	return j, nil
}

// enlist lists a task that the planner has.
func (s *Scheduler[J, T]) enlist(tk *task[J, T], now time.Time, at int64) {
	s.pass(now, at)
	tk.job.tasks++
	tk.pos = len(s.list)
	s.list = append(s.list, tk)
}

// Update asks for the arcs of a task again, as its data has moved. Errors:
// [ErrUnknown], and those of [quincy.Planner.UpdateTask].
func (s *Scheduler[J, T]) Update(t T, now time.Time) error {
	if s.none() {
		return absent("scheduler")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at, err := s.units(now)
	if err != nil {
		return err
	}
	if _, err := s.find(t); err != nil {
		return err
	}
	if err := s.planner.UpdateTask(t, at); err != nil {
		return err
	}
	s.pass(now, at)
	return nil
}

// Stopped says that a task has ended which a [Report] told to stop: its room is
// free, and it starts again where and when the plan wants. Errors: [ErrUnknown],
// [ErrRuns].
func (s *Scheduler[J, T]) Stopped(t T) error {
	if s.none() {
		return absent("scheduler")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	tk, err := s.find(t)
	if err != nil {
		return err
	}
	if tk.run == nil || !tk.run.leaving || tk.going {
		return about(t, ErrRuns)
	}
	s.free(tk.run)
	tk.run = nil
	return nil
}

// Done forgets a task: it has ended by itself, whether or not it was told to
// stop, or is no longer wanted and does not run. The next round gives back what
// it had in the cell. Errors: [ErrUnknown].
func (s *Scheduler[J, T]) Done(t T) error {
	if s.none() {
		return absent("scheduler")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	tk, err := s.find(t)
	if err != nil {
		return err
	}
	if err := s.planner.RemoveTask(t); err != nil {
		return err
	}
	s.unplan(tk)
	if tk.run != nil {
		s.free(tk.run)
		tk.run, tk.going = nil, false
	}
	if s.rounding { // whose report is not read yet
		s.report.Stop = slices.DeleteFunc(s.report.Stop, func(one Stop[T]) bool { return one.Task == t })
	}
	s.unlist(tk)
	s.list = drop(s.list, tk.pos, func(last *task[J, T]) { last.pos = tk.pos })
	s.unflag(tk)
	tk.job.tasks--
	delete(s.tasks, t)
	return nil
}

// unflag has a task that is forgotten count for nothing any more.
func (s *Scheduler[J, T]) unflag(tk *task[J, T]) {
	tk.flag(false, false)
	change(&s.unwilling, &tk.unwilling, false)
}

func (s *Scheduler[J, T]) find(t T) (*task[J, T], error) {
	tk, ok := s.tasks[t]
	if !ok {
		return nil, about(t, ErrUnknown)
	}
	return tk, nil
}

// maxTime is the planner's limit.
const maxTime = 1 << 28

// units returns now as the planner counts it.
func (s *Scheduler[J, T]) units(now time.Time) (int64, error) {
	epoch := s.epoch
	if !s.begun {
		epoch = now
	}
	if now.Before(epoch) {
		return 0, fault.Newf("flow", quincy.ErrTime, "%v is before %v, the first time there was", now, epoch)
	}
	at := int64(now.Sub(epoch) / s.cfg.Unit)
	if at < s.now || at > maxTime {
		return 0, fault.Newf("flow", quincy.ErrTime, "%v is %d units of %v from %v, want %d to %d",
			now, at, s.cfg.Unit, epoch, s.now, int64(maxTime))
	}
	return at, nil
}

// pass has it be now, which is at as the planner counts it.
func (s *Scheduler[J, T]) pass(now time.Time, at int64) {
	if !s.begun {
		s.begun, s.epoch = true, now
	}
	s.now = at
}

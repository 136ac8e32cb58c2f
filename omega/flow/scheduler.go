package flow

import (
	"slices"
	"sync"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/resources"
)

// Scheduler keeps jobs and tasks of the caller's own types J and T, and places them on a
// cell in rounds. Schedulers are made by [New]. The methods of a nil or zero Scheduler
// fail with [resources.ErrNil].
//
// It is safe for concurrent use. A mutex is held while a call works and plans, callbacks
// included. It is free while a round waits for its [omega.Store], so the other methods
// answer meanwhile.
//
// Times never go back. The same calls in the same order, others' commits included, give
// the same rounds. Allocations that its [omega.Scheduler] held before count as another's
// room, unless [Scheduler.AddRunning] adds them.
type Scheduler[J, T comparable] struct {
	cfg Config[T]

	mu sync.Mutex // guards the fields below
	// rounding says that a Round is in progress. It alone plans, and reads the snapshot.
	rounding bool
	counts   observe.Counts

	// Each component uses the components above it.
	clock     clock
	fleet     fleet[J, T]
	round     outcome[T]
	book      book[J, T]
	promises  promises[J, T]
	admission admission[J, T]
	reserver  reserver[J, T]
	arcs      arcs[J, T]
	exchange  exchange[J, T]
	watch     watch[J, T]
}

// New returns a scheduler without jobs. Errors: [ErrConfig].
func New[J, T comparable](cfg Config[T]) (*Scheduler[J, T], error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	s := &Scheduler[J, T]{cfg: cfg}
	planner, err := quincy.New[J](quincy.Config[T]{Arcs: s.arcs.arcsOf, Verify: cfg.Verify})
	if err != nil {
		return nil, err
	}
	s.clock = clock{unit: cfg.Unit, patience: max(1, int64(cfg.Patience/cfg.Unit))}
	s.fleet = fleet[J, T]{
		cfg: &s.cfg, resync: true, beyond: map[locality.Node]omega.MachineID{},
		couldFitOf: map[resources.Vector]bool{}, fits: map[resources.Vector]*fits[J, T]{},
	}
	s.book = book[J, T]{
		clock: &s.clock, fleet: &s.fleet, round: &s.round, planner: planner,
		jobs: map[J]*job[J]{}, tasks: map[T]*task[J, T]{}, held: map[omega.AllocationID]*hold[J, T]{},
	}
	s.promises = promises[J, T]{cfg: &s.cfg, book: &s.book, fleet: &s.fleet, round: &s.round}
	s.admission = admission[J, T]{cfg: &s.cfg, book: &s.book, fleet: &s.fleet, promises: &s.promises, round: &s.round}
	s.reserver = reserver[J, T]{cfg: &s.cfg, book: &s.book, fleet: &s.fleet, promises: &s.promises, admission: &s.admission}
	s.arcs = arcs[J, T]{cfg: &s.cfg, book: &s.book, fleet: &s.fleet, reserver: &s.reserver}
	s.exchange = exchange[J, T]{
		cfg: &s.cfg, book: &s.book, fleet: &s.fleet, promises: &s.promises, admission: &s.admission, reserver: &s.reserver,
		round: &s.round, mu: &s.mu, attempt: omega.Attempt{Store: cfg.Store},
	}
	s.watch = watch[J, T]{cfg: &s.cfg, fleet: &s.fleet, round: &s.round, book: &s.book, reserver: &s.reserver, exchange: &s.exchange}
	return s, nil
}

// none reports whether s is nil, or not made by [New].
func (s *Scheduler[J, T]) none() bool { return s == nil || s.book.planner == nil }

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
	at, err := s.clock.units(now)
	if err != nil {
		return err
	}
	j, err := s.book.vacant(t, want.Job)
	if err != nil {
		return err
	}
	if err := s.admissible(t, &want); err != nil {
		return err
	}
	tk := &task[J, T]{key: t, want: want, job: j, small: want.Need.Fits(s.cfg.Slot), since: at, exactPos: -1, limited: s.admission.limited}
	s.book.tasks[t] = tk
	if err := s.book.planner.AddTask(t, want.Job, at); err != nil {
		s.book.unflag(tk)
		delete(s.book.tasks, t)
		return err
	}
	s.book.enlist(tk, now, at)
	s.book.listExact(tk)
	return nil
}

// admissible returns an error if a task could never be claimed, on any machines.
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

// Update asks for the arcs of a task again, as its data has moved. Errors:
// [ErrUnknown], and those of [quincy.Planner.UpdateTask].
func (s *Scheduler[J, T]) Update(t T, now time.Time) error {
	if s.none() {
		return absent("scheduler")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at, err := s.clock.units(now)
	if err != nil {
		return err
	}
	if _, err := s.book.find(t); err != nil {
		return err
	}
	if err := s.book.planner.UpdateTask(t, at); err != nil {
		return err
	}
	s.clock.pass(now, at)
	return nil
}

// Stopped says that a task has ended which a [Report] told to stop: its room is
// free, and it starts again where and when the plan wants. Errors: [ErrUnknown] for
// a task that is not known, or was not told to stop.
func (s *Scheduler[J, T]) Stopped(t T) error {
	if s.none() {
		return absent("scheduler")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	tk, err := s.book.find(t)
	if err != nil {
		return err
	}
	if tk.run == nil || !tk.run.ending || tk.stopping {
		return about(t, errRuns)
	}
	s.book.free(tk.run)
	tk.run = nil
	return nil
}

// Done forgets a task: it has ended by itself, whether or not it was told to
// stop, or is no longer wanted and does not run. The next round releases its
// allocation. Errors: [ErrUnknown].
func (s *Scheduler[J, T]) Done(t T) error {
	if s.none() {
		return absent("scheduler")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	tk, err := s.book.find(t)
	if err != nil {
		return err
	}
	if err := s.book.planner.RemoveTask(t); err != nil {
		return err
	}
	s.book.unplan(tk)
	if tk.run != nil {
		s.book.free(tk.run)
		tk.run, tk.stopping = nil, false
	}
	if s.rounding { // the report of the round is not read yet
		s.round.report.Stop = slices.DeleteFunc(s.round.report.Stop, func(one Stop[T]) bool { return one.Task == t })
	}
	s.book.unlistExact(tk)
	s.book.list = removeAt(s.book.list, tk.pos, func(last *task[J, T]) { last.pos = tk.pos })
	s.book.unflag(tk)
	tk.job.tasks--
	delete(s.book.tasks, t)
	return nil
}

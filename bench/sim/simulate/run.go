package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/bench/internal/queue"
	"github.com/cellsched/cellsched/drf/gate"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// ErrConfig reports a configuration that makes no sense.
var ErrConfig = errors.New("simulate: invalid configuration")

// Config is one run.
type Config struct {
	Cell         Cell
	Jobs         []Job // by time of submission; only read, so runs may share them
	Architecture Architecture
	Placement    Placement
	// Horizon is the end of the run, even with jobs in progress; 0 for when
	// everything is done.
	Horizon time.Duration
	// Retry is the wait of a job after an attempt that did not place all of
	// it; 0 is one second, as in Google's simulator. Attempts and Fruitless are
	// those of [loop.Config], but 0 is 1,001 and 101: that simulator gives up
	// after more than 1,000, and after more than 100 that placed nothing.
	Retry               time.Duration
	Attempts, Fruitless int
	Seed                uint64

	// Patience is that of a [gate.Gate] which schedulers ask before they place;
	// 0 for no gate.
	Patience time.Duration
	// Audit finds schedulers with more than their fair share; nil for no audit.
	Audit *Audit
}

func (c *Config) check() error {
	if err := c.Cell.check(); err != nil {
		return fmt.Errorf("%w: cell: %w", ErrConfig, err)
	}
	if err := c.Architecture.check(); err != nil {
		return fmt.Errorf("%w: architecture %q: %w", ErrConfig, c.Architecture.Name, err)
	}
	if c.Horizon < 0 || c.Retry < 0 || c.Horizon > maxTime || c.Retry > maxTime {
		return fmt.Errorf("%w: horizon %v, retry %v: want 0 or more, up to %v", ErrConfig, c.Horizon, c.Retry, maxTime)
	}
	if c.Placement > BestOfTwo {
		return fmt.Errorf("%w: placement %d: want at most %d", ErrConfig, c.Placement, BestOfTwo)
	}
	if c.Patience < 0 || c.Patience > maxTime {
		return fmt.Errorf("%w: patience of the gate %v: want 0 or more, up to %v", ErrConfig, c.Patience, maxTime)
	}
	if c.Architecture.Offers != nil && (c.Patience > 0 || c.Audit != nil) {
		return fmt.Errorf("%w: architecture %q: offers behind a gate or an audit: want neither, since a master decides who is next",
			ErrConfig, c.Architecture.Name)
	}
	if err := c.Audit.check(c); err != nil {
		return fmt.Errorf("%w: audit: %w", ErrConfig, err)
	}
	return checkJobs(c)
}

// retry returns how long a job waits after an attempt that left some of it.
func (c *Config) retry() time.Duration { return cmp.Or(c.Retry, time.Second) }

// attempts returns how many a job may have, and how many that place nothing of it;
// below 0 is no limit.
func (c *Config) attempts() (most, fruitless int) {
	return cmp.Or(c.Attempts, 1+1000), cmp.Or(c.Fruitless, 1+100) // the defaults of loop.Config
}

// maxTime is the longest time: a century. Twice as much can be counted, so that
// nothing overflows that begins within it and takes as long.
const maxTime = 100 * 366 * day

// until returns when the run ends if there is still something to do.
func (c *Config) until() time.Duration {
	if c.Horizon > 0 {
		return c.Horizon
	}
	return maxTime
}

// outOfTime returns an error if a run that was to go on until everything is done
// was cut short.
func (c *Config) outOfTime(more bool) error {
	if more && c.Horizon == 0 {
		return fmt.Errorf("simulate: not all is done after %v of virtual time", maxTime)
	}
	return nil
}

func checkJobs(c *Config) error {
	var served [Classes]bool
	for i := range served {
		served[i] = len(c.Architecture.serving(Class(i))) > 0
	}
	for i := range c.Jobs {
		j := &c.Jobs[i]
		err := j.check(&c.Cell)
		switch {
		case err != nil:
		case i > 0 && j.Submit < c.Jobs[i-1].Submit:
			err = fmt.Errorf("submitted at %v: want %v or later, as job %d", j.Submit, c.Jobs[i-1].Submit, i-1)
		case !served[j.Class]:
			err = fmt.Errorf("%v job: want a scheduler of architecture %q that serves it", j.Class, c.Architecture.Name)
		}
		if err != nil {
			return fmt.Errorf("%w: job %d: %w", ErrConfig, i, err)
		}
	}
	return nil
}

// Run simulates one run, in virtual time and on the calling goroutine: the same
// configuration gives the same metrics to the last bit. It is cut short, with
// the context's cause, when ctx is done. A run to the end checks that
//
//   - all tasks have ended;
//   - the cell is as it was before;
//   - a gate charges no scheduler for anything, and a master no framework;
//   - [omega.Cell.Check] finds nothing.
//
// Errors: [ErrConfig].
func Run(ctx context.Context, cfg Config) (*Metrics, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	s, err := newSimulation(&cfg)
	if err != nil {
		return nil, err
	}
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	if cfg.Horizon == 0 {
		if err := s.checkEnd(); err != nil {
			return nil, err
		}
	}
	return s.metrics(), nil
}

// event is an event at one time: tasks of an attempt end, or a scheduler is
// to be stepped. Submissions come from the jobs themselves, which are sorted.
type event struct {
	kind eventKind
	n    int32 // of the scheduler, or of the tasks
}

type eventKind uint8

const (
	wake eventKind = iota
	end
	audit
	hear // of the changes by the master
	due  // something of the master's is
)

// decider is a scheduler in the simulation.
type decider interface {
	// submit brings in so many tasks of a job.
	submit(ctx context.Context, job, tasks int) error
	// wake is called at a time that it has asked for, or another.
	wake(ctx context.Context) error
	// release gives back the room of tasks that have ended.
	release(t *tasks) error
	// measured returns its load until now, the end.
	measured() Load
}

// simulation is one run.
type simulation struct {
	cfg      *Config
	cell     *omega.Cell
	machines []omega.MachineID
	deciders []decider // by number of the scheduler
	actors   []*actor  // the same, where schedulers commit by themselves
	master   *master   // nil where they do
	routes   [Classes][]int
	gate     *gate.Gate // nil if there is none
	auditor  *auditor   // nil if there is none
	now      time.Duration
	queue    queue.Queue[event]
	events   uint64
	arrived  int // jobs

	running []tasks
	spare   []int32 // of running, that are not in use

	usage usage // prefill included
	jobs  meters
}

// tasks were placed in one attempt and end together.
type tasks struct {
	by    int32 // the number of the scheduler
	job   int
	need  resources.Vector
	since time.Duration
	held  []omega.AllocationID
}

func newSimulation(cfg *Config) (*simulation, error) {
	s := &simulation{cfg: cfg, jobs: newMeters(len(cfg.Jobs))}
	var err error
	if s.cell, err = omega.NewCell(omega.Config{}); err != nil {
		return nil, err
	}
	for i := range cfg.Cell.Machines {
		id, err := s.cell.Add(omega.Machine{Name: fmt.Sprint("machine-", i), Capacity: cfg.Cell.Capacity})
		if err != nil {
			return nil, err
		}
		s.machines = append(s.machines, id)
	}
	if err := s.prefill(); err != nil {
		return nil, err
	}
	if err := s.control(); err != nil {
		return nil, err
	}
	if err := s.join(); err != nil {
		return nil, err
	}
	for c := range Classes {
		s.routes[c] = cfg.Architecture.serving(c)
	}
	return s, nil
}

// join has all schedulers take part.
func (s *simulation) join() (err error) {
	if s.cfg.Architecture.Offers != nil {
		return s.offer()
	}
	for i := range s.cfg.Architecture.Schedulers {
		a, err := newActor(s, i)
		if err != nil {
			return err
		}
		s.actors = append(s.actors, a)
		s.deciders = append(s.deciders, a)
	}
	return nil
}

// run handles events in the order of their time. At one time submissions come
// first, then the others in the order in which they were brought about.
func (s *simulation) run(ctx context.Context) error {
	for {
		at, ok := s.queue.Next()
		submits := s.arrived < len(s.cfg.Jobs) && (!ok || s.cfg.Jobs[s.arrived].Submit <= at)
		if submits {
			at, ok = s.cfg.Jobs[s.arrived].Submit, true
		}
		if !ok || at > s.cfg.until() {
			s.now = max(s.now, s.cfg.Horizon)
			return s.cfg.outOfTime(ok)
		}
		s.now = at
		if s.master != nil {
			s.master.integrate()
		}
		if s.events++; s.events%4096 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := s.step(ctx, submits); err != nil {
			return fmt.Errorf("simulate: at %v: %w", s.now, err)
		}
		if s.master != nil {
			s.master.follow()
		}
	}
}

func (s *simulation) step(ctx context.Context, submits bool) error {
	if submits {
		job := s.arrived
		s.arrived++
		j := &s.cfg.Jobs[job]
		s.jobs.submitted(j.Class)
		return s.deciders[s.routes[j.Class][spread(job, len(s.routes[j.Class]))]].submit(ctx, job, j.Tasks)
	}
	switch _, e, _ := s.queue.Pop(); e.kind {
	case wake:
		return s.deciders[e.n].wake(ctx)
	case audit:
		return s.auditor.audit(ctx)
	case hear:
		return s.master.frameworks[e.n].hear()
	case due:
		return s.master.step()
	default:
		return s.end(e.n)
	}
}

// start keeps tasks until they end.
func (s *simulation) start(t tasks, length time.Duration) {
	n := int32(len(s.running))
	if last := len(s.spare) - 1; last >= 0 {
		n, s.spare = s.spare[last], s.spare[:last]
		s.running[n] = t
	} else {
		s.running = append(s.running, t)
	}
	s.usage.add(t.need, int64(len(t.held)), s.now)
	s.queue.Push(s.now+length, event{end, n})
}

// end gives back the room of tasks. Their scheduler's snapshot stays as it is: in
// the paper it is not looked at again before the next attempt.
func (s *simulation) end(n int32) error {
	t := s.running[n]
	s.running[n] = tasks{}
	s.spare = append(s.spare, n)
	s.usage.add(t.need, -int64(len(t.held)), s.now)
	return s.deciders[t.by].release(&t)
}

// metrics returns the results of the run.
func (s *simulation) metrics() *Metrics {
	m := &Metrics{
		Name: s.cfg.Architecture.Name, Span: s.now, Events: s.events,
		Classes: s.jobs.metrics(), Utilisation: s.usage.mean(&s.cfg.Cell, s.now),
	}
	for _, d := range s.deciders {
		m.Schedulers = append(m.Schedulers, d.measured())
	}
	return m
}

// checkEnd verifies that nothing is left of the jobs.
func (s *simulation) checkEnd() error {
	if err := s.cell.Check(); err != nil {
		return fmt.Errorf("simulate: after the run: %w", err)
	}
	left, taken := 0, resources.Vector{}
	for m := range s.cell.Machines() {
		left += m.Live
		for k := range taken {
			taken[k] += m.Capacity[k] - m.Free[k]
		}
	}
	for _, a := range s.actors {
		if charged := a.turn.usage(); charged != (resources.Vector{}) {
			return fmt.Errorf("simulate: after the run the gate charges scheduler %q for %v: want nothing", a.spec.Name, charged)
		}
	}
	if s.master != nil {
		if err := s.master.checkEnd(); err != nil {
			return err
		}
	}
	if want := s.cfg.Cell.prefilled(); left != want || taken != s.usage.now {
		return fmt.Errorf("simulate: after the run %d allocations of %v are left: want %d of %v", left, taken, want, s.usage.now)
	}
	return nil
}

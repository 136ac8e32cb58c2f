package simulate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
)

// actor is a scheduler of the library in the simulation: its loop, stepped in
// virtual time, and the measurements at its edges.
type actor struct {
	sim       *simulation
	number    int32
	spec      *Scheduler
	scheduler *omega.Scheduler
	account   omega.Account
	loop      *loop.Loop[int] // jobs are called by their number
	find      loop.Place[int]
	load      Load
	turn      *turn // nil if it asks no gate
	pending   int   // jobs in the loop
	short     []*loop.Pending[int]
	offered   []offer

	attempt attempt
	wakeAt  time.Duration // of the last event for the end of an attempt
	failure error         // of a callback
}

// attempt is one decision, from the time at which a job leaves the queue to the
// commit.
type attempt struct {
	job           int
	active        bool
	began, ends   time.Duration
	sent, granted int // claims
}

const never = time.Duration(-1)

func newActor(s *simulation, number int) (*actor, error) {
	a := &actor{sim: s, number: int32(number), spec: &s.cfg.Architecture.Schedulers[number], wakeAt: never}
	a.load.Name, a.load.Serves = a.spec.Name, a.spec.Serves
	var err error
	mask := a.spec.Part.mask(s.cfg.Cell.Machines)
	a.scheduler, err = s.cell.Register(a.spec.Name, omega.Limits{Machines: mask, Held: a.spec.Held})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if a.account, err = s.cell.Account(context.Background(), a.spec.Name); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if s.gate != nil && !a.spec.Ungated {
		if a.turn, err = newTurn(s.gate); err != nil {
			return nil, err
		}
	}
	retry := s.cfg.retry()
	attempts, fruitless := s.cfg.attempts()
	r := rand.New(rand.NewPCG(s.cfg.Seed, schedulerStream+uint64(number)))
	cfg := loop.Config[int]{
		Store: a, Detect: s.cfg.Architecture.Detect, Place: a.place, Think: a.think, Observe: a.observe,
		MinDelay: retry, MaxDelay: retry,
		Attempts: attempts, Fruitless: fruitless,
		Patience: -1, // as in the paper, nothing is reserved
	}
	if a.spec.Reads == AtEnd {
		cfg.Order = &deliberation{Order: loop.FIFO[int](), actor: a}
	}
	a.find = s.cfg.Placement.place(s.within(mask), r)
	a.loop, err = loop.New(cfg)
	return a, err
}

// clock returns the time of the simulation as the library is told it.
func (s *simulation) clock() time.Time { return time.Unix(0, int64(s.now)) }

// submit brings in so many tasks of a job. In the middle of a decision they join the
// queue, in the order of their coming, and the decision goes on.
func (a *actor) submit(ctx context.Context, job, tasks int) error {
	j, now := &a.sim.cfg.Jobs[job], a.sim.clock()
	a.pending++
	a.sim.jobs.begin(job, a.sim.now)
	_, err := a.loop.Submit(now, loop.Job[int]{
		Key: job, Account: a.account, Need: j.Need, Tasks: tasks, Gang: a.sim.cfg.Architecture.Gang,
	})
	if err != nil {
		return err
	}
	return a.drive(ctx)
}

// wake steps the loop: an attempt ends, or a job comes back to the queue.
func (a *actor) wake(ctx context.Context) error { return a.drive(ctx) }

// drive steps the loop until there is nothing left to do now. Jobs that come back to
// the queue have events of their own.
func (a *actor) drive(ctx context.Context) error {
	for {
		next, ok, err := a.loop.Step(ctx, a.sim.clock())
		if err == nil {
			err = a.failure
		}
		if err != nil {
			return fmt.Errorf("scheduler %q: %w", a.spec.Name, err)
		}
		if a.attempt.active && a.attempt.ends <= a.sim.now {
			a.settle()
		}
		if a.pending == 0 {
			a.turn.rest()
		}
		if ok && time.Duration(next.UnixNano()) <= a.sim.now {
			continue
		}
		if at := a.attempt.ends; a.attempt.active && at != a.wakeAt {
			a.wakeAt = at
			a.sim.queue.Push(at, event{wake, a.number})
		}
		return nil
	}
}

// Refresh is for the loop: see [omega.Store].
func (a *actor) Refresh(ctx context.Context, now time.Time, visit func(omega.MachineState)) (*omega.Snapshot, error) {
	return omega.Local{Scheduler: a.scheduler}.Refresh(ctx, now, visit)
}

// Commit is for the loop: see [omega.Store].
func (a *actor) Commit(ctx context.Context, tx *omega.Txn) (granted int, err error) {
	granted, err = omega.Local{Scheduler: a.scheduler}.Commit(ctx, tx)
	a.attempt.sent, a.attempt.granted = tx.Len(), granted
	if err == nil {
		err = a.turn.committed(granted, tx.Len()-granted, a.sim.clock())
	}
	return granted, err
}

// place finds room for tasks of a job: first the room that was kept free for this
// scheduler, then where it wants to, as far as it is its turn.
func (a *actor) place(s *loop.Search[int]) {
	job, tx, k := s.Job, s.Txn, s.Tasks
	for tx.Len() < k && len(a.offered) > 0 && a.offered[0].need == job.Need {
		o := a.offered[0]
		a.offered = a.offered[1:]
		tx.Exchange([]omega.AllocationID{o.id}, job.Claim(o.machine))
	}
	k -= tx.Len()
	n, now := k, a.sim.clock()
	if a.turn != nil {
		if n, a.failure = a.turn.ask(job.Need, k, now); n == 0 {
			return
		}
	}
	before := tx.Len()
	s.Tasks = n
	a.find(s)
	found := tx.Len() - before
	if a.failure == nil {
		a.failure = a.turn.placed(found, found > 0 && (!job.Gang || found == k), now)
	}
}

// think is called once an attempt has been placed, and returns how long it is until
// the commit: the whole decision, unless that is over by now.
func (a *actor) think(job *loop.Job[int], tasks int) time.Duration {
	if a.spec.Reads == AtBegin {
		a.decide(job.Key, tasks)
	}
	return a.attempt.ends - a.sim.now
}

// decide begins the decision on so many tasks of a job.
func (a *actor) decide(job, tasks int) {
	a.sim.jobs.pick(job, a.sim.now)
	d := a.spec.Think[a.sim.cfg.Jobs[job].Class].of(tasks)
	a.attempt = attempt{job: job, active: true, began: a.sim.now, ends: a.sim.now + d}
}

// deliberation is the queue of a scheduler that reads the cell when its decision
// ends. It keeps the first job back until then, so that the loop refreshes, places
// and commits at that time.
type deliberation struct {
	loop.Order[int]

	actor *actor
	first *loop.Pending[int] // that is decided about
}

// Next is for the loop: see [loop.Order].
func (d *deliberation) Next() *loop.Pending[int] {
	if d.first == nil {
		if d.first = d.Order.Next(); d.first == nil {
			return nil
		}
		d.actor.decide(d.first.Job().Key, d.first.Left())
	}
	if d.actor.sim.now < d.actor.attempt.ends {
		return nil
	}
	first := d.first
	d.first = nil
	return first
}

// observe starts the placed tasks and counts jobs that end.
func (a *actor) observe(e loop.Event[int]) {
	j := e.Pending.Job()
	spec := &a.sim.cfg.Jobs[j.Key]
	switch e.Kind {
	case loop.Placed:
		a.sim.start(tasks{a.number, j.Key, j.Need, a.sim.now, e.Allocations}, spec.Duration)
	case loop.BackedOff:
		until := time.Duration(e.Until.UnixNano())
		a.sim.jobs.delay(j.Key, until)
		a.sim.queue.Push(until, event{wake, a.number})
		if !slices.Contains(a.short, e.Pending) {
			a.short = append(a.short, e.Pending)
		}
	case loop.Complete, loop.Abandoned:
		a.pending--
		a.sim.jobs.end(j.Key, spec, a.attempt.began, e.Kind == loop.Abandoned)
		a.short = slices.DeleteFunc(a.short, func(p *loop.Pending[int]) bool { return p == e.Pending })
	case loop.Parked:
		a.failure = fmt.Errorf("%w: job %d of %d tasks of %v can never fit: %w", ErrConfig, j.Key, j.Tasks, j.Need, e.Err)
	default:
	}
}

func (a *actor) release(t *tasks) error {
	for _, id := range t.held {
		if err := a.scheduler.Release(id); err != nil {
			return err
		}
		if err := a.turn.over(t.need); err != nil {
			return err
		}
	}
	return nil
}

func (a *actor) measured() Load {
	a.load.closeDays(a.sim.now)
	return a.load
}

// settle counts an attempt that has ended: Omega paper, section 4. A decision
// is in the metrics if it ends within the run.
func (a *actor) settle() {
	t := &a.attempt
	t.active = false
	a.sim.jobs.attempt(a.sim.cfg, t)
	a.load.add(t, a.sim.now)
}

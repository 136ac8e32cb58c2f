package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cellsched/cellsched/drf/allot"
	"github.com/cellsched/cellsched/drf/gate"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Audit is an auditor beside the schedulers. It reads from the cell the usage of
// each, and asks [allot.Audit] how far that is from their fair shares. It
// may have the room over them given back. All weights are equal.
//
// A scheduler wants more if an attempt of a job that it still has did not place
// all of it. The cell does not know how a scheduler uses its allocations, nor does
// the auditor.
type Audit struct {
	Every time.Duration
	// Preempt has schedulers that are short get back the room that they are short of, as
	// [allot.Preempt] ranks them, while any scheduler is over its fair share. Only the
	// auditor may preempt. It offers the room that it makes to the scheduler that is
	// short, until the next audit: no other scheduler can take it meanwhile. Cost: for
	// each task O(tasks that run + machines).
	Preempt bool
	// Observe, if not nil, is called with the findings, by the number of the
	// scheduler, before anything is preempted.
	Observe func(now time.Duration, r allot.Report)
}

func (a *Audit) check(c *Config) error {
	switch {
	case a == nil:
	case a.Every <= 0 || a.Every > maxTime:
		return fmt.Errorf("every %v: want more than 0, up to %v", a.Every, maxTime)
	case a.Preempt && c.Patience > 0:
		return fmt.Errorf("preempts behind a gate: want one or the other, since a gate does not know of room that is offered")
	}
	return nil
}

// auditor is the audit in a run.
type auditor struct {
	sim       *simulation
	cfg       *Audit
	scheduler *omega.Scheduler
	total     resources.Vector
	offers    []omega.AllocationID       // since the last audit, exchanged or not
	held      map[omega.AllocationID]int // of which running tasks of the simulation they are
}

// offer is room that is kept free for a scheduler.
type offer struct {
	id      omega.AllocationID
	machine omega.MachineID
	need    resources.Vector
}

// The auditor's precedence is above that of all tasks, which is 0.
const auditPrecedence = 1

// control sets up the limits, gate and audit beside the schedulers.
func (s *simulation) control() (err error) {
	total := resources.Vector{}
	for m := range s.cell.Machines() {
		total = total.Add(m.Capacity)
	}
	if s.cfg.Patience > 0 {
		if s.gate, err = gate.New(total, s.cfg.Patience); err != nil {
			return err
		}
	}
	if s.cfg.Audit == nil {
		return nil
	}
	s.auditor = &auditor{sim: s, cfg: s.cfg.Audit, total: total}
	limits := omega.Limits{Lowest: auditPrecedence, Highest: auditPrecedence}
	if s.auditor.scheduler, err = s.cell.Register("audit", limits); err != nil {
		return err
	}
	s.queue.Push(s.cfg.Audit.Every, event{kind: audit})
	return nil
}

// audit is one audit. The last is when nothing else is left to happen.
func (a *auditor) audit(ctx context.Context) error {
	if err := a.withdraw(); err != nil {
		return err
	}
	if a.sim.queue.Len() > 0 || a.sim.arrived < len(a.sim.cfg.Jobs) {
		a.sim.queue.Push(a.sim.now+a.cfg.Every, event{kind: audit})
	}
	users, wanted, err := a.users()
	if err != nil {
		return err
	}
	r, err := allot.Audit(a.total, users)
	if err != nil {
		return err
	}
	if a.cfg.Observe != nil {
		a.cfg.Observe(a.sim.now, r)
	}
	if _, over := Over(r); !over || !a.cfg.Preempt {
		return nil
	}
	return a.even(ctx, users, wanted, r)
}

// Over returns the number of the user that is over its fair share by most while another
// is short: the first of equal ones. It returns false if no user is short, or over.
func Over(r allot.Report) (user int, ok bool) {
	short := false
	for i, u := range r.Users {
		short = short || u.Short
		if u.Violation > 0 && (!ok || u.Violation > r.Users[user].Violation) {
			user, ok = i, true
		}
	}
	return user, ok && short
}

// withdraw takes back the room that was offered and not taken.
func (a *auditor) withdraw() error {
	for _, id := range a.offers {
		if err := a.scheduler.Release(id); err != nil && !errors.Is(err, omega.ErrReleased) {
			return err
		}
	}
	a.offers = a.offers[:0]
	for _, b := range a.sim.actors {
		b.offered = b.offered[:0]
	}
	return nil
}

// users returns the usage of each scheduler, the need of its next task, and how
// many it wants.
func (a *auditor) users() (users []allot.Holding, wanted []int, err error) {
	for _, b := range a.sim.actors {
		u := allot.Holding{}
		if u.Usage, err = a.sim.cell.Usage(b.account); err != nil {
			return nil, nil, err
		}
		n := 0
		for _, p := range b.short {
			if u.Demand = b.short[0].Job().Need; p.Job().Need == u.Demand {
				n += p.Left()
			}
		}
		users, wanted = append(users, u), append(wanted, n)
	}
	return users, wanted, nil
}

// even makes room for those that are short, the poorest first, one task at a
// time, and has the tasks that were preempted for that placed anew.
func (a *auditor) even(ctx context.Context, users []allot.Holding, wanted []int, r allot.Report) error {
	var lost []tasks
	for user, ok := poorest(r); ok; user, ok = poorest(r) {
		victims, room, err := a.makeRoom(users, user)
		if err != nil {
			return err
		}
		lost = append(lost, victims...)
		if wanted[user]--; wanted[user] == 0 || !room {
			users[user].Demand = resources.Vector{}
		}
		for i, b := range a.sim.actors {
			if users[i].Usage, err = a.sim.cell.Usage(b.account); err != nil {
				return err
			}
		}
		if r, err = allot.Audit(a.total, users); err != nil {
			return err
		}
	}
	for _, t := range lost {
		if err := a.sim.actors[t.by].submit(ctx, t.job, 1); err != nil {
			return err
		}
	}
	return nil
}

// poorest returns the user with the least share of those that are short.
func poorest(r allot.Report) (user int, ok bool) {
	for i, u := range r.Users {
		if u.Short && (!ok || u.Share < r.Users[user].Share) {
			user, ok = i, true
		}
	}
	return user, ok
}

// makeRoom offers room for one task to a user. It returns the tasks that were preempted
// for it and whether there is any.
func (a *auditor) makeRoom(users []allot.Holding, user int) (lost []tasks, ok bool, err error) {
	p, err := allot.Preempt(a.total, users, user)
	if err != nil {
		return nil, false, err
	}
	tasksOf := func(v omega.Allocation) *tasks { return &a.sim.running[a.held[v.ID]] }
	ranks := omega.Ranking{
		Of: func(v omega.Allocation, _ resources.Vector) (rank int, ok bool) {
			if _, runs := a.held[v.ID]; !runs {
				return 0, false
			}
			return p.Rank(int(tasksOf(v).by))
		},
		Lose:    func(v omega.Allocation, _ resources.Vector) bool { return p.Lose(int(tasksOf(v).by), v.Need) },
		Keep:    func(v omega.Allocation) { p.Keep(int(tasksOf(v).by), v.Need) },
		Started: func(v omega.Allocation) int64 { return int64(tasksOf(v).since) },
	}
	a.look()
	snap := a.scheduler.Snapshot()
	snap.Refresh(a.sim.clock())
	first := omega.ByScore(func(_, _, _ *resources.Vector) float64 { return 0 })
	m, victims, ok := snap.FindOrPreempt(omega.Query{Need: users[user].Demand}, first, ranks)
	if !ok {
		return nil, false, nil
	}
	if err := a.offer(a.sim.actors[user], offer{machine: m, need: users[user].Demand}, victims); err != nil {
		return nil, false, err
	}
	for _, id := range victims {
		t := &a.sim.running[a.held[id]]
		lost = append(lost, tasks{by: t.by, job: t.job})
		if err := a.sim.preempted(t, id); err != nil {
			return nil, false, err
		}
	}
	return lost, true, nil
}

// look finds the tasks that run.
func (a *auditor) look() {
	a.held = make(map[omega.AllocationID]int)
	for n := range a.sim.running {
		for _, id := range a.sim.running[n].held {
			a.held[id] = n
		}
	}
}

// offer claims room that a scheduler may turn into a claim of its own.
func (a *auditor) offer(to *actor, o offer, victims []omega.AllocationID) error {
	attempt := omega.Attempt{Store: omega.Local{Scheduler: a.scheduler}, Txn: omega.Txn{Grace: omega.AtOnce}}
	attempt.Txn.Claim(omega.Claim{
		Machine: o.machine, Account: to.account, Need: o.need, Precedence: auditPrecedence,
		Victims: victims, Grantee: to.scheduler,
	})
	if _, err := attempt.Commit(context.Background(), a.sim.clock()); err != nil {
		return err
	}
	id, ok := attempt.Txn.Allocation(0)
	if !ok {
		return fmt.Errorf("offer to scheduler %q: %w", to.spec.Name, attempt.Txn.Err(0))
	}
	o.id = id
	a.offers = append(a.offers, id)
	to.offered = append(to.offered, o)
	return nil
}

// preempted has one of some tasks stop: its scheduler acknowledges that.
func (s *simulation) preempted(t *tasks, id omega.AllocationID) error {
	i := slices.Index(t.held, id)
	t.held = slices.Delete(t.held, i, i+1)
	by := s.actors[t.by]
	by.load.Preempted++
	s.usage.add(t.need, -1, s.now)
	return by.scheduler.Release(id)
}

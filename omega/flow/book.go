package flow

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
)

// book is the jobs and tasks, and the machine that the plan has each task on. It keeps the
// planner in step.
type book[J, T comparable] struct {
	*clock
	fleet   *fleet[J, T]
	round   *outcome[T]
	planner *quincy.Planner[J, T]

	jobs       map[J]*job[J]
	jobList    []*job[J] // as they were added
	tasks      map[T]*task[J, T]
	list       []*task[J, T] // in an order that depends on the calls alone
	exactTasks []*task[J, T] // that wait for a machine where they fit, in the same order

	held     map[omega.AllocationID]*hold[J, T]
	releases []*hold[J, T] // for the next transaction

	unwilling int  // tasks that wait and always will, by their costs
	bare      bool // add tasks without the caller's arcs, which may be wrong
}

// share tells the planner the bounds of all jobs, with minimums capped by most.
func (bk *book[J, T]) share(most func(j *job[J]) int) {
	for _, j := range bk.jobList {
		low := min(j.minShare, most(j), j.tasks-j.stuck)
		told := [2]int{low, max(j.maxShare, j.pinned)}
		if told == j.told {
			continue
		}
		if err := bk.planner.SetShares(j.key, told[0], told[1]); err != nil {
			bk.round.fail(fault.Newf("flow", err, "shares of job %s", fault.Key(j.key)))
			continue
		}
		j.told = told
	}
}

// level returns the largest number n such that the lower bounds, cut to n, add up
// to no more than the slots.
func (bk *book[J, T]) level() int {
	low, high := 0, quincy.MaxSlots
	for low < high {
		mid := (low + high + 1) / 2
		sum := 0
		for _, j := range bk.jobList {
			sum += min(j.minShare, j.tasks-j.stuck, mid)
		}
		if sum <= bk.fleet.slots {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}

// ask asks for the arcs of a task again.
func (bk *book[J, T]) ask(tk *task[J, T]) {
	if err := bk.planner.UpdateTask(tk.key, bk.now); err != nil {
		bk.round.fail(err)
	}
}

// free queues h, which has ended, for release in the cell.
func (bk *book[J, T]) free(h *hold[J, T]) {
	h.end()
	h.task = nil
	if h.booked {
		h.on.releasing = h.on.releasing.Add(h.need)
	}
	bk.releases = append(bk.releases, h)
	bk.fleet.epoch++
	bk.fleet.markDirty(h.on)
}

// forget drops h, which was released.
func (bk *book[J, T]) forget(h *hold[J, T]) {
	h.unbook()
	h.on.holds = removeAt(h.on.holds, h.pos, func(last *hold[J, T]) { last.pos = h.pos })
	delete(bk.held, h.id)
	bk.fleet.markDirty(h.on)
}

// count tells the planner how many slots each machine has that was touched.
func (bk *book[J, T]) count() {
	for _, m := range bk.fleet.dirty {
		m.dirty = false
		if bk.fleet.machines[m.node] != m {
			continue // it is gone
		}
		more := m.freeSlots(&bk.fleet.cfg.Slot)
		if m.extraSlot {
			// An exact task fits beside the others though no whole slot is free.
			more = max(more, 1)
		}
		n := min(len(m.here)+more, quincy.MaxSlots)
		if n == m.slots {
			continue
		}
		if err := bk.planner.SetSlots(m.node, n); err != nil {
			bk.round.fail(err)
			continue
		}
		bk.fleet.slots += n - m.slots
		m.slots = n
	}
	bk.fleet.dirty = bk.fleet.dirty[:0]
}

// solve returns the changes of the plan. Minimum shares that cannot be met are given up
// step by step.
func (bk *book[J, T]) solve(ctx context.Context) []quincy.Change[T] {
	level := math.MaxInt
	// First with all minimums, then with minimums that fit in the slots, then with the
	// running tasks, for which there is a plan unless arcs forbid it.
	steps := []func(j *job[J]) int{
		func(*job[J]) int { return level },
		func(*job[J]) int { return level },
		func(j *job[J]) int { return j.planned },
	}
	var plan quincy.Plan[T]
	var err error
	for i, most := range steps {
		if i == 1 {
			level = bk.level()
		}
		bk.share(most)
		if plan, err = bk.planner.Plan(ctx, bk.now); !errors.Is(err, quincy.ErrInfeasible) {
			break
		}
	}
	if err != nil {
		bk.round.fail(fault.New("flow", "", err))
	}
	return plan.Changes
}

// vacant returns the job of a task that is to be added, which is not there yet.
func (bk *book[J, T]) vacant(t T, of J) (*job[J], error) {
	j, ok := bk.jobs[of]
	if !ok {
		return nil, fault.Newf("flow", quincy.ErrUnknown, "task %s: job %s", fault.Key(t), fault.Key(of))
	}
	if _, ok := bk.tasks[t]; ok {
		return nil, about(t, quincy.ErrDuplicate)
	}
	return j, nil
}

// enlist lists a task that the planner has.
func (bk *book[J, T]) enlist(tk *task[J, T], now time.Time, at int64) {
	bk.pass(now, at)
	tk.job.tasks++
	tk.pos = len(bk.list)
	bk.list = append(bk.list, tk)
}

// unflag has a task that is forgotten count for nothing any more.
func (bk *book[J, T]) unflag(tk *task[J, T]) {
	tk.flag(false, false)
	change(&bk.unwilling, &tk.unwilling, false)
}

func (bk *book[J, T]) find(t T) (*task[J, T], error) {
	tk, ok := bk.tasks[t]
	if !ok {
		return nil, about(t, ErrUnknown)
	}
	return tk, nil
}

// plan notes that the plan has tk on m.
func (bk *book[J, T]) plan(tk *task[J, T], m *machine[J, T]) {
	tk.at, tk.planned, tk.here = m, bk.now, len(m.here)
	m.here = append(m.here, tk)
	if tk.small {
		m.small = m.small.Add(tk.want.Need)
		m.smalls++
	}
	tk.job.planned++
	bk.unlistExact(tk)
	bk.fleet.markDirty(m)
}

// unplan removes tk from the plan, and frees its promise and its reservation.
func (bk *book[J, T]) unplan(tk *task[J, T]) {
	m := tk.at
	if m == nil {
		return
	}
	m.here = removeAt(m.here, tk.here, func(last *task[J, T]) { last.here = tk.here })
	if tk.small {
		m.small, _ = m.small.Sub(tk.want.Need)
		m.smalls--
	}
	tk.job.planned--
	if tk.next != nil {
		// It has an allocation there and has not been told to start.
		bk.free(tk.next)
		tk.next = nil
	} else {
		m.settle(tk)
	}
	tk.at, tk.tried, tk.assured = nil, false, false
	bk.fleet.markDirty(m)
}

// listExact lists tk as exact if its arcs depend on where there is room.
func (bk *book[J, T]) listExact(tk *task[J, T]) {
	if tk.exactPos < 0 && (tk.exact || !tk.small && tk.at == nil) {
		tk.exactPos = len(bk.exactTasks)
		bk.exactTasks = append(bk.exactTasks, tk)
	}
}

func (bk *book[J, T]) unlistExact(tk *task[J, T]) {
	if tk.exactPos >= 0 {
		bk.exactTasks = removeAt(bk.exactTasks, tk.exactPos, func(last *task[J, T]) { last.exactPos = tk.exactPos })
		tk.exactPos = -1
	}
}

// endRun notes that tk is to stop where it runs.
func (bk *book[J, T]) endRun(tk *task[J, T]) {
	tk.run.end()
	tk.since = bk.now
	bk.fleet.markDirty(tk.run.on)
}

// giveBack takes tk from where the plan has put it, as there was no room. It waits, or
// goes on where it runs if it was not told to stop yet.
func (bk *book[J, T]) giveBack(tk *task[J, T], why error) {
	bk.unplan(tk)
	tk.refused = why
	if tk.stopping {
		bk.restore(tk)
		return
	}
	bk.replan(tk)
	bk.listExact(tk)
}

// restore cancels endRun: tk goes on where it runs.
func (bk *book[J, T]) restore(tk *task[J, T]) {
	tk.stopping = false
	tk.run.keepOn()
	bk.plan(tk, tk.run.on)
	bk.listExact(tk)
	bk.replan(tk)
}

// replan puts tk in the planner as it is. Where the caller's arcs are refused, it
// gets some that cannot be, and the round's error says so.
func (bk *book[J, T]) replan(tk *task[J, T]) {
	err := bk.planner.RemoveTask(tk.key)
	add := func() error {
		if tk.at != nil {
			return bk.planner.AddRunning(tk.key, tk.want.Job, tk.at.node, tk.started, tk.waited, bk.now)
		}
		return bk.planner.AddTask(tk.key, tk.want.Job, bk.now)
	}
	if err == nil {
		if err = add(); err != nil {
			bk.bare = true
			err = fault.New("flow", "", err)
			_ = add() // it fails only for the caller's arcs
			bk.bare = false
		}
	}
	if err != nil {
		bk.round.fail(err)
	}
}

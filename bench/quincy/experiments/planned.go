package experiments

import (
	"context"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// planned plans all tasks anew in each round, by package quincy.
type planned struct {
	fair, preempts bool
	without        cause
	costs          quincy.DataCosts
	planner        *quincy.Planner[int32, item]
	live           map[int32]*live
	bounds         map[int32]bounds
	others         []int32 // slots that others have, by machine, as the planner knows them
}

// item is a task: of a job, or the one of others.
type item struct{ job, task int32 }

// bounds are E and F of a job.
type bounds struct{ low, top int }

// strangers is the job of the tasks that others have running, which is as it is.
const strangers = -1

// tick is the planner's unit of time.
const tick = time.Millisecond

// newPlanned returns a policy for the cell; with verify every plan is proved
// optimal, which takes longer than to find it.
func newPlanned(c *cell, costs quincy.DataCosts, fair, preempts, verify bool) (*planned, error) {
	p := &planned{
		fair: fair, preempts: preempts, costs: costs,
		live: make(map[int32]*live), bounds: make(map[int32]bounds), others: make([]int32, len(c.rack)),
	}
	var err error
	if p.planner, err = quincy.New[int32](quincy.Config[item]{Arcs: p.arcs, Verify: verify}); err != nil {
		return nil, err
	}
	for n, rack := range c.rack {
		if err := p.planner.AddMachine(quincy.Machine{Node: locality.Node(n), Rack: rack, Slots: c.slots}); err != nil {
			return nil, err
		}
	}
	return p, p.planner.AddJob(strangers, 0, quincy.MaxSlots)
}

// arcs are those of the paper. Without preemption a task that runs has the one to
// where it is.
func (p *planned) arcs(arcs []quincy.Arc, t item, s quincy.State, now int64) []quincy.Arc {
	if s.Running && (t.job == strangers || !p.preempts) {
		return append(arcs, quincy.Arc{To: quincy.OnMachine(s.On)})
	}
	first := len(arcs)
	arcs = p.costs.Arcs(arcs, p.live[t.job].tasks[t.task].input, s, now)
	if s.Running {
		arcs = p.without.removed(arcs, first, p.costs.Work, now-s.Since)
	}
	return arcs
}

func (p *planned) add(w *world, l *live) error {
	number := int32(l.number)
	if err := p.planner.AddJob(number, 0, 0); err != nil {
		return err
	}
	p.live[number], p.bounds[number] = l, bounds{}
	for i := range l.tasks {
		if err := p.planner.AddTask(item{number, int32(i)}, number, int64(w.now/tick)); err != nil {
			return err
		}
	}
	return nil
}

func (p *planned) ended(_ *world, l *live, task int) error {
	number := int32(l.number)
	if err := p.planner.RemoveTask(item{number, int32(task)}); err != nil {
		return err
	}
	if l.waiting+l.running > 0 {
		return nil
	}
	delete(p.live, number)
	delete(p.bounds, number)
	return p.planner.RemoveJob(number)
}

// limits returns how many tasks of a job run at least and at most. That is its share
// exactly if the policy is fair and preempts. Where nothing is stopped, a job keeps the
// tasks that it has. A job with a share does not starve where tasks are stopped.
func (p *planned) limits(l *live) bounds {
	switch {
	case p.fair && p.preempts:
		return bounds{l.share, l.share}
	case p.fair:
		return bounds{0, max(l.share, l.running)}
	case p.preempts:
		return bounds{min(l.share, 1), l.waiting + l.running}
	}
	return bounds{0, l.waiting + l.running}
}

func (p *planned) round(ctx context.Context, w *world) error {
	now := int64(w.now / tick)
	for _, l := range w.jobs {
		number := int32(l.number)
		if b := p.limits(l); b != p.bounds[number] {
			if err := p.planner.SetShares(number, b.low, b.top); err != nil {
				return err
			}
			p.bounds[number] = b
		}
	}
	if err := p.follow(w, now); err != nil {
		return err
	}
	plan, err := p.planner.Plan(ctx, now)
	if err != nil {
		return err
	}
	// A slot that is moved to may be one that is moved from.
	for _, c := range plan.Changes {
		if c.Action != quincy.Place {
			if err := w.stop(p.live[c.Task.job], int(c.Task.task)); err != nil {
				return err
			}
		}
	}
	for _, c := range plan.Changes {
		if c.Action != quincy.Preempt {
			if err := w.start(p.live[c.Task.job], int(c.Task.task), c.To); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow tells the planner which slots others have.
func (p *planned) follow(w *world, now int64) error {
	if w.others == nil {
		return nil
	}
	for n, have := range w.others.have {
		for ; p.others[n] > have; p.others[n]-- {
			if err := p.planner.RemoveTask(item{strangers, p.stranger(n, p.others[n]-1)}); err != nil {
				return err
			}
		}
		for ; p.others[n] < have; p.others[n]++ {
			if err := p.planner.AddRunning(item{strangers, p.stranger(n, p.others[n])}, strangers, locality.Node(n), now, 0, now); err != nil {
				return fmt.Errorf("others on machine %d: %w", n, err)
			}
		}
	}
	return nil
}

// stranger returns the number of one of the tasks that others have on a machine.
func (p *planned) stranger(n int, which int32) int32 { return int32(n) + which*int32(len(p.others)) }

package main

import (
	"context"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/flow"
)

// flowing places all tasks at once, in a round a second.
type flowing struct {
	p       *pool
	s       *flow.Scheduler[string, *task]
	waiting map[*task]bool
}

// costs are in tenths of a second: one of waiting costs as much as one of fetching.
var costs = quincy.DataCosts{Core: 10 * farCost, Rack: 10 * nearCost, Wait: 10}

func newFlow(p *pool) (scheduler, error) {
	ours, err := p.cell.Register("flow", omega.Limits{})
	if err != nil {
		return nil, err
	}
	f := &flowing{p: p, waiting: map[*task]bool{}}
	f.s, err = flow.New[string](flow.Config[*task]{
		Cell: p.cell, Scheduler: ours, Slot: slot,
		Rack: flow.RacksOf(p.topology, locality.RackLocal),
		Arcs: func(arcs []quincy.Arc, t *task, state quincy.State, now int64) []quincy.Arc {
			if state.Running { // a running task is not moved
				return append(arcs, quincy.Arc{To: quincy.OnMachine(state.On)})
			}
			input := locality.Input[int]{Block: t.shard, Bytes: t.bytes << 30}
			return costs.Arcs(arcs, quincy.Blocks(nil, p.holds, input), state, now)
		},
	})
	if err != nil {
		return nil, err
	}
	return f, f.s.AddJob("scan", 0, workers*slots)
}

func (f *flowing) add(t *task) error {
	f.waiting[t] = true
	return f.s.Add(t, flow.Task[string]{Job: "scan", Need: slot}, f.p.clock())
}

func (f *flowing) place(ctx context.Context, start func(*task, locality.Node)) error {
	r, err := f.s.Round(ctx, f.p.clock())
	if err != nil {
		return err
	}
	for _, s := range r.Start {
		delete(f.waiting, s.Task)
		start(s.Task, s.Machine.Node())
	}
	return nil
}

func (f *flowing) done(t *task) error { return f.s.Done(t) }

func (f *flowing) why() (string, error) {
	for _, t := range f.p.work {
		if f.waiting[t] {
			e, err := f.s.Explain(t)
			return e.String(), err
		}
	}
	return "none did\n", nil
}

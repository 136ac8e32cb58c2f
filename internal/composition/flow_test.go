package composition_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/flow"
	"github.com/cellsched/cellsched/resources"
)

// flowPart is a flow scheduler with a round each second.
type flowPart struct {
	*book
	w    *world
	flow *flow.Scheduler[string, string]
	rand *rand.Rand
	runs map[string]flow.Start[string]
	need map[string]task
	only int               // so many of the accounts have tasks
	told chan func() error // ends of tasks, for the goroutine of the rounds
}

// slot is the room of a task that a machine need not be kept for.
var slot = resources.Vector{2, 4}

func (w *world) addFlow() {
	p := &flowPart{
		book: w.book(w.scheduler("flow", omega.Limits{Held: &resources.Vector{80, 400}})), w: w, rand: w.source(),
		runs: map[string]flow.Start[string]{}, need: map[string]task{},
		only: len(w.accounts), told: make(chan func() error, 10_000),
	}
	costs := quincy.DataCosts{Core: 20, Rack: 10, Wait: 1, Work: 1, Unscheduled: 100}
	var err error
	p.flow, err = flow.New[string](flow.Config[string]{
		Cell: w.cell, Scheduler: p.scheduler, Slot: slot, Patience: patience,
		Arcs: func(arcs []quincy.Arc, _ string, state quincy.State, now int64) []quincy.Arc {
			return costs.Arcs(arcs, nil, state, now)
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.parts = append(w.parts, p)
}

func (p *flowPart) run(ctx context.Context) error {
	for j := range 3 {
		if err := p.flow.AddJob(fmt.Sprint("job-", j), 1, 1000); err != nil {
			return err
		}
	}
	for n := 0; pause(ctx, time.Second); {
		if p.w.arriving() {
			for range p.rand.IntN(6) {
				name := fmt.Sprint("task ", n)
				n++
				p.need[name] = task{need: someNeed(p.rand), account: p.w.accounts[p.rand.IntN(p.only)]}
				p.asks(name, true)
				one := flow.Task[string]{Job: fmt.Sprint("job-", p.rand.IntN(3)), Need: p.need[name].need, Account: p.need[name].account}
				if err := p.flow.Add(name, one, time.Now()); err != nil {
					return err
				}
			}
		}
		for len(p.told) > 0 {
			if err := (<-p.told)(); err != nil {
				return err
			}
		}
		report, err := p.flow.Round(ctx, time.Now())
		if err != nil {
			return stopped(err)
		}
		p.act(report)
	}
	return nil
}

// overdue reports whether a task larger than a slot, which limits leave room for, has waited for
// a reservation for too long.
func (p *flowPart) overdue() bool {
	left, ok := p.scheduler.Left()
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, of := range p.open {
		if need := p.need[name].need; ok && time.Since(of.since) > patience+answer && !need.Fits(slot) && need.Fits(left) {
			return true
		}
	}
	return false
}

// act starts and stops tasks as a round says. A task that was lost may start
// elsewhere in the same round.
func (p *flowPart) act(report flow.Report[string]) {
	for _, s := range report.Stop {
		begun := p.runs[s.Task]
		delete(p.runs, s.Task)
		p.asks(s.Task, true)
		if s.Reason == flow.Lost {
			p.ends(begun.Allocation)
			continue
		}
		time.AfterFunc(time.Second/2, func() {
			p.told <- func() error {
				p.ends(begun.Allocation)
				return p.flow.Stopped(s.Task)
			}
		})
	}
	for _, s := range report.Start {
		p.placed(s.Task)
		p.runs[s.Task] = s
		p.starts(s.Allocation, p.need[s.Task])
		time.AfterFunc(someTime(p.rand), func() {
			p.told <- func() error {
				if p.runs[s.Task] != s {
					return nil // it was stopped
				}
				delete(p.runs, s.Task)
				p.ends(s.Allocation)
				return p.flow.Done(s.Task)
			}
		})
	}
}

package main

import (
	"context"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
)

// greedy gives each task in turn the free worker that has the least to fetch.
type greedy struct {
	p       *pool
	s       *omega.Scheduler
	waiting []*task
	held    map[*task]omega.AllocationID
}

func newGreedy(p *pool) (scheduler, error) {
	s, err := p.cell.Register("greedy", omega.Limits{})
	return &greedy{p: p, s: s, held: map[*task]omega.AllocationID{}}, err
}

func (g *greedy) add(t *task) error {
	g.waiting = append(g.waiting, t)
	return nil
}

func (g *greedy) place(ctx context.Context, start func(*task, locality.Node)) error {
	g.s.Snapshot().Refresh(time.Time{})
	for len(g.waiting) > 0 {
		t := g.waiting[0]
		n, ok := g.best(t)
		if !ok {
			return nil
		}
		attempt := omega.Attempt{Store: omega.Local{Scheduler: g.s}}
		attempt.Txn.Claim(omega.Claim{Machine: n, Need: slot})
		if _, err := attempt.Commit(ctx, time.Now()); err != nil {
			return err
		}
		id, ok := attempt.Txn.Allocation(0)
		if !ok {
			return attempt.Txn.Err(0)
		}
		g.held[t], g.waiting = id, g.waiting[1:]
		start(t, id.Node())
	}
	return nil
}

// best returns the first of the free workers with the least to fetch.
func (g *greedy) best(t *task) (best omega.MachineID, ok bool) {
	var least int64
	for m := range g.s.Snapshot().Fitting(omega.Query{Need: slot}) {
		near, far := g.p.fetch(t, m.Node())
		if cost := nearCost*near + farCost*far; !ok || cost < least {
			best, least, ok = m, cost, true
		}
	}
	return best, ok
}

func (g *greedy) done(t *task) error {
	defer delete(g.held, t)
	return g.s.Release(g.held[t])
}

func (g *greedy) why() (string, error) { return "", nil }

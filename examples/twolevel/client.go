package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// client asks one query after the other. Each is to start at its time, so it does
// not wait to be offered a worker.
type client struct {
	waited    []time.Duration // by query, from its time until it had a slot
	conflicts int
	primes    int
}

// run asks all queries.
func (c *client) run(ctx context.Context, cell *omega.Cell, number int, begin time.Time) error {
	s, err := cell.Register(fmt.Sprint("queries-", number), omega.Limits{})
	if err != nil {
		return err
	}
	policy := omega.FirstFit(rand.New(rand.NewPCG(uint64(number), 0))) // not all start at the same worker
	for i := range queries {
		due := begin.Add(time.Duration(i) * every)
		select {
		case <-time.After(time.Until(due)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		slot, err := c.take(ctx, s, policy)
		if err != nil {
			return err
		}
		c.waited = append(c.waited, time.Since(due))
		c.primes += count(i)
		if err := s.Release(slot); err != nil {
			return err
		}
	}
	return nil
}

// take looks, takes, and looks again if it was not there any more.
func (c *client) take(ctx context.Context, s *omega.Scheduler, policy omega.Policy) (omega.AllocationID, error) {
	need, attempt := resources.Vector{1}, omega.Attempt{Store: omega.Local{Scheduler: s}}
	for {
		snapshot, err := attempt.Begin(ctx, time.Now())
		if err != nil {
			return omega.AllocationID{}, err
		}
		worker, ok := snapshot.Find(omega.Query{Need: need}, policy)
		if !ok {
			if err := s.Wait(ctx, need); err != nil {
				return omega.AllocationID{}, err
			}
			continue
		}
		attempt.Txn.Claim(omega.Claim{Machine: worker, Need: need})
		granted, err := attempt.Commit(ctx, time.Now())
		if err != nil {
			return omega.AllocationID{}, err
		}
		if granted == 1 {
			slot, _ := attempt.Txn.Allocation(0)
			return slot, nil
		}
		c.conflicts++
	}
}

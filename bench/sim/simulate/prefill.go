package simulate

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
)

// prefill takes the room that is in use from the beginning, in the name of a scheduler
// of its own.
func (s *simulation) prefill() error {
	left := s.cfg.Cell.prefilled()
	if left == 0 {
		return nil
	}
	scheduler, err := s.cell.Register("prefill", omega.Limits{})
	if err != nil {
		return err
	}
	d := draw{s.within(nil), rand.New(rand.NewPCG(s.cfg.Seed, prefillStream))}
	job := loop.Job[int]{Need: s.cfg.Cell.PrefillNeed}
	snap := scheduler.Snapshot()
	const atOnce = 1_000 // that a transaction stays small
	attempt := omega.Attempt{Store: omega.Local{Scheduler: scheduler}}
	for ; left > 0; attempt.Txn.Reset() {
		d.place(&loop.Search[int]{Snapshot: snap, Job: &job, Tasks: min(left, atOnce), Txn: &attempt.Txn})
		granted, err := attempt.Commit(context.Background(), s.clock())
		if err != nil {
			return fmt.Errorf("prefill: %d tasks of %v are left: %w", left, job.Need, err)
		}
		left -= granted
		s.usage.add(job.Need, int64(granted), 0)
	}
	return nil
}

// within returns the machines in a mask, as a slice of the caller's own.
func (s *simulation) within(mask omega.Mask) (ids []omega.MachineID) {
	for _, m := range s.machines {
		if mask.Has(m.Node()) {
			ids = append(ids, m)
		}
	}
	return ids
}

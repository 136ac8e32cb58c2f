package main

import (
	"errors"
	"fmt"

	"github.com/cellsched/cellsched/resources"
)

// balance verifies, once everything is over, that every task that was submitted
// has ended and that the cell is empty.
func (r *replay) balance() error {
	res := &r.result
	if res.Ended != res.Tasks || res.JobsEnded != res.Jobs {
		return fmt.Errorf("%d of %d tasks and %d of %d jobs have ended: %w", res.Ended, res.Tasks, res.JobsEnded, res.Jobs, errLeft)
	}
	if err := r.cell.Check(); err != nil {
		return err
	}
	for m := range r.cell.Machines() {
		if m.Free != m.Capacity || m.Live != 0 {
			return fmt.Errorf("machine %q has %d allocations at the end: %w", m.Name, m.Live, errLeft)
		}
	}
	for _, s := range r.all {
		usage, err := r.cell.Usage(s.account)
		if err != nil || usage != (resources.Vector{}) {
			return fmt.Errorf("%q holds %v at the end: %w", s.name, usage, errors.Join(err, errLeft))
		}
	}
	return nil
}

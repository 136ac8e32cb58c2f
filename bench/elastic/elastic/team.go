package elastic

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Worker says how the workers of a job are claimed.
type Worker struct {
	Account omega.Account
	// Query is the need of one worker, and the machines where it may run.
	Query omega.Query
	// Place picks the machines.
	Place omega.Policy
	// Precedence is for the workers that were asked for, and Extra, the lower one, for
	// extra workers. A scheduler that claims at a precedence in between preempts extra
	// workers only ([omega.Cell.Victims]).
	Precedence, Extra omega.Precedence
}

// Team is the workers of one running job in a cell. It grows and shrinks, the
// workers that the job asked for first to come and last to go. Omega paper,
// section 6: it uses idle resources opportunistically, so that they are there
// for others all the same.
//
// [NewTeam] makes one; a nil or zero Team has no workers and gets none. It belongs to
// the goroutine of the scheduler that it is resized with, always
// the same one or its successor.
type Team struct {
	worker  Worker
	asked   int
	base    []omega.AllocationID // at most asked
	extra   []omega.AllocationID // in the order in which they were granted
	attempt omega.Attempt
}

// NewTeam returns a team without workers for a job that asked for so many.
// Errors: [ErrJob] if asked is not 1 or more, or Extra not below Precedence;
// resources.ErrQuantity for a need that is invalid, or nothing.
func NewTeam(asked int, w Worker) (*Team, error) {
	if asked < 1 || asked > math.MaxInt32 {
		return nil, refuse(ErrJob, "team of %d workers asked for, want 1 to %d", asked, math.MaxInt32)
	}
	if w.Extra >= w.Precedence {
		return nil, refuse(ErrJob, "extra workers at precedence %d, want one below %d", w.Extra, w.Precedence)
	}
	if err := checkNeed(w.Query.Need); err != nil {
		return nil, err
	}
	return &Team{worker: w, asked: asked}, nil
}

// Len returns how many workers the team has.
func (t *Team) Len() int {
	if t == nil {
		return 0
	}
	return len(t.base) + len(t.extra)
}

// Extra returns the number of workers beyond those that were asked for.
func (t *Team) Extra() int {
	if t == nil {
		return 0
	}
	return len(t.extra)
}

// Workers walks the team's allocations, those that were asked for first, then
// the others in the order in which they were granted. The loop body may not
// change the team.
func (t *Team) Workers() iter.Seq[omega.AllocationID] {
	return func(yield func(omega.AllocationID) bool) {
		if t == nil {
			return
		}
		for _, ids := range [][]omega.AllocationID{t.base, t.extra} {
			for _, id := range ids {
				if !yield(id) {
					return
				}
			}
		}
	}
}

// Resize brings the team to n workers, as far as there is room. It places on the
// scheduler's snapshot and commits one transaction, or releases the youngest extra
// workers, and after those the others. Workers that were asked for and are missing are
// claimed as such, whatever the number of extra ones.
//
// When the team shrinks, the first n of [Team.Workers] stay. The room of the others is
// free at once, so stop them first, or others may claim it while they still run.
//
// A claim that conflicts is not tried again: look at [Team.Len], refresh the snapshot,
// plan and resize again. A worker that did not fit or was refused is no error, unless
// the scheduler has no permission for it, since that would be so for ever.
//
// Cost: that of [omega.Snapshot.Place] and [omega.Scheduler.Commit]. Errors:
//
//   - [ErrJob] if n is negative: nothing has changed;
//   - those of Commit: the team is as it was;
//   - omega.ErrForbidden if the scheduler may not claim at the precedence of some of
//     the workers or, lately, on their machine: the team has the workers that were
//     granted.
func (t *Team) Resize(s *omega.Scheduler, n int) error {
	switch {
	case t == nil || t.asked == 0: // NewTeam has not made it
		return refuse(resources.ErrNil, "team")
	case s == nil:
		return refuse(resources.ErrNil, "scheduler")
	}
	if n < 0 || n > math.MaxInt32 {
		return refuse(ErrJob, "team resized to %d workers, want 0 to %d", n, math.MaxInt32)
	}
	if n == t.Len() {
		return nil
	}
	t.attempt.Store = omega.Local{Scheduler: s}
	t.attempt.Txn.Reset()
	if n < t.Len() {
		return t.shrink(n)
	}
	return t.grow(s, n-t.Len())
}

func (t *Team) shrink(n int) error {
	base := min(len(t.base), n)
	extra := n - base
	for _, id := range slices.Concat(t.base[base:], t.extra[extra:]) {
		t.attempt.Txn.Release(id)
	}
	// This releases workers that were preempted or lost meanwhile, too.
	if _, err := t.attempt.Commit(context.Background(), time.Time{}); err != nil {
		return err
	}
	t.base, t.extra = t.base[:base], t.extra[:extra]
	return nil
}

func (t *Team) grow(s *omega.Scheduler, more int) error {
	missing, claims := t.asked-len(t.base), 0
	snap := s.Snapshot()
	if snap == nil {
		return refuse(resources.ErrNil, "scheduler")
	}
	snap.Place(t.worker.Query, t.worker.Place, more, func(m omega.MachineID, tasks int) {
		for range tasks {
			c := omega.Claim{
				Machine: m, Account: t.worker.Account, Need: t.worker.Query.Need, Precedence: t.worker.Precedence,
			}
			if claims >= missing {
				c.Precedence = t.worker.Extra
			}
			t.attempt.Txn.Claim(c)
			claims++
		}
	})
	if claims == 0 {
		return nil
	}
	if _, err := t.attempt.Commit(context.Background(), time.Time{}); err != nil {
		return err
	}
	var forbidden error
	for i := range claims {
		id, ok := t.attempt.Txn.Allocation(i)
		switch {
		case !ok:
			if err := t.attempt.Txn.Err(i); forbidden == nil && errors.Is(err, omega.ErrForbidden) {
				forbidden = err
			}
		case i < missing:
			t.base = append(t.base, id)
		default:
			t.extra = append(t.extra, id)
		}
	}
	if forbidden != nil {
		return refuse(forbidden, "worker at precedence %d, extra one at %d", t.worker.Precedence, t.worker.Extra)
	}
	return nil
}

// Drop forgets a worker that was preempted or lost ([omega.Scheduler.Marked]) and
// reports whether it was the team's. The caller releases it, by which it is
// acknowledged, when the worker has stopped. Cost: O(workers).
func (t *Team) Drop(id omega.AllocationID) bool {
	if t == nil {
		return false
	}
	for _, ids := range []*[]omega.AllocationID{&t.base, &t.extra} {
		if i := slices.Index(*ids, id); i >= 0 {
			*ids = slices.Delete(*ids, i, i+1)
			return true
		}
	}
	return false
}

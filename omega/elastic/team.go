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
// [NewTeam] makes one; a nil or zero Team has no workers and gets none. It is not safe for
// concurrent use. It is resized with the store of one scheduler, or of its successor.
type Team struct {
	worker Worker
	asked  int
	base   []omega.AllocationID // at most asked
	extra  []omega.AllocationID // in the order in which they were granted

	attempt omega.Attempt
	// keptBase and keptExtra count the workers that the transaction of attempt keeps: the
	// first of base and of extra. missing is the number of its claims for base.
	keptBase, keptExtra, missing int
	lost                         []omega.AllocationID // dropped in doubt, perhaps claimed by it
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

// Resize brings the team to n workers, as far as there is room. It refreshes the snapshot
// of store, places and commits one transaction at now, or releases the youngest extra
// workers, and after those the others. Workers that were asked for and are missing are
// claimed as such, whatever the number of extra ones.
//
// When the team shrinks, the first n of [Team.Workers] stay. The room of the others is
// free at once, so stop them first, or others may claim it while they still run.
//
// A claim that conflicts is not tried again: look at [Team.Len], plan and resize again. A
// worker that did not fit or was refused is no error, unless the scheduler has no
// permission for it, since that would be so for ever.
//
// After omega.ErrOutcome it is unknown whether the transaction was applied, and the team
// counts the workers from before it. The next Resize asks for the outcome first, and then
// goes on to its own n. Workers that a Resize was to release stay stopped meanwhile.
//
// Cost: that of [omega.Snapshot.Refresh], [omega.Snapshot.Place] and
// [omega.Scheduler.Commit]; on a cell with a journal Resize waits for it, ctx at most.
// Errors:
//
//   - [ErrJob] if n is negative: nothing has changed;
//   - resources.ErrNil without a store: nothing has changed;
//   - those of [omega.Attempt.Begin] and [omega.Attempt.Commit]: the team is as it was;
//   - omega.ErrForbidden if the scheduler may not claim at the precedence of some of
//     the workers or, lately, on their machine: the team has the workers that were
//     granted.
func (t *Team) Resize(ctx context.Context, store omega.Store, now time.Time, n int) error {
	switch {
	case t == nil || t.asked == 0: // NewTeam has not made it
		return refuse(resources.ErrNil, "team")
	case ctx == nil:
		return refuse(resources.ErrNil, "context")
	case store == nil:
		return refuse(resources.ErrNil, "store")
	case n < 0 || n > math.MaxInt32:
		return refuse(ErrJob, "team resized to %d workers, want 0 to %d", n, math.MaxInt32)
	}
	if t.attempt.Doubt() > 0 {
		if err := t.commit(ctx, now); err != nil {
			return err
		}
	}
	if n == t.Len() {
		return nil
	}
	t.attempt.Store = store
	snap, err := t.attempt.Begin(ctx, now)
	if err != nil {
		return err
	}
	t.keptBase, t.keptExtra, t.missing = min(len(t.base), n), len(t.extra), t.asked-len(t.base)
	if n < t.Len() {
		t.shrink(n)
	} else {
		t.grow(snap, n-t.Len())
	}
	return t.commit(ctx, now)
}

// shrink releases all but n workers. A worker that was preempted or lost meanwhile is
// released as well.
func (t *Team) shrink(n int) {
	t.keptExtra = n - t.keptBase
	for _, id := range slices.Concat(t.base[t.keptBase:], t.extra[t.keptExtra:]) {
		t.attempt.Txn.Release(id)
	}
}

func (t *Team) grow(snap *omega.Snapshot, more int) {
	snap.Place(t.worker.Query, t.worker.Place, more, func(m omega.MachineID, tasks int) {
		for range tasks {
			c := omega.Claim{
				Machine: m, Account: t.worker.Account, Need: t.worker.Query.Need, Precedence: t.worker.Precedence,
			}
			if t.attempt.Txn.Len() >= t.missing {
				c.Precedence = t.worker.Extra
			}
			t.attempt.Txn.Claim(c)
		}
	})
}

// commit commits the transaction of the attempt, or asks for its outcome, and has the team
// follow it.
func (t *Team) commit(ctx context.Context, now time.Time) error {
	if _, err := t.attempt.Commit(ctx, now); err != nil {
		return err
	}
	t.base, t.extra = t.base[:t.keptBase], t.extra[:t.keptExtra]
	defer func() { t.lost = nil }()
	var forbidden error
	for i := range t.attempt.Txn.Len() {
		id, ok := t.attempt.Txn.Allocation(i)
		switch {
		case ok && slices.Contains(t.lost, id):
		case !ok: // a release, or a claim that was refused
			if err := t.attempt.Txn.Err(i); forbidden == nil && errors.Is(err, omega.ErrForbidden) {
				forbidden = err
			}
		case i < t.missing:
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
// acknowledged, when the worker has stopped. A worker whose claim is in doubt was not the
// team's yet, and does not join it. Cost: O(workers).
func (t *Team) Drop(id omega.AllocationID) bool {
	if t == nil {
		return false
	}
	if t.attempt.Doubt() > 0 {
		t.lost = append(t.lost, id)
	}
	return drop(&t.base, &t.keptBase, id) || drop(&t.extra, &t.keptExtra, id)
}

// drop removes id from the list, of which a transaction in doubt keeps the first kept.
func drop(list *[]omega.AllocationID, kept *int, id omega.AllocationID) bool {
	i := slices.Index(*list, id)
	if i < 0 {
		return false
	}
	*list = slices.Delete(*list, i, i+1)
	if i < *kept {
		*kept--
	}
	return true
}

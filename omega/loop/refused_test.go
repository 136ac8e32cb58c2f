package loop_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

// remote is a store that does not tell the limits of its scheduler.
type remote struct {
	local omega.Local
	fail  error // of each commit
}

func (r remote) Refresh(ctx context.Context, now time.Time, visit func(omega.MachineState)) (*omega.Snapshot, error) {
	return r.local.Refresh(ctx, now, visit)
}

func (r remote) Commit(ctx context.Context, tx *omega.Txn) (int, error) {
	if r.fail != nil {
		return 0, r.fail
	}
	return r.local.Commit(ctx, tx)
}

// A refusal that no later attempt changes ends the job at once; others are retried.
func TestStep_EndsAJobThatIsRefusedForGood(t *testing.T) {
	at := func(j loop.Job[string], p omega.Precedence) loop.Job[string] { j.Precedence = p; return j }
	gang := func(j loop.Job[string]) loop.Job[string] { j.Gang = true; return j }
	none := omega.Mask{0}
	tests := map[string]struct {
		job    loop.Job[string]
		limits omega.Limits
		fail   error
		err    error // of the end; nil where the job is tried again
	}{
		"precedence above":         {job: at(job("j", 1, 1), 4), err: omega.ErrForbidden},
		"precedence below":         {job: at(job("j", 2, 1), -3), err: omega.ErrForbidden},
		"precedence of a gang":     {job: gang(at(job("j", 2, 1), 4)), err: omega.ErrForbidden},
		"need above the limit":     {job: job("j", 1, 9), limits: omega.Limits{Held: &resources.Vector{8}}, err: omega.ErrLimit},
		"gang above the limit":     {job: gang(job("j", 3, 3)), limits: omega.Limits{Held: &resources.Vector{8}}, err: omega.ErrLimit},
		"gang of too many":         {job: gang(job("j", 3, 1)), limits: omega.Limits{Gang: 2}, err: omega.ErrLimit},
		"store forbids it":         {job: job("j", 1, 1), fail: fmt.Errorf("remote: %w", omega.ErrForbidden), err: omega.ErrForbidden},
		"limit is used up":         {job: job("j", 9, 1), limits: omega.Limits{Held: &resources.Vector{8}}},
		"no machine is permitted":  {job: job("j", 1, 1), limits: omega.Limits{Machines: none}},
		"precedences are in range": {job: at(job("j", 1, 1), 3)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cell := newCell(t, 32, 32)
			test.limits.Lowest, test.limits.Highest = -2, 3
			s, err := cell.Register("s", test.limits)
			require.NoError(t, err)
			r := newRig(t, cell, loop.Config[string]{Store: remote{omega.Local{Scheduler: s}, test.fail}})
			r.submit(t, epoch, test.job)
			r.settle(t, epoch)
			last := r.events[len(r.events)-1]
			if test.err == nil {
				require.NotEqual(t, loop.Abandoned, last.Kind, "%v", last.Err)
				return
			}
			require.Equal(t, loop.Abandoned, last.Kind, "%v", r.log())
			require.ErrorIs(t, last.Err, test.err)
			require.Equal(t, epoch, last.At, "not after back-offs")
			require.Equal(t, 1, last.Pending.Attempts())
		})
	}
}

// Tasks that were granted before stay with the job, as at every other end.
func TestStep_KeepsWhatWasGrantedBesideARefusalForGood(t *testing.T) {
	cell := newCell(t, 8)
	s, err := cell.Register("s", omega.Limits{Highest: 1})
	require.NoError(t, err)
	place := func(s *loop.Search[string]) {
		id, _ := cell.Machine("m0")
		for i := range s.Tasks {
			s.Txn.Claim(omega.Claim{Machine: id, Need: s.Job.Need, Precedence: omega.Precedence(i)})
		}
	}
	r := newRig(t, cell, loop.Config[string]{Store: remote{local: omega.Local{Scheduler: s}}, Place: place})
	r.submit(t, epoch, job("j", 3, 1))
	r.settle(t, epoch)
	last := r.events[len(r.events)-1]
	require.Equal(t, loop.Abandoned, last.Kind)
	require.ErrorIs(t, last.Err, omega.ErrForbidden)
	require.ErrorContains(t, last.Err, "precedence 2")
	require.Len(t, r.held["j"], 2)
}

// Masks change and admitted jobs end, so refusals for these are tried again.
func TestStep_RetriesWhatMayBePermittedLater(t *testing.T) {
	for name, test := range map[string]struct {
		limits omega.Limits
		permit func(s *omega.Scheduler)
		err    error
	}{
		"machine": {
			omega.Limits{Machines: omega.Mask{0}}, func(s *omega.Scheduler) { require.NoError(t, s.Restrict(t.Context(), nil)) }, omega.ErrForbidden,
		},
		"jobs": {
			omega.Limits{Jobs: 1}, func(s *omega.Scheduler) { _ = s.BeginJob() }, omega.ErrLimit,
		},
	} {
		t.Run(name, func(t *testing.T) {
			cell := newCell(t, 8)
			s, err := cell.Register("s", test.limits)
			require.NoError(t, err)
			place := func(s *loop.Search[string]) {
				id, _ := cell.Machine("m0")
				s.Txn.Claim(omega.Claim{Machine: id, Need: s.Job.Need})
			}
			r := newRig(t, cell, loop.Config[string]{Store: remote{local: omega.Local{Scheduler: s}}, Place: place})
			r.submit(t, epoch, job("j", 1, 1))
			r.settle(t, epoch)
			last := r.events[len(r.events)-1]
			require.Equal(t, loop.BackedOff, last.Kind)
			require.ErrorIs(t, last.Err, test.err)
			test.permit(s)
			r.settle(t, last.Until)
			require.Equal(t, loop.Complete, r.events[len(r.events)-1].Kind)
		})
	}
}

// doubtful does not know the outcome of the first commit.
type doubtful struct {
	remote
	asked *int
}

func (d doubtful) Commit(ctx context.Context, tx *omega.Txn) (int, error) {
	if *d.asked++; *d.asked == 1 {
		return 0, fmt.Errorf("remote: %w", omega.ErrOutcome)
	}
	return d.remote.Commit(ctx, tx)
}

func TestStep_CancelsAJobThatIsRefusedForGoodAfterwards(t *testing.T) {
	cell := newCell(t, 8)
	s, err := cell.Register("s", omega.Limits{})
	require.NoError(t, err)
	r := newRig(t, cell, loop.Config[string]{Store: doubtful{remote{local: omega.Local{Scheduler: s}}, new(int)}})
	j := job("j", 1, 1)
	j.Precedence = 5
	p := r.submit(t, epoch, j)
	next := r.settle(t, epoch)
	require.Equal(t, loop.InDoubt, r.events[len(r.events)-1].Kind)
	r.Cancel(p)
	r.settle(t, next)
	require.Equal(t, loop.Cancelled, r.events[len(r.events)-1].Kind)
}

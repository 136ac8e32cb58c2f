package omega_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/niltest"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// attemptCell returns a cell of so many machines with 4 CPU each, and two schedulers.
func attemptCell(tb testing.TB, machines int, limits omega.Limits) (ids []omega.MachineID, s, other *omega.Scheduler) {
	tb.Helper()
	cell, err := omega.NewCell(omega.Config{})
	require.NoError(tb, err)
	for i := range machines {
		id, err := cell.Add(omega.Machine{Name: fmt.Sprint("m", i), Capacity: resources.Vector{4}})
		require.NoError(tb, err)
		ids = append(ids, id)
	}
	s, err = cell.Register("s", limits)
	require.NoError(tb, err)
	other, err = cell.Register("other", omega.Limits{})
	require.NoError(tb, err)
	return ids, s, other
}

func claimed(tb testing.TB, s *omega.Scheduler, m omega.MachineID, amount int64) {
	tb.Helper()
	a := omega.Attempt{Store: omega.Local{Scheduler: s}}
	a.Txn.Claim(omega.Claim{Machine: m, Need: resources.Vector{amount}})
	granted, err := a.Commit(tb.Context(), time.Time{})
	require.NoError(tb, err)
	require.Equal(tb, 1, granted)
}

// An attempt tells grants from refusals, and refusals of an old snapshot from final ones.
// It tells the claim for which a gang was refused from the gang's other claims.
func TestAttempt_ReadsItsOutcome(t *testing.T) {
	tests := map[string]struct {
		limits   omega.Limits
		gang     bool
		need     int64
		highest  omega.Precedence
		granted  int
		refused  int
		conflict bool
		final    bool
		why      error
	}{
		"all":                    {need: 1, granted: 2},
		"a conflict":             {need: 3, granted: 1, refused: 1, conflict: true, why: omega.ErrConflict},
		"a conflict of a gang":   {need: 3, gang: true, refused: 2, conflict: true, why: omega.ErrConflict},
		"a precedence":           {need: 1, highest: 1, refused: 2, final: true, why: omega.ErrForbidden},
		"a machine":              {need: 1, limits: omega.Limits{Machines: omega.Mask{1}}, granted: 1, refused: 1, why: omega.ErrForbidden},
		"a limit for now":        {need: 2, limits: omega.Limits{Held: &resources.Vector{3}}, granted: 1, refused: 1, why: omega.ErrLimit},
		"a limit for good":       {need: 4, limits: omega.Limits{Held: &resources.Vector{3}}, refused: 2, final: true, why: omega.ErrLimit},
		"a limit, for that gang": {need: 2, gang: true, limits: omega.Limits{Held: &resources.Vector{3}}, refused: 2, final: true, why: omega.ErrLimit},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ids, s, other := attemptCell(t, 2, tt.limits)
			a := omega.Attempt{Store: omega.Local{Scheduler: s}}
			_, err := a.Begin(t.Context(), time.Time{})
			require.NoError(t, err)
			claimed(t, other, ids[1], 2)
			a.Txn.Gang = tt.gang
			for _, id := range ids {
				a.Txn.Claim(omega.Claim{Machine: id, Need: resources.Vector{tt.need}, Precedence: tt.highest})
			}
			granted, err := a.Commit(t.Context(), time.Time{})
			require.NoError(t, err)
			o := a.Outcome()
			require.Equal(t, tt.granted, granted)
			require.Len(t, o.Granted, tt.granted)
			require.Equal(t, tt.refused, o.Refused)
			require.Equal(t, tt.conflict, o.Conflict)
			require.Equal(t, tt.final, o.Final != nil)
			if tt.why == nil {
				require.NoError(t, o.Why)
			} else {
				require.ErrorIs(t, o.Why, tt.why)
			}
		})
	}
}

// doubtful is a store that loses the answer to its first commits, applied or not.
type doubtful struct {
	omega.Local

	lost    int
	applied bool
	calls   []time.Time
}

var errLine = errors.New("line is down")

func (d *doubtful) Commit(ctx context.Context, tx *omega.Txn) (granted int, err error) {
	d.calls = append(d.calls, tx.Now)
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if d.lost > 0 {
		d.lost--
		return 0, fmt.Errorf("%w: %w", omega.ErrOutcome, errLine)
	}
	if !d.applied {
		return 0, errLine
	}
	return d.Local.Commit(ctx, tx)
}

// An attempt in doubt is asked about again, for the time of its first commit, and no
// other begins before there is an answer.
func TestAttempt_AsksAgainWhileItIsInDoubt(t *testing.T) {
	for _, applied := range []bool{true, false} {
		t.Run(fmt.Sprint("applied=", applied), func(t *testing.T) {
			ids, s, _ := attemptCell(t, 1, omega.Limits{})
			store := &doubtful{Local: omega.Local{Scheduler: s}, lost: 2, applied: applied}
			a := omega.Attempt{Store: store}
			now := time.Unix(100, 0)
			a.Txn.Claim(omega.Claim{Machine: ids[0], Need: resources.Vector{1}})
			for i := range 2 {
				_, err := a.Commit(t.Context(), now.Add(time.Duration(i)*time.Second))
				require.ErrorIs(t, err, omega.ErrOutcome)
				require.Equal(t, i+1, a.Doubt())
				_, err = a.Begin(t.Context(), now)
				require.ErrorIs(t, err, omega.ErrOutcome)
				require.Equal(t, 1, a.Txn.Len())
			}
			done, cancel := context.WithCancelCause(t.Context())
			cancel(errLine)
			_, err := a.Commit(done, now)
			require.ErrorIs(t, err, errLine)
			require.Equal(t, 2, a.Doubt(), "it was not asked")
			granted, err := a.Commit(t.Context(), now.Add(time.Minute))
			require.Zero(t, a.Doubt())
			if applied {
				require.NoError(t, err)
				require.Equal(t, 1, granted)
			} else {
				require.ErrorIs(t, err, errLine)
			}
			require.Equal(t, []time.Time{now, now, now, now}, store.calls)
			_, err = a.Begin(t.Context(), now)
			require.NoError(t, err)
			require.Zero(t, a.Txn.Len())
		})
	}
}

// A commit of nothing changes nothing and asks no store; releases are no refused claims.
func TestAttempt_OfNothingAndOfReleases(t *testing.T) {
	ids, s, _ := attemptCell(t, 1, omega.Limits{})
	store := &doubtful{Local: omega.Local{Scheduler: s}, applied: true}
	a := omega.Attempt{Store: store}
	granted, err := a.Commit(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Zero(t, granted)
	require.Empty(t, store.calls)

	a.Txn.Claim(omega.Claim{Machine: ids[0], Need: resources.Vector{4}})
	_, err = a.Commit(t.Context(), time.Time{})
	require.NoError(t, err)
	held := a.Outcome().Granted
	_, err = a.Begin(t.Context(), time.Time{})
	require.NoError(t, err)
	a.Txn.Release(held[0])
	a.Txn.Release(held[0])
	a.Txn.Claim(omega.Claim{Machine: ids[0], Need: resources.Vector{3}})
	_, _ = a.Commit(t.Context(), time.Time{})
	o := a.Outcome()
	require.Zero(t, o.Refused)
	require.NoError(t, o.Why)
}

// A store in the same process is not asked with a context that is done.
func TestLocal_RefreshFailsWithItsContext(t *testing.T) {
	_, s, _ := attemptCell(t, 1, omega.Limits{})
	store := omega.Local{Scheduler: s}
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := store.Refresh(ctx, time.Time{}, nil)
	require.NoError(t, err)
	cancel(errLine)
	_, err = store.Refresh(ctx, time.Time{}, nil)
	require.ErrorIs(t, err, errLine)
}

func TestNil_AttemptsAndStores(t *testing.T) {
	niltest.Methods(t, (*omega.Attempt)(nil), resources.ErrNil, nil)
	niltest.Methods(t, new(omega.Attempt), resources.ErrNil, nil)
	_, err := omega.Local{}.Refresh(t.Context(), time.Time{}, nil)
	require.EqualError(t, err, "omega: scheduler: argument is nil")
	_, err = omega.Local{}.Commit(t.Context(), new(omega.Txn))
	require.ErrorIs(t, err, resources.ErrNil)
}

// Another scheduler takes the machine between the snapshot and the commit. The next
// attempt finds another one.
func ExampleAttempt() {
	cell, _ := omega.NewCell(omega.Config{Machines: []omega.Machine{
		{Name: "node-0", Capacity: resources.Vector{4}}, {Name: "node-1", Capacity: resources.Vector{4}},
	}})
	batch, _ := cell.Register("batch", omega.Limits{})
	service, _ := cell.Register("service", omega.Limits{})
	attempt := omega.Attempt{Store: omega.Local{Scheduler: batch}}
	rival := omega.Attempt{Store: omega.Local{Scheduler: service}}
	ctx, need := context.Background(), resources.Vector{3}
	for try := range 2 {
		snap, err := attempt.Begin(ctx, time.Time{})
		if err != nil {
			panic(err)
		}
		m, _ := snap.Find(omega.Query{Need: need}, omega.BestFit())
		attempt.Txn.Claim(omega.Claim{Machine: m, Need: need})
		if try == 0 {
			rival.Txn.Claim(omega.Claim{Machine: m, Need: need})
			_, _ = rival.Commit(ctx, time.Time{})
		}
		_, _ = attempt.Commit(ctx, time.Time{})
		o := attempt.Outcome()
		fmt.Println(len(o.Granted), "granted, conflict:", o.Conflict)
	}
	// Output:
	// 0 granted, conflict: true
	// 1 granted, conflict: false
}

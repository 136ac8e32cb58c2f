package omega_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// paused is a journal that applies operations at once, or keeps them until they are let go. It
// has a copy of the cell, to which it applies their bytes.
type paused struct {
	t     *testing.T
	copy  *omega.Cell
	hold  bool
	queue []*omega.Operation
}

func (j *paused) Append(op *omega.Operation) {
	if j.queue = append(j.queue, op); !j.hold {
		j.letGo()
	}
}

func (j *paused) letGo() {
	for _, op := range j.queue {
		want, err := j.copy.Apply(bytes.Clone(op.Bytes()))
		require.NoError(j.t, err)
		require.Equal(j.t, want, op.Apply())
	}
	j.queue = nil
}

// newPaused returns a cell of two machines of nine with such a journal.
func newPaused(t *testing.T) (*omega.Cell, *paused) {
	t.Helper()
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{
		{Name: "a", Capacity: resources.Vector{9}}, {Name: "b", Capacity: resources.Vector{9}},
	}})
	require.NoError(t, err)
	j := &paused{t: t}
	require.NoError(t, cell.SetJournal(j))
	j.copy = copyOf(t, saved(t, cell))
	return cell, j
}

// A transaction in doubt is applied as it was at the first call, as in every copy of the
// cell. The caller may have changed its settings since, and the slices that its items name.
func TestCommitContext_IsAppliedAsItWasSent(t *testing.T) {
	ended, end := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	end(gone)
	now := time.Unix(1e9, 0)
	for name, build := range map[string]func(tx *omega.Txn, s *omega.Scheduler, a, b omega.MachineID, ids []omega.AllocationID) (change func()){
		"settings": func(tx *omega.Txn, _ *omega.Scheduler, a, b omega.MachineID, _ []omega.AllocationID) func() {
			tx.Claim(claim(a, 1))
			tx.Claim(claim(b, 99))
			return func() { tx.Gang, tx.Now, tx.Grace, tx.Detect = true, now.Add(time.Hour), time.Hour, omega.Coarse }
		},
		"victims": func(tx *omega.Txn, _ *omega.Scheduler, a, _ omega.MachineID, ids []omega.AllocationID) func() {
			victims := slices.Clone(ids[:1])
			tx.Claim(omega.Claim{Machine: a, Need: resources.Vector{6}, Precedence: 3, Victims: victims})
			return func() { victims[0] = ids[1] }
		},
		"exchanged": func(tx *omega.Txn, _ *omega.Scheduler, a, _ omega.MachineID, ids []omega.AllocationID) func() {
			from := slices.Clone(ids[:1])
			tx.Exchange(from, claim(a, 1), claim(a, 2))
			return func() { from[0] = ids[1] }
		},
		"reserved": func(tx *omega.Txn, _ *omega.Scheduler, a, b omega.MachineID, _ []omega.AllocationID) func() {
			claims := []omega.Claim{claim(a, 7)}
			tx.Reserve(now.Add(time.Minute), claims...)
			return func() { claims[0] = claim(b, 9) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			cell, j := newPaused(t)
			s, err := cell.Take(t.Context(), "s", omega.Limits{Highest: 5})
			require.NoError(t, err)
			a, _ := cell.Machine("a")
			b, _ := cell.Machine("b")
			var ids []omega.AllocationID
			for range 2 {
				var tx omega.Txn
				commit(t, s, &tx, claim(a, 3))
				id, _ := tx.Allocation(0)
				ids = append(ids, id)
			}
			tx := omega.Txn{Now: now, Grace: time.Second}
			change := build(&tx, s, a, b, ids)
			j.hold = true
			_, err = s.CommitContext(ended, &tx)
			require.ErrorIs(t, err, omega.ErrOutcome)
			change()
			j.letGo()
			_, err = s.CommitContext(t.Context(), &tx)
			require.NoError(t, err)
			for i := range tx.Len() {
				require.NotErrorIs(t, tx.Err(i), omega.ErrUncommitted)
			}
			require.Equal(t, saved(t, j.copy), saved(t, cell))
			require.NoError(t, cell.Check())
		})
	}
}

// A mask whose restriction is in doubt is the scheduler's as it was sent.
func TestRestrict_IsAppliedAsItWasSent(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	cell, j := newPaused(t)
	s, err := cell.Take(t.Context(), "s", omega.Limits{})
	require.NoError(t, err)
	j.hold = true
	mask := omega.Mask{1}
	require.ErrorIs(t, s.Restrict(ended, mask), omega.ErrOutcome)
	mask[0] = 2
	j.letGo()
	mask[0] = 3
	require.Equal(t, saved(t, j.copy), saved(t, cell))
}

// An operation that has failed in doubt, and is in the order after all, is applied by its
// bytes. The snapshot of its scheduler stays its caller's, which reads it meanwhile.
func TestApply_TakesAnOperationThatHasFailedInDoubt(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	cell, j := newPaused(t)
	s, err := cell.Take(t.Context(), "s", omega.Limits{})
	require.NoError(t, err)
	a, _ := cell.Machine("a")
	s.Snapshot().Refresh(time.Time{})
	j.hold = true
	var tx omega.Txn
	tx.Claim(claim(a, 4))
	_, err = s.CommitContext(ended, &tx)
	require.ErrorIs(t, err, omega.ErrOutcome)
	op := bytes.Clone(j.queue[0].Bytes())
	j.queue[0].Fail(omega.ErrOutcome)
	applied := make(chan struct{})
	go func() {
		defer close(applied)
		_, _ = cell.Apply(op)
	}()
	free, _ := s.Snapshot().Free(a)
	require.Equal(t, resources.Vector{9}, free)
	<-applied
	free, _ = s.Snapshot().Free(a)
	require.Equal(t, resources.Vector{9}, free, "before a refresh")
	s.Snapshot().Refresh(time.Time{})
	free, _ = s.Snapshot().Free(a)
	require.Equal(t, resources.Vector{5}, free)
	_, err = s.CommitContext(t.Context(), &tx)
	require.ErrorIs(t, err, omega.ErrOutcome)
	_, err = j.copy.Apply(op)
	require.NoError(t, err)
	require.Equal(t, saved(t, j.copy), saved(t, cell))
}

// A snapshot may be refreshed while a commit is in doubt, before and after the commit is
// applied, and other schedulers may commit meanwhile. Once the outcome is known, and after
// a refresh, it is as the cell is. The commits around it use versions again.
func TestRefresh_WhileACommitIsInDoubt(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	for _, gang := range []bool{false, true} {
		for when := range 16 { // bits: refresh before, refresh after, another commit, refresh after that
			cell, j := newPaused(t)
			s, err := cell.Take(t.Context(), "s", omega.Limits{})
			require.NoError(t, err)
			other, err := cell.Take(t.Context(), "other", omega.Limits{})
			require.NoError(t, err)
			a, _ := cell.Machine("a")
			b, _ := cell.Machine("b")
			snap := s.Snapshot()
			asTheCell := func() {
				t.Helper()
				snap.Refresh(time.Time{})
				for m := range cell.Machines() {
					free, ok := snap.Free(m.ID)
					require.True(t, ok)
					require.Equal(t, m.Free, free)
				}
			}
			for range 20 {
				for range 3 { // s has versions to use again
					var tx, back omega.Txn
					commit(t, s, &tx, claim(a, 1))
					id, _ := tx.Allocation(0)
					back.Release(id)
					_, err = s.Commit(&back)
					require.NoError(t, err)
				}
				tx := omega.Txn{Gang: gang}
				tx.Claim(claim(a, 2))
				tx.Claim(claim(b, 1))
				j.hold = true
				_, err = s.CommitContext(ended, &tx)
				require.ErrorIs(t, err, omega.ErrOutcome)
				if when&1 != 0 {
					snap.Refresh(time.Time{})
				}
				j.hold = false
				j.letGo()
				if when&2 != 0 {
					asTheCell()
				}
				var foreign, back omega.Txn
				if when&4 != 0 {
					commit(t, other, &foreign, claim(a, 1))
				}
				if when&8 != 0 {
					snap.Refresh(time.Time{}) // copies none yet
				}
				granted, err := s.CommitContext(ended, &tx)
				require.NoError(t, err)
				require.Equal(t, 2, granted)
				asTheCell()
				for i := range 2 {
					id, _ := tx.Allocation(i)
					back.Release(id)
				}
				_, err = s.Commit(&back)
				require.NoError(t, err)
				asTheCell()
				if when&4 != 0 {
					id, _ := foreign.Allocation(0)
					require.NoError(t, other.Release(id))
					asTheCell()
				}
			}
			require.Equal(t, saved(t, j.copy), saved(t, cell))
			require.NoError(t, cell.Check())
		}
	}
}

// A call of Account that ends with its context leaves one operation in the journal. Later calls
// for the name wait for that, and send another one only where it has failed.
func TestAccount_SendsANameOnceWhileTheJournalIsSlow(t *testing.T) {
	cell, j := newPaused(t)
	j.hold = true
	ended, end := context.WithCancel(t.Context())
	end()
	for range 3 {
		for _, name := range []string{"a", "b"} {
			_, err := cell.Account(ended, name)
			require.ErrorIs(t, err, omega.ErrOutcome)
		}
	}
	require.Len(t, j.queue, 2)
	full := errors.New("disk is full")
	j.queue[1].Fail(full)
	j.queue = j.queue[:1]
	_, err := cell.Account(t.Context(), "b")
	require.ErrorIs(t, err, full)
	j.hold = false
	j.letGo()
	for i, name := range []string{"a", "b"} {
		a, err := cell.Account(t.Context(), name)
		require.NoError(t, err)
		require.EqualValues(t, i+1, a)
	}
	require.Equal(t, saved(t, j.copy), saved(t, cell))
}

package omega_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// The successor has all that the scheduler had, and all that it may do.
func TestReplace_TheSuccessorHasWhatTheDeadHad(t *testing.T) {
	cell, ids := newCell(t, 3, resources.Vector{10})
	first, err := cell.Register("s", omega.Limits{
		Held: &resources.Vector{6}, Jobs: 1, Gang: 2, Highest: 4,
		Machines: omega.NewMask(slices.Values([]locality.Node{0, 1})),
	})
	require.NoError(t, err)
	high := ranked(t, cell, "high")
	require.NoError(t, first.BeginJob())
	kept := held(t, first, ids[0], 2, resources.Vector{5})[0]
	gone := held(t, first, ids[1], 0, resources.Vector{1})[0]
	require.NoError(t, displace(high, ids[1], gone))
	offer := offers(t, high, first, ids[0], 1)

	second, err := cell.Replace("s")
	require.NoError(t, err)
	require.Equal(t, "s", second.Name())
	require.EqualValues(t, 0, first.Epoch())
	require.EqualValues(t, 1, second.Epoch())
	var own []omega.AllocationID
	for a := range second.Allocations() {
		own = append(own, a.ID)
	}
	require.Equal(t, []omega.AllocationID{kept}, own)
	require.Equal(t, resources.Vector{5}, second.Usage())
	marks := slices.Collect(second.Marked())
	require.Len(t, marks, 1)
	require.Equal(t, gone, marks[0].Allocation.ID)

	// Limits, and what counts towards them.
	require.ErrorIs(t, second.BeginJob(), omega.ErrLimit)
	for name, tt := range map[string]struct {
		claim omega.Claim
		err   error
	}{
		"holds too much":  {claim(ids[0], 2), omega.ErrLimit},
		"beyond its mask": {claim(ids[2], 1), omega.ErrForbidden},
		"too high":        {omega.Claim{Machine: ids[0], Need: resources.Vector{1}, Precedence: 5}, omega.ErrForbidden},
	} {
		var tx omega.Txn
		require.Zero(t, commit(t, second, &tx, tt.claim), name)
		require.ErrorIs(t, tx.Err(0), tt.err, name)
	}
	wide := omega.Txn{Gang: true}
	for range 3 {
		wide.Claim(claim(ids[0], 1))
	}
	_, err = second.Commit(&wide)
	require.ErrorIs(t, err, omega.ErrLimit)

	// What the dead was offered is offered to it, and what it had it gives back.
	var tx omega.Txn
	tx.Exchange(offer, claim(ids[0], 1))
	granted, err := second.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 1, granted, "%v", tx.Err(0))
	require.NoError(t, second.Release(gone))
	require.NoError(t, second.Release(kept))
	require.Equal(t, resources.Vector{1}, second.Usage())
	require.NoError(t, second.EndJob())
	require.NoError(t, cell.Check())
}

// A replaced scheduler can do nothing any more, and changes nothing by trying.
func TestReplace_TheOldEpochCommitsNothing(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{10})
	old := register(t, cell, "s")
	a := held(t, old, ids[0], 0, resources.Vector{4})[0]
	successors := []*omega.Scheduler{old}
	for range 2 {
		s, err := cell.Replace("s")
		require.NoError(t, err)
		successors = append(successors, s)
	}
	before, _ := cell.State(ids[0])
	for epoch, s := range successors[:2] {
		for _, gang := range []bool{false, true} {
			tx := omega.Txn{Gang: gang}
			tx.Claim(claim(ids[0], 1))
			tx.Release(a)
			tx.Resize(a, resources.Vector{1})
			granted, err := s.Commit(&tx)
			require.Zero(t, granted)
			require.ErrorIs(t, err, omega.ErrSuperseded)
			require.ErrorContains(t, err, `"s", epoch `+string(rune('0'+epoch)))
			require.ErrorIs(t, tx.Err(0), omega.ErrUncommitted)
		}
		require.ErrorIs(t, s.Release(a), omega.ErrSuperseded)
	}
	after, _ := cell.State(ids[0])
	require.Equal(t, before, after)
	require.Equal(t, resources.Vector{4}, successors[2].Usage(), "nothing was charged")
	require.NoError(t, successors[2].Release(a), "nor was the right to release it taken")
	require.NoError(t, cell.Check())
}

// A scheduler that was replaced or has left begins and ends no job and moves no mask.
// Nor do its deputies. The error says so, whether or not the limit is reached.
func TestReplace_TheOldEpochBeginsAndEndsNoJob(t *testing.T) {
	for _, begun := range []int{0, 1, 2} {
		cell, ids := newCell(t, 2, resources.Vector{10})
		limits := omega.Limits{Jobs: 2}
		chief, err := cell.Register("chief", limits)
		require.NoError(t, err)
		deputy, err := chief.Deputy("deputy", limits)
		require.NoError(t, err)
		leaver, err := cell.Register("leaver", limits)
		require.NoError(t, err)
		for range begun {
			require.NoError(t, chief.BeginJob())
			require.NoError(t, deputy.BeginJob())
			require.NoError(t, leaver.BeginJob())
		}
		next, err := cell.Replace("chief")
		require.NoError(t, err)
		require.NoError(t, leaver.Leave())

		for s, want := range map[*omega.Scheduler]error{chief: omega.ErrSuperseded, deputy: omega.ErrSuperseded, leaver: omega.ErrLeft} {
			for _, err := range []error{s.BeginJob(), s.EndJob()} {
				require.ErrorIs(t, err, want, "%s of %d", s.Name(), begun)
				require.NotErrorIs(t, err, omega.ErrLimit)
				require.NotErrorIs(t, err, omega.ErrUnknown)
			}
			require.ErrorIs(t, s.Restrict(t.Context(), omega.NewMask(slices.Values([]locality.Node{1}))), want)
		}
		nextDeputy, err := next.Deputy("deputy", limits)
		require.NoError(t, err)
		for _, s := range []*omega.Scheduler{next, nextDeputy} {
			require.Nil(t, s.Limits().Machines)
			for range 2 - begun {
				require.NoError(t, s.BeginJob(), "%d were begun", begun)
			}
			require.ErrorIs(t, s.BeginJob(), omega.ErrLimit)
			require.Equal(t, 1, commit(t, s, &omega.Txn{}, claim(ids[0], 1)))
			for range 2 {
				require.NoError(t, s.EndJob())
			}
			require.ErrorIs(t, s.EndJob(), omega.ErrUnknown)
		}
	}
}

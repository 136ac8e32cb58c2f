package omega_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// commit sends claims as one transaction that must be well formed.
func commit(tb testing.TB, s *omega.Scheduler, tx *omega.Txn, claims ...omega.Claim) (granted int) {
	tb.Helper()
	for _, c := range claims {
		tx.Claim(c)
	}
	granted, err := s.Commit(tx)
	require.NoError(tb, err)
	return granted
}

func claim(m omega.MachineID, need ...int64) omega.Claim {
	c := omega.Claim{Machine: m}
	copy(c.Need[:], need)
	return c
}

func free(tb testing.TB, cell *omega.Cell, m omega.MachineID) int64 {
	tb.Helper()
	state, ok := cell.State(m)
	require.True(tb, ok)
	return state.Free[0]
}

func TestCommit_IncrementalGrantsWhatFits(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{4})
	s := register(t, cell, "s")
	var tx omega.Txn
	granted := commit(t, s, &tx, claim(ids[1], 3), claim(ids[0], 5), claim(ids[1], 2), claim(ids[1], 1))

	require.Equal(t, 2, granted)
	require.NoError(t, tx.Err(0))
	require.ErrorIs(t, tx.Err(1), omega.ErrConflict)
	require.ErrorIs(t, tx.Err(2), omega.ErrConflict)
	require.NoError(t, tx.Err(3), "a smaller claim on the same machine still fits")
	require.EqualValues(t, 4, free(t, cell, ids[0]))
	require.EqualValues(t, 0, free(t, cell, ids[1]))

	var refused *omega.RefusalError
	require.ErrorAs(t, tx.Err(2), &refused)
	require.Equal(t, resources.Vector{2}, refused.Need)
	require.Equal(t, resources.Vector{1}, refused.Free, "what was free when it was looked at")
}

func TestCommit_GangGrantsAllOrNothing(t *testing.T) {
	cell, ids := newCell(t, 3, resources.Vector{10})
	s := register(t, cell, "s")

	tx := omega.Txn{Gang: true}
	require.Zero(t, commit(t, s, &tx, claim(ids[2], 1), claim(ids[0], 11), claim(ids[1], 1)))
	require.ErrorIs(t, tx.Err(0), omega.ErrGang)
	require.ErrorIs(t, tx.Err(1), omega.ErrConflict)
	require.ErrorIs(t, tx.Err(2), omega.ErrGang)
	for _, m := range ids {
		require.EqualValues(t, 10, free(t, cell, m))
	}

	// A machine named several times has to hold the sum.
	tx.Reset()
	require.Zero(t, commit(t, s, &tx, claim(ids[0], 4), claim(ids[0], 4), claim(ids[0], 4)))
	require.EqualValues(t, 10, free(t, cell, ids[0]))
	tx.Reset()
	require.Equal(t, 3, commit(t, s, &tx, claim(ids[0], 4), claim(ids[0], 4), claim(ids[0], 2)))
	require.EqualValues(t, 0, free(t, cell, ids[0]))
}

func TestCommit_ReleasesApplyFirstAndAlways(t *testing.T) {
	for _, gang := range []bool{false, true} {
		cell, ids := newCell(t, 2, resources.Vector{4})
		s := register(t, cell, "s")
		var first omega.Txn
		require.Equal(t, 2, commit(t, s, &first, claim(ids[0], 4), claim(ids[1], 4)))
		a, _ := first.Allocation(0)
		b, _ := first.Allocation(1)

		// The room that the transaction gives back is room for its own claims.
		tx := omega.Txn{Gang: gang}
		tx.Release(a)
		require.Equal(t, 1, commit(t, s, &tx, claim(ids[0], 3)))
		require.EqualValues(t, 1, free(t, cell, ids[0]))

		// And it is given back even if no claim is granted.
		tx.Reset()
		tx.Release(b)
		require.Zero(t, commit(t, s, &tx, claim(ids[0], 3)))
		require.NoError(t, tx.Err(0))
		require.EqualValues(t, 4, free(t, cell, ids[1]))
		require.NoError(t, cell.Check())
	}
}

func TestCommit_CoarseConflictsOnAnyChange(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{10})
	s, other := register(t, cell, "s"), register(t, cell, "other")
	s.Snapshot().Refresh(time.Time{})
	require.Equal(t, 1, commit(t, other, &omega.Txn{}, claim(ids[0], 1)))

	tx := omega.Txn{Detect: omega.Coarse}
	require.Equal(t, 1, commit(t, s, &tx, claim(ids[0], 1), claim(ids[1], 1)), "the other machine has not moved")
	var refused *omega.RefusalError
	require.ErrorAs(t, tx.Err(0), &refused)
	require.ErrorIs(t, refused, omega.ErrConflict)
	require.True(t, refused.Changed)
	require.ErrorContains(t, refused, "changed since the snapshot")

	tx.Reset()
	require.Equal(t, 2, commit(t, s, &tx, claim(ids[0], 1), claim(ids[1], 1)), "the commit has brought the snapshot up to date")

	fine := omega.Txn{}
	require.Equal(t, 1, commit(t, other, &fine, claim(ids[0], 1)), "the default asks only whether it fits")
}

func TestCommit_CoarseHoldsForGangsAndNewMachines(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{10})
	s, other := register(t, cell, "s"), register(t, cell, "other")
	tx := omega.Txn{Detect: omega.Coarse}
	require.Zero(t, commit(t, s, &tx, claim(ids[0], 1)), "without a snapshot everything has changed")
	s.Snapshot()

	require.Equal(t, 1, commit(t, other, &omega.Txn{}, claim(ids[1], 1)))
	tx.Reset()
	tx.Gang = true
	require.Zero(t, commit(t, s, &tx, claim(ids[0], 1), claim(ids[1], 1)))
	require.ErrorIs(t, tx.Err(0), omega.ErrGang)
	require.ErrorIs(t, tx.Err(1), omega.ErrConflict)
	tx.Reset()
	require.Equal(t, 2, commit(t, s, &tx, claim(ids[0], 1), claim(ids[1], 1)), "the refusal has shown what is there")
	require.Zero(t, s.Snapshot().Refresh(time.Time{}), "and the gang what it made of it")

	// A number that serves another machine does not start its count anew.
	_, err := cell.Remove(ids[1])
	require.NoError(t, err)
	again, err := cell.Add(omega.Machine{Name: "again", Capacity: resources.Vector{10}})
	require.NoError(t, err)
	tx.Reset()
	require.Zero(t, commit(t, s, &tx, claim(again, 1)))
	s.Snapshot().Refresh(time.Time{})
	tx.Reset()
	require.Equal(t, 1, commit(t, s, &tx, claim(again, 1)))

	added, err := cell.Add(omega.Machine{Name: "new", Capacity: resources.Vector{10}})
	require.NoError(t, err)
	tx.Reset()
	require.Zero(t, commit(t, s, &tx, claim(added, 1)), "never seen")
	s.Snapshot().Refresh(time.Time{})
	_, err = cell.Remove(added)
	require.NoError(t, err)
	added, err = cell.Add(omega.Machine{Name: "new", Capacity: resources.Vector{10}})
	require.NoError(t, err)
	tx.Reset()
	require.Zero(t, commit(t, s, &tx, claim(added, 1)), "another machine in its place, as fresh as that was")
}

func TestCommit_RefusesByCondition(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{10})
	s := register(t, cell, "s")
	var tx omega.Txn
	require.Equal(t, 2, commit(t, s, &tx, claim(ids[0], 1), claim(ids[1], 1)))
	kept, _ := tx.Allocation(0)
	lost, _ := tx.Allocation(1)

	require.NoError(t, cell.Drain(ids[0]))
	gone, err := cell.Remove(ids[1])
	require.NoError(t, err)
	require.Equal(t, []omega.Allocation{{ID: lost, Machine: ids[1], Scheduler: "s", Need: resources.Vector{1}}}, gone)

	tx.Reset()
	require.Zero(t, commit(t, s, &tx, claim(ids[0], 1), claim(ids[1], 1)))
	require.ErrorIs(t, tx.Err(0), omega.ErrDraining)
	require.EqualError(t, tx.Err(0), `omega: claim on "node-0": machine is draining`)
	require.ErrorIs(t, tx.Err(1), omega.ErrRemoved)
	require.NoError(t, s.Release(kept), "a draining machine lets go")
	require.NoError(t, s.Release(lost), "which says that its owner knows")
	require.ErrorIs(t, s.Release(lost), omega.ErrReleased)
	require.ErrorIs(t, s.Release(kept), omega.ErrReleased)

	require.NoError(t, cell.Resume(ids[0]))
	require.Equal(t, 1, commit(t, s, &omega.Txn{}, claim(ids[0], 1)))

	// The number serves another machine; the old ID does not mean it.
	again, err := cell.Add(omega.Machine{Name: "again", Capacity: resources.Vector{5}})
	require.NoError(t, err)
	require.Equal(t, ids[1].Node(), again.Node())
	require.NotEqual(t, ids[1], again)
	require.Equal(t, "1.1", again.String())
	tx.Reset()
	require.Equal(t, 1, commit(t, s, &tx, claim(ids[1], 1), claim(again, 1)))
	require.ErrorIs(t, tx.Err(0), omega.ErrRemoved)
	require.EqualError(t, tx.Err(0), "omega: claim on machine 1: machine was removed", "not that which has its number now")
	require.ErrorIs(t, s.Release(lost), omega.ErrReleased)
	require.EqualError(t, s.Release(lost), "omega: release of allocation 1/0/2: allocation is unknown or already released")
	require.EqualValues(t, 4, free(t, cell, again))
	require.NoError(t, cell.Check())
}

// Bad input is refused as a whole, names the culprit, and changes nothing.
func TestCommit_RefusesBadInput(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{10})
	s := register(t, cell, "s")
	unknown := machineAt(cell, 7)
	text, err := ids[0].MarshalText()
	require.NoError(t, err)
	var future omega.MachineID
	require.NoError(t, future.UnmarshalText(append(text, ".1"...)), "a generation that node 0 has not had")
	tests := map[string]struct {
		claim omega.Claim
		err   error
		text  string
	}{
		"negative":         {claim(ids[1], 1, -5), resources.ErrQuantity, "kind1=-5"},
		"most negative":    {claim(ids[1], math.MinInt64), resources.ErrQuantity, "-9223372036854775808"},
		"overflowing":      {claim(ids[1], math.MaxInt64), resources.ErrQuantity, "9223372036854775807"},
		"unknown machine":  {claim(unknown, 1), omega.ErrUnknown, "machine 7"},
		"future machine":   {claim(future, 1), omega.ErrUnknown, "machine 0.1"},
		"unknown account":  {omega.Claim{Machine: ids[0], Account: 9}, omega.ErrUnknown, "account 9"},
		"first good claim": {claim(ids[0], resources.MaxQuantity+1), resources.ErrQuantity, "item 1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before, _ := cell.State(ids[0])
			tx := omega.Txn{}
			tx.Claim(claim(ids[0], 1)) // good, and not granted either
			tx.Claim(test.claim)
			granted, err := s.Commit(&tx)
			require.Zero(t, granted)
			require.ErrorIs(t, err, test.err)
			require.ErrorContains(t, err, test.text)
			require.ErrorIs(t, tx.Err(0), omega.ErrUncommitted)
			after, _ := cell.State(ids[0])
			require.Equal(t, before, after)
		})
	}
}

func TestCommit_RefusesEmptyAndUsedTransactions(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{10})
	s := register(t, cell, "s")
	var tx omega.Txn
	_, err := s.Commit(&tx)
	require.ErrorIs(t, err, omega.ErrEmpty)
	require.Equal(t, 1, commit(t, s, &tx, claim(ids[0], 1)))
	_, err = s.Commit(&tx)
	require.ErrorIs(t, err, omega.ErrCommitted)
	require.EqualValues(t, 9, free(t, cell, ids[0]))
	require.ErrorIs(t, tx.Err(1), omega.ErrUnknown)
	require.ErrorIs(t, tx.Err(-1), omega.ErrUnknown)
	_, ok := tx.Allocation(-1)
	require.False(t, ok)

	tx.Reset()
	require.Zero(t, tx.Len())
	require.Equal(t, 1, commit(t, s, &tx, claim(ids[0], 1)))
}

func TestRelease_RefusesWhatIsNotOwnOrNotLive(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{10})
	s, other := register(t, cell, "s"), register(t, cell, "other")
	var tx omega.Txn
	require.Equal(t, 1, commit(t, s, &tx, claim(ids[0], 4)))
	a, _ := tx.Allocation(0)

	require.ErrorIs(t, other.Release(a), omega.ErrNotOwner)
	require.EqualValues(t, 6, free(t, cell, ids[0]))
	twice := omega.Txn{}
	twice.Release(a)
	twice.Release(a)
	commit(t, s, &twice)
	require.NoError(t, twice.Err(0))
	require.ErrorIs(t, twice.Err(1), omega.ErrReleased, "twice in one transaction counts once")
	require.EqualValues(t, 10, free(t, cell, ids[0]))

	// The slot goes to another scheduler; the stale handle does not touch it.
	require.Equal(t, 1, commit(t, other, &omega.Txn{}, claim(ids[0], 3)))
	require.ErrorIs(t, s.Release(a), omega.ErrReleased)
	require.ErrorIs(t, s.Release(omega.AllocationID{}), omega.ErrReleased)
	require.EqualValues(t, 7, free(t, cell, ids[0]))
}

// An allocation of another cell is unknown, though all its numbers are right.
func TestRelease_RefusesWhatIsOfAnotherCell(t *testing.T) {
	var cells [2]*omega.Cell
	var schedulers [2]*omega.Scheduler
	var allocations [2]omega.AllocationID
	for i := range cells {
		cell, ids := newCell(t, 1, resources.Vector{10})
		cells[i], schedulers[i] = cell, register(t, cell, "s")
		var tx omega.Txn
		require.Equal(t, 1, commit(t, schedulers[i], &tx, claim(ids[0], 4)))
		allocations[i], _ = tx.Allocation(0)
	}
	require.Equal(t, allocations[0].String(), allocations[1].String())
	require.ErrorIs(t, schedulers[0].Release(allocations[1]), omega.ErrReleased)
	require.EqualValues(t, 6, free(t, cells[0], machineAt(cells[0], 0)))
	require.NoError(t, schedulers[0].Release(allocations[0]))
}

// To a transaction that was committed nothing is added.
func TestTxn_TakesNothingAfterTheCommit(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{10})
	s := register(t, cell, "s")
	var tx omega.Txn
	require.Equal(t, 1, commit(t, s, &tx, claim(ids[0], 1)))
	late := tx.Claim(claim(ids[0], 1))
	require.Equal(t, -1, late)
	require.ErrorIs(t, tx.Err(late), omega.ErrUnknown)
	_, ok := tx.Allocation(late)
	require.False(t, ok)
	require.Equal(t, 1, tx.Len())
}

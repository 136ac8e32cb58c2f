package omega_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

func limited(t *testing.T, cell *omega.Cell, limits omega.Limits) *omega.Scheduler {
	t.Helper()
	s, err := cell.Register(t.Name(), limits)
	require.NoError(t, err)
	return s
}

func TestLimits_HeldIsWhatIsAllocatedAtMost(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{100, 100})
	s := limited(t, cell, omega.Limits{Held: &resources.Vector{10, 100}})
	var tx omega.Txn
	require.Equal(t, 2, commit(t, s, &tx, claim(ids[0], 4), claim(ids[1], 6), claim(ids[0], 1)))
	require.ErrorIs(t, tx.Err(2), omega.ErrLimit)
	var item *omega.RefusalError
	require.ErrorAs(t, tx.Err(2), &item)
	require.Equal(t, resources.Vector{10, 100}, item.Limit)
	require.Equal(t, resources.Vector{10}, item.Held)
	require.ErrorContains(t, tx.Err(2), `claim on "node-0": need kind0=1, held kind0=10 of kind0=10`)
	first, _ := tx.Allocation(0)

	gang := omega.Txn{Gang: true}
	require.Zero(t, commit(t, s, &gang, claim(ids[1], 0, 1), claim(ids[0], 1)))
	require.ErrorIs(t, gang.Err(0), omega.ErrGang)
	require.ErrorIs(t, gang.Err(1), omega.ErrLimit)

	// Allocations that the same transaction releases do not count.
	var swap omega.Txn
	swap.Release(first)
	swap.Claim(claim(ids[1], 4))
	swap.Claim(claim(ids[1], 1))
	granted, err := s.Commit(&swap)
	require.NoError(t, err)
	require.Equal(t, 1, granted)
	second, _ := swap.Allocation(1)

	var resize omega.Txn
	larger := resize.Resize(second, resources.Vector{5})
	_, err = s.Commit(&resize)
	require.NoError(t, err)
	require.ErrorIs(t, resize.Err(larger), omega.ErrLimit)
	resize.Reset()
	smaller := resize.Resize(second, resources.Vector{3})
	_, err = s.Commit(&resize)
	require.NoError(t, err)
	require.NoError(t, resize.Err(smaller))
	require.Equal(t, resources.Vector{9}, s.Usage())
	require.Equal(t, 1, commit(t, s, &omega.Txn{}, claim(ids[0], 1)))
	require.Zero(t, commit(t, s, &omega.Txn{}, claim(ids[0], 1)))
	require.NoError(t, cell.Check())
}

func TestLimits_JobsGangsPrecedence(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{100})
	s := limited(t, cell, omega.Limits{Jobs: 1, Gang: 2, Lowest: -1, Highest: 3})
	var tx omega.Txn
	require.Zero(t, commit(t, s, &tx, claim(ids[0], 1)))
	require.ErrorIs(t, tx.Err(0), omega.ErrLimit, "no job is admitted")
	require.NoError(t, s.BeginJob())
	require.ErrorIs(t, s.BeginJob(), omega.ErrLimit)
	require.Equal(t, 1, commit(t, s, &omega.Txn{}, claim(ids[0], 1)))

	wide := omega.Txn{Gang: true}
	for range 3 {
		wide.Claim(claim(ids[0], 1))
	}
	_, err := s.Commit(&wide)
	require.ErrorIs(t, err, omega.ErrLimit)
	require.ErrorContains(t, err, "gang of 3 claims, limit of 2")
	require.EqualValues(t, 99, free(t, cell, ids[0]), "nothing has changed")
	wide.Gang = false
	granted, err := s.Commit(&wide)
	require.NoError(t, err, "and it can be sent again, mended")
	require.Equal(t, 3, granted)

	for p, ok := range map[omega.Precedence]bool{-2: false, -1: true, 3: true, 4: false} {
		var tx omega.Txn
		c := claim(ids[0], 1)
		c.Precedence = p
		require.Equal(t, ok, commit(t, s, &tx, c) == 1, "precedence %d", p)
		if !ok {
			require.ErrorIs(t, tx.Err(0), omega.ErrForbidden)
		}
	}
	require.NoError(t, s.EndJob())
	require.ErrorIs(t, s.EndJob(), omega.ErrUnknown)
	require.Zero(t, commit(t, s, &omega.Txn{}, claim(ids[0], 1)))
}

// A fixed mask is a partition; a moving one lets schedulers share the cell.
func TestLimits_MasksPartitionTheCell(t *testing.T) {
	cell, ids := newCell(t, 130, resources.Vector{1})
	upper := func(yield func(locality.Node) bool) {
		for n := range locality.Node(65) {
			if !yield(65 + n) {
				return
			}
		}
	}
	s := limited(t, cell, omega.Limits{Machines: omega.NewMask(upper)})
	var tx omega.Txn
	require.Equal(t, 2, commit(t, s, &tx, claim(ids[64], 1), claim(ids[65], 1), claim(ids[129], 1)))
	require.ErrorIs(t, tx.Err(0), omega.ErrForbidden)
	require.ErrorContains(t, tx.Err(0), `"node-64"`)
	added, err := cell.Add(omega.Machine{Name: "beyond the mask", Capacity: resources.Vector{1}})
	require.NoError(t, err)
	require.Zero(t, commit(t, s, &omega.Txn{}, claim(added, 1)))

	require.NoError(t, s.Restrict(t.Context(), omega.NewMask(slices.Values([]locality.Node{64, added.Node()}))))
	require.Equal(t, 2, commit(t, s, &omega.Txn{}, claim(ids[64], 1), claim(added, 1), claim(ids[66], 1)))
	kept, _ := tx.Allocation(1)
	require.NoError(t, s.Release(kept), "what it has it may give back")
	require.NoError(t, s.Restrict(t.Context(), omega.NewMask(slices.Values([]locality.Node{}))))
	require.Zero(t, commit(t, s, &omega.Txn{}, claim(ids[66], 1)), "an empty mask is not none")
	require.NoError(t, s.Restrict(t.Context(), nil))
	require.Equal(t, 1, commit(t, s, &omega.Txn{}, claim(ids[66], 1)))
}

func TestRegister_RefusesLimitsThatMakeNoSense(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{1})
	for text, limits := range map[string]omega.Limits{
		"jobs -1":               {Jobs: -1},
		"gang -2":               {Gang: -2},
		"precedence from 3 to":  {Lowest: 3, Highest: 2},
		"limit of what it may ": {Held: &resources.Vector{-1}},
	} {
		_, err := cell.Register("s", limits)
		require.ErrorContains(t, err, text)
	}
	_, err := cell.Register("s", omega.Limits{})
	require.NoError(t, err)
	_, err = cell.Replace("nobody")
	require.ErrorIs(t, err, omega.ErrUnknown)
}

// A preempted allocation is not held any more, and its release makes no room for more.
func TestLimits_HeldCountsThePreemptedOnce(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{100})
	s := limited(t, cell, omega.Limits{Held: &resources.Vector{10}})
	a := held(t, s, ids[0], 0, resources.Vector{10})[0]
	preempting := omega.Txn{Now: time.Unix(1, 0), Grace: omega.AtOnce}
	preempting.Claim(omega.Claim{Machine: ids[0], Need: resources.Vector{1}, Precedence: 1, Victims: []omega.AllocationID{a}})
	granted, err := ranked(t, cell, "high").Commit(&preempting)
	require.NoError(t, err)
	require.Equal(t, 1, granted)
	held(t, s, ids[0], 0, resources.Vector{10})
	var tx omega.Txn
	tx.Release(a)
	tx.Claim(claim(ids[0], 1))
	granted, err = s.Commit(&tx)
	require.NoError(t, err)
	require.Zero(t, granted)
	require.NoError(t, tx.Err(0))
	require.ErrorIs(t, tx.Err(1), omega.ErrLimit)
	require.Equal(t, resources.Vector{10}, s.Usage())
}

func TestScheduler_LeftIsWhatLimitsLeave(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{100, 100})
	free, err := cell.Register("free", omega.Limits{})
	require.NoError(t, err)
	left, ok := free.Left()
	require.True(t, ok)
	require.Equal(t, resources.MaxQuantity, left[7])

	s := limited(t, cell, omega.Limits{Held: &resources.Vector{10, 100}, Jobs: 1})
	_, ok = s.Left()
	require.False(t, ok, "outside any job")
	require.NoError(t, s.BeginJob())
	var tx omega.Txn
	require.Equal(t, 1, commit(t, s, &tx, claim(ids[0], 4, 30)))
	left, ok = s.Left()
	require.True(t, ok)
	require.Equal(t, resources.Vector{6, 70}, left)
	require.Equal(t, 1, commit(t, s, &omega.Txn{}, claim(ids[0], 6, 70)))
	left, _ = s.Left()
	require.Zero(t, left)
	id, _ := tx.Allocation(0)
	require.NoError(t, s.Release(id))
	left, _ = s.Left()
	require.Equal(t, resources.Vector{4, 30}, left)
}

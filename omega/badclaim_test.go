package omega_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// A need of nothing would be granted any number of times, so that is no need.
func TestCommit_RefusesANeedOfNothing(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{4})
	s := ranked(t, cell, "s")
	a := held(t, s, ids[0], 0, resources.Vector{2})[0]
	b := held(t, s, ids[0], 0, resources.Vector{1})[0]
	from := []omega.AllocationID{a, b}
	for name, tt := range map[string]struct {
		fill func(tx *omega.Txn)
		text string
	}{
		"claim":             {func(tx *omega.Txn) { tx.Claim(claim(ids[1])) }, "omega: item 1: claim on machine \"node-1\": invalid quantity: need is 0 of every kind"},
		"claim with victim": {func(tx *omega.Txn) { tx.Claim(omega.Claim{Machine: ids[0], Precedence: 1, Victims: from}) }, "claim on machine \"node-0\""},
		"resize":            {func(tx *omega.Txn) { tx.Resize(a, resources.Vector{}) }, "item 1: resize of allocation " + a.String() + " to nothing, want a release of it"},
		"first of two":      {func(tx *omega.Txn) { tx.Exchange(from, claim(ids[0]), claim(ids[0], 1)) }, "item 1: claim on machine \"node-0\""},
		"second of two":     {func(tx *omega.Txn) { tx.Exchange(from, claim(ids[0], 1), claim(ids[0])) }, "item 2: claim on machine \"node-0\""},
	} {
		for _, gang := range []bool{false, true} {
			tx := omega.Txn{Gang: gang, Now: time.Unix(1, 0), Grace: omega.AtOnce}
			tx.Claim(claim(ids[1], 1)) // good, and not granted either
			tt.fill(&tx)
			_, err := s.Commit(&tx)
			require.ErrorIs(t, err, resources.ErrQuantity, name)
			require.ErrorContains(t, err, tt.text, name)
			require.EqualValues(t, 1, free(t, cell, ids[0]), name)
			require.EqualValues(t, 4, free(t, cell, ids[1]), name)
			require.Equal(t, resources.Vector{3}, s.Usage(), name)
		}
	}
}

// An exchange without claims adds nothing, and Commit returns an error for it.
func TestExchange_RefusesAllocationsForNoClaim(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{4})
	s := register(t, cell, "s")
	a := held(t, s, ids[0], 0, resources.Vector{2})
	for name, tt := range map[string]struct {
		from []omega.AllocationID
		text string
	}{
		"of one":  {a, "1 allocations for no claim"},
		"of none": {nil, "0 allocations for no claim"},
	} {
		var tx omega.Txn
		require.Zero(t, tx.Claim(claim(ids[0], 1)))
		require.Equal(t, -1, tx.Exchange(tt.from), name)
		require.Equal(t, 1, tx.Release(a[0]))
		for range 2 { // it stays so
			_, err := s.Commit(&tx)
			require.ErrorIs(t, err, omega.ErrExchange, name)
			require.ErrorContains(t, err, "omega: before item 1: exchange of "+tt.text, name)
		}
		tx.Reset()
		require.Equal(t, 1, commit(t, s, &tx, claim(ids[0], 1)), "after a Reset it is good again")
		b, _ := tx.Allocation(0)
		require.Equal(t, -1, tx.Exchange(nil), "it is committed")
		require.NoError(t, tx.Err(0))
		require.NoError(t, s.Release(b))
	}
	require.NoError(t, s.Release(a[0]))
}

func TestPreemption_SaysWhatIsNotKnownOfItsGrace(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{4})
	s := ranked(t, cell, "s")
	start := time.Unix(100, 0)
	for text, tx := range map[string]*omega.Txn{
		"item 1 has 2 victims, but the transaction's Now is not set":                   {Grace: time.Second},
		"item 1 has 2 victims, but the transaction's Grace is 0, want more, or AtOnce": {Now: start},
		"-2ns: want 0 or more, or AtOnce":                                              {Now: start, Grace: -2},
	} {
		victims := held(t, s, ids[0], 0, resources.Vector{1}, resources.Vector{1})
		tx.Claim(claim(ids[0], 1))
		tx.Claim(omega.Claim{Machine: ids[0], Need: resources.Vector{2}, Precedence: 1, Victims: victims})
		_, err := s.Commit(tx)
		require.ErrorIs(t, err, omega.ErrGrace)
		require.ErrorContains(t, err, text)
		tx.Now, tx.Grace = start, omega.AtOnce
		granted, err := s.Commit(tx)
		require.NoError(t, err)
		require.Equal(t, 2, granted)
		for m := range s.Marked() {
			require.Equal(t, start, m.Until, "at once")
		}
		b, _ := tx.Allocation(1)
		for a := range s.Allocations() {
			require.NoError(t, s.Release(a.ID))
		}
		_, err = cell.ReadyAt(b)
		require.ErrorIs(t, err, omega.ErrReleased)
		for m := range s.Marked() {
			require.NoError(t, s.Release(m.Allocation.ID))
		}
	}
	// Without victims neither is needed.
	require.Equal(t, 1, commit(t, s, &omega.Txn{}, claim(ids[0], 1)))
	require.Equal(t, 1, commit(t, s, &omega.Txn{Grace: time.Second}, claim(ids[0], 1)))
	require.Equal(t, 1, commit(t, s, &omega.Txn{Grace: omega.AtOnce}, claim(ids[0], 1)))
}

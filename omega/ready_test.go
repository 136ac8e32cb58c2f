package omega_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// A commit that does not say what time it is may come after a deadline: what
// waited for that may be running in full by then.
func TestReadyAt_GrowingAgainAtAnUnknownTime(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{12, 9})
	low, high := ranked(t, cell, "low"), ranked(t, cell, "high")
	first := held(t, low, ids[0], 0, resources.Vector{3})[0]
	grows := held(t, low, ids[0], 0, resources.Vector{4})[0]
	second := held(t, low, ids[0], 0, resources.Vector{4})[0]
	commitAt := func(s *omega.Scheduler, now time.Time, fill func(*omega.Txn)) omega.AllocationID {
		tx := omega.Txn{Now: now}
		if fill(&tx); !now.IsZero() {
			tx.Grace = time.Minute
		}
		granted, err := s.Commit(&tx)
		require.NoError(t, err)
		require.Equal(t, 1, granted)
		a, _ := tx.Allocation(0)
		return a
	}
	preempt := func(victim omega.AllocationID) func(*omega.Txn) {
		return func(tx *omega.Txn) {
			tx.Claim(omega.Claim{Machine: ids[0], Need: resources.Vector{0, 1}, Precedence: 1, Victims: []omega.AllocationID{victim}})
		}
	}
	ready := func(a omega.AllocationID) time.Time {
		at, err := cell.ReadyAt(a)
		require.NoError(t, err)
		return at
	}
	start := time.Unix(1000, 0)
	commitAt(high, start, preempt(first))
	grows = commitAt(low, start, func(tx *omega.Txn) { tx.Resize(grows, resources.Vector{6}) })
	require.Equal(t, start.Add(time.Minute), ready(grows))

	// Two minutes later it runs with six, beside four that begin to leave.
	later := start.Add(2 * time.Minute)
	commitAt(high, later, preempt(second))
	grows = commitAt(low, time.Time{}, func(tx *omega.Txn) { tx.Resize(grows, resources.Vector{9}) })
	require.Equal(t, later.Add(time.Minute), ready(grows))
	beside := commitAt(high, later, func(tx *omega.Txn) { tx.Claim(claim(ids[0], 3)) })
	require.Equal(t, later.Add(time.Minute), ready(beside), "only two are idle")
}

package omega_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// The cell names one kind. So a need of two kinds that are wide has no room in its slot,
// and its record is apart.
func TestHolds_IsOfTheSchedulerUntilItReleases(t *testing.T) {
	space, err := resources.NewSpace(resources.Dimension{Name: "cpu"})
	require.NoError(t, err)
	needs := map[string]resources.Vector{
		"in its slot":        {1},
		"apart":              {1 << 40, 1 << 40},
		"of kinds not named": {0, 0, 0, 7},
	}
	for name, need := range needs {
		t.Run(name, func(t *testing.T) {
			wide := resources.Vector{1 << 41, 1 << 41, 1, 7}
			cell, err := omega.NewCell(omega.Config{Space: space, Machines: []omega.Machine{{Name: "a", Capacity: wide}}})
			require.NoError(t, err)
			m := machineAt(cell, 0)
			low, high := ranked(t, cell, "low"), ranked(t, cell, "high")
			a := held(t, low, m, 0, need)[0]
			require.True(t, low.Holds(a))
			require.False(t, high.Holds(a), "it is another scheduler's")
			require.False(t, low.Holds(omega.AllocationID{}))
			require.False(t, (*omega.Scheduler)(nil).Holds(a))

			tx := omega.Txn{Now: time.Unix(1, 0), Grace: omega.AtOnce}
			tx.Claim(omega.Claim{Machine: m, Need: wide, Precedence: 1, Victims: []omega.AllocationID{a}})
			granted, err := high.Commit(&tx)
			require.NoError(t, err)
			require.Equal(t, 1, granted, tx.Err(0))
			require.True(t, low.Holds(a), "it was preempted, which its owner has not acknowledged")

			require.NoError(t, low.Release(a))
			require.False(t, low.Holds(a))
			b, _ := tx.Allocation(0)
			require.NoError(t, high.Release(b))
			next := held(t, high, m, 0, need)[0]
			require.False(t, low.Holds(a), "its slot has another allocation")
			require.True(t, high.Holds(next))
		})
	}
}

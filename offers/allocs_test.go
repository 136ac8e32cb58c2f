package offers_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// A step that looks at many machines which have changed, and offers none of them, makes
// fewer objects than there are machines.
func TestStep_LooksAtMachinesWithoutAllocation(t *testing.T) {
	const machines = 400
	cell, nodes := newCell(t, machines, resources.Vector{10, 10})
	m := newMaster(t, cell, offers.Config{})
	register(t, m, offers.Registration{Name: "f", Suppressed: true})
	other, err := cell.Register("other", omega.Limits{})
	require.NoError(t, err)
	least := uint64(machines)
	for second := range 5 {
		for _, id := range nodes {
			var tx omega.Txn
			tx.Claim(omega.Claim{Machine: id, Need: resources.Vector{1}})
			granted, err := other.Commit(&tx)
			require.NoError(t, err)
			require.Equal(t, 1, granted)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		require.NoError(t, m.Step(at(float64(second))))
		runtime.ReadMemStats(&after)
		least = min(least, after.Mallocs-before.Mallocs)
	}
	require.Less(t, least, uint64(machines/4))
}

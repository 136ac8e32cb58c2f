package omega

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// A preemptor that is stalled between its swap and the mark that it leaves
// does not keep the mark from being saved.
func TestSave_HasTheMarkThatIsNotYetLeft(t *testing.T) {
	cell, err := NewCell(Config{Machines: []Machine{{Name: "a", Capacity: resources.Vector{1}}}})
	require.NoError(t, err)
	low, err := cell.Register("low", Limits{})
	require.NoError(t, err)
	high, err := cell.Register("high", Limits{Highest: 1})
	require.NoError(t, err)
	need := resources.Vector{1}
	var tx Txn
	tx.Claim(Claim{Machine: cell.machine(0, 0), Need: need})
	_, err = low.Commit(&tx)
	require.NoError(t, err)
	victim, ok := tx.Allocation(0)
	require.True(t, ok)
	taking := Txn{Now: time.Unix(1, 0).UTC(), Grace: time.Second}
	taking.Claim(Claim{Machine: cell.machine(0, 0), Need: need, Precedence: 1, Victims: []AllocationID{victim}})
	granted, err := high.Commit(&taking)
	require.NoError(t, err)
	require.Equal(t, 1, granted)

	want := slices.Collect(low.Marked())
	require.Len(t, want, 1)
	low.owner.marks.Store(nil) // as it is just after the swap
	var file bytes.Buffer
	require.NoError(t, cell.Save(&file))
	restored, err := Restore(&file, nil)
	require.NoError(t, err)
	next, err := restored.Replace("low")
	require.NoError(t, err)
	require.Equal(t, want, slices.Collect(next.Marked()))
	require.NoError(t, next.Release(victim))
}

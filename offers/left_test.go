package offers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// A scheduler that has left after it replaced the master's fences the master too:
// else each Step would succeed and offer nothing.
func TestMaster_IsFencedByASuccessorThatHasLeft(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{4})
	m := newMaster(t, cell, offers.Config{})
	require.NoError(t, m.Step(start))
	successor, err := cell.Replace(offers.DefaultName)
	require.NoError(t, err)
	for a := range successor.Allocations() {
		require.NoError(t, successor.Release(a.ID))
	}
	require.NoError(t, successor.Leave())

	_, err = m.Register(start, offers.Registration{Name: "f"})
	require.ErrorIs(t, err, offers.ErrFenced)
	require.ErrorIs(t, err, omega.ErrLeft)
	err = m.Step(start.Add(time.Minute))
	require.ErrorIs(t, err, offers.ErrFenced)
	require.ErrorIs(t, err, omega.ErrLeft)
}

package memcell_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/peers/internal/memcell"
)

func TestClaim_TakesTheMachineWithTheLeastCPUOnWhichItFits(t *testing.T) {
	cell, err := memcell.New([]memcell.Machine{
		{ID: 0, CPU: 300, Memory: 9},
		{ID: 1, CPU: 256, Memory: 9}, // above 255: the index orders numbers, not their bytes
		{ID: 2, CPU: 255, Memory: 1},
		{ID: 3, CPU: 100, Memory: 9},
	})
	require.NoError(t, err)
	id, err := cell.Claim(200, 5, 0)
	require.NoError(t, err)
	require.NotZero(t, id)
	m, err := cell.Free(1)
	require.NoError(t, err)
	require.Equal(t, memcell.Machine{ID: 1, CPU: 56, Memory: 4}, m)

	require.NoError(t, cell.Release(id))
	require.ErrorIs(t, cell.Release(id), memcell.ErrReleased)
	m, err = cell.Free(1)
	require.NoError(t, err)
	require.Equal(t, memcell.Machine{ID: 1, CPU: 256, Memory: 9}, m)

	id, err = cell.Claim(301, 0, 0)
	require.NoError(t, err)
	require.Zero(t, id)
}

package flow

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality/quincy"
)

func TestClock_CountsUnitsFromTheFirstTime(t *testing.T) {
	start := time.Unix(100, 0)
	c := clock{unit: time.Second, patience: 3}
	at, err := c.units(start)
	require.NoError(t, err)
	require.Zero(t, at)
	require.False(t, c.begun, "a time that is only asked for begins nothing")
	c.pass(start, at)

	at, err = c.units(start.Add(2900 * time.Millisecond))
	require.NoError(t, err)
	require.Equal(t, int64(2), at)
	c.pass(start.Add(2*time.Second), at)

	_, err = c.units(start.Add(1999 * time.Millisecond))
	require.ErrorIs(t, err, quincy.ErrTime)
	_, err = c.units(start.Add(-1))
	require.ErrorIs(t, err, quincy.ErrTime)
	_, err = c.units(start.Add((maxTime + 1) * time.Second))
	require.ErrorIs(t, err, quincy.ErrTime)

	require.False(t, c.impatient(0))
	require.True(t, c.impatient(-1))
}

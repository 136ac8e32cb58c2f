package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun_FillsAndChecksEveryCell(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(&out, config{tasks: 4_000, machines: 40, schedulers: 3}))
	for _, row := range []string{"cell        1", "cell        3", "chunks        1", "append        3"} {
		require.Contains(t, out.String(), row)
	}
	require.Contains(t, out.String(), "4000 allocations live")
}

func TestRun_RefusesWhatItCannotFill(t *testing.T) {
	for name, cfg := range map[string]config{
		"no task":            {tasks: 0, machines: 1, schedulers: 1},
		"no machine":         {tasks: 100, machines: 0, schedulers: 1},
		"no scheduler":       {tasks: 100, machines: 1, schedulers: 0},
		"too few a machine":  {tasks: 100, machines: 6, schedulers: 1},
		"a negative machine": {tasks: 100, machines: -1, schedulers: 1},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, run(&strings.Builder{}, cfg), "want")
		})
	}
}

// The check at the end is only worth something if it finds what is wrong.
func TestCheck_FindsWhatIsNotConserved(t *testing.T) {
	needs := mixed(400)
	capacity := capacityFor(needs, 4)

	locked := newLockCell(capacity, 4, false)
	require.NoError(t, locked.fill(needs, 2))
	require.NoError(t, locked.check(400))
	require.ErrorContains(t, locked.check(399), "want 399")
	locked.free[2].memory++
	require.ErrorContains(t, locked.check(400), "machine 2")

	c, err := newCell(capacity, 4)
	require.NoError(t, err)
	require.NoError(t, c.fill(needs, 2))
	require.NoError(t, c.check(400))
	require.ErrorContains(t, c.check(401), "want 401")
	c.held[7] = c.held[8]
	require.ErrorContains(t, c.check(400), "task 8")
}

func TestFill_SaysHowManyFoundNoRoom(t *testing.T) {
	needs := mixed(400)
	capacity := capacityFor(needs, 4)
	capacity.cpu /= 2
	c, err := newCell(capacity, 4)
	require.NoError(t, err)
	require.ErrorContains(t, c.fill(needs, 2), "found no room")
	require.ErrorContains(t, newLockCell(capacity, 4, true).fill(needs, 2), "found no room")
}

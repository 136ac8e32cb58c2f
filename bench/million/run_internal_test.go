package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun_FillsAndChecksEveryCell(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(&out, config{tasks: 4_000, machines: 40, schedulers: 3, runs: 2, policy: "next fit"}))
	for _, row := range []string{
		"cell        1", "cell        3", "cells of their own        3", "chunks        1", "append        3",
		"one / mutex, slab in chunks", "3 in one cell / 3 in cells of their own", "3 / one", "worst of 4 runs of 3 / their median",
	} {
		require.Contains(t, out.String(), row)
	}
	require.Contains(t, out.String(), "4000 allocations live")
	require.Contains(t, out.String(), "97 % full")
	require.NotContains(t, out.String(), "gang of", "there are too few machines")
}

// Cell and mutex do the same work, and nothing is lost by it.
func TestRepeated_IsDoneByCellAndMutex(t *testing.T) {
	cfg := config{tasks: 2_000, machines: 500, schedulers: 1, runs: 1, policy: "next fit"}
	var out strings.Builder
	rows := cfg.repeated()
	for _, r := range rows {
		require.NoError(t, r.measure())
		require.Len(t, r.took[0], 1)
		if r.mutex != nil {
			require.Len(t, r.took[1], 1)
		}
	}
	require.NoError(t, printRepeated(&out, rows))
	for _, row := range []string{"85 %", "97 %", "gang of 100", "one machine", "refresh and first placement, 10 of 500", "at once"} {
		require.Contains(t, out.String(), row)
	}
}

func TestPlacers_ReleaseAllTheirRoom(t *testing.T) {
	for name, open := range map[string]func(setting) (placer, error){"cell": openCell, "mutex": openLock} {
		t.Run(name, func(t *testing.T) {
			p, err := open(setting{need{10, 10, 10}, 3, 5})
			require.NoError(t, err)
			require.True(t, p.place(0, need{6, 6, 6}))
			require.False(t, p.placeGang(1, 3, need{5, 5, 5}), "one machine has no room")
			require.True(t, p.placeGang(1, 3, need{4, 4, 4}))
			require.False(t, p.place(4, need{7, 7, 7}))
			require.True(t, p.releaseGang(1, 3))
			require.True(t, p.release(0))
			require.False(t, p.release(0), "it was released before")
			require.True(t, p.placeGang(0, 3, need{10, 10, 10}))
		})
	}
}

func TestRun_RefusesUnfillableCells(t *testing.T) {
	for name, cfg := range map[string]config{
		"no task":            {tasks: 0, machines: 1, schedulers: 1, runs: 1},
		"no machine":         {tasks: 100, machines: 0, schedulers: 1, runs: 1},
		"no scheduler":       {tasks: 100, machines: 1, schedulers: 0, runs: 1},
		"no run":             {tasks: 100, machines: 1, schedulers: 1, runs: 0},
		"too few a machine":  {tasks: 100, machines: 6, schedulers: 1, runs: 1},
		"a negative machine": {tasks: 100, machines: -1, schedulers: 1, runs: 1},
		"too many at once":   {tasks: 100, machines: 2, schedulers: 3, runs: 1},
		"another policy":     {tasks: 100, machines: 1, schedulers: 1, runs: 1, policy: "luck"},
	} {
		t.Run(name, func(t *testing.T) {
			if cfg.policy == "" {
				cfg.policy = "next fit"
			}
			require.ErrorContains(t, run(&strings.Builder{}, cfg), "want")
		})
	}
}

// The check at the end is only worth something if it finds errors.
func TestCheck_FindsUnconservedRoom(t *testing.T) {
	needs := mixed(400)
	capacity := capacityFor(needs, 4)

	locked := newLockCell(capacity, 4, false)
	require.NoError(t, locked.fill(needs, 2))
	require.NoError(t, locked.check(400))
	require.ErrorContains(t, locked.check(399), "want 399")
	locked.free[2].memory++
	require.ErrorContains(t, locked.check(400), "machine 2")

	c, err := newCells(capacity, 4, 1, "next fit")
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
	c, err := newCells(capacity, 4, 1, "next fit")
	require.NoError(t, err)
	require.ErrorContains(t, c.fill(needs, 2), "found no room")
	require.ErrorContains(t, newLockCell(capacity, 4, true).fill(needs, 2), "found no room")
}

func TestRun_PlacesByEveryPolicy(t *testing.T) {
	for _, policy := range policyNames() {
		var out strings.Builder
		require.NoError(t, run(&out, config{tasks: 400, machines: 4, schedulers: 2, runs: 1, policy: policy}), policy)
		require.Contains(t, out.String(), policy)
	}
}

func TestRatio_IsTheMedianOfRunsThatBelongTogether(t *testing.T) {
	rowOf := func(walls ...float64) *row {
		r := &row{}
		for _, w := range walls {
			r.results = append(r.results, result{wall: w})
		}
		return r
	}
	require.InDelta(t, 2, ratio(rowOf(2, 40, 3), rowOf(1, 20, 1), wall), 0)
	require.InDelta(t, 3, ratio(rowOf(9, 2, 9, 6, 9, 3), rowOf(1, 2, 1), wall), 0, "of two runs the later one counts")
	require.InDelta(t, 2.5, rowOf(4, 1, 2, 3).median(wall), 0)
	require.InDelta(t, 3, rowOf(1, 6, 2).worst(wall), 0)
}

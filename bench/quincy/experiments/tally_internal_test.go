package experiments

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality/quincy"
)

// over runs a job to its end.
func over(t *testing.T) (*world, []*job) {
	t.Helper()
	w := newWorld(twoRacks(t), &script{first}, time.Second)
	jobs := []*job{{tasks: []task{{run: 2 * time.Second, input: []quincy.Block{on(50, 3)}}, {run: time.Second}}}}
	require.NoError(t, w.simulate(t.Context(), jobs))
	return w, jobs
}

func TestCheck_FindsWrongSums(t *testing.T) {
	for name, breaks := range map[string]func(w *world){
		"tasks ended":      func(w *world) { w.tally.levels[0]++ },
		"starts":           func(w *world) { w.tally.starts++ },
		"bytes read":       func(w *world) { w.tally.read-- },
		"bytes moved":      func(w *world) { w.tally.core++ },
		"slot time":        func(w *world) { w.tally.finished[0].held++ },
		"free slots":       func(w *world) { w.vacant-- },
		"jobs left":        func(w *world) { w.jobs = append(w.jobs, nil) },
		"flows left":       func(w *world) { w.core.start(w.now, 1, 1) },
		"machine 2 has 0":  func(w *world) { w.free[2]-- },
		"tasks took":       func(w *world) { w.tally.useful -= 2 * time.Second; w.tally.lost += 2 * time.Second },
		"alone it would":   func(w *world) { w.tally.finished[0].took = time.Second },
		"machine 1 has 11": func(w *world) { w.others = &others{have: []int32{0, 10, 0, 0}} },
	} {
		t.Run(name, func(t *testing.T) {
			w, jobs := over(t)
			require.NoError(t, w.check(jobs))
			breaks(w)
			err := w.check(jobs)
			require.ErrorIs(t, err, errBalance)
			require.ErrorContains(t, err, name)
		})
	}
}

func TestValues_MatchTheCounts(t *testing.T) {
	run := tally{
		core: 3 * gib, rack: 2 * gib, read: 10 * gib, wasted: gib, levels: [3]int{5, 3, 2}, stops: 4, forced: 3, present: 5,
		useful: 30 * time.Second, lost: 10 * time.Second, first: 5 * time.Second, last: 65 * time.Second,
		rounds: 2, spent: 8 * time.Millisecond, worst: 6 * time.Millisecond,
		finished: []completion{
			{tasks: 10, took: 2 * time.Second, alone: time.Second, held: 10, due: 10},
			{tasks: 11, took: 8 * time.Second, alone: time.Second, held: 30, due: 10},
			{tasks: 1, took: 4 * time.Second, alone: 2 * time.Second, held: 5, due: 0},
		},
	}
	got := make(map[string]float64)
	for _, v := range run.values() {
		got[v.name] = v.value
	}
	want := map[string]float64{
		CoreGB: 3, CoreShare: 30, RackShare: 20, AtData: 50, InRack: 30, Mean: 14.0 / 3, Median: 4, P95: 8, Small: 3, Large: 8,
		Makespan: 60, Speed: math.Cbrt(0.5 * 0.125 * 0.5), Unfair: math.Sqrt(2) / 3, Jain: 16.0 / 20, Stopped: 4, Forced: 3, Present: 2.5, Lost: 25, Each: 2.5, Decision: 4, Worst: 6,
	}
	require.Len(t, got, len(want))
	for name, v := range want {
		require.InDelta(t, v, got[name], 1e-9, name)
	}
	for _, v := range new(tally).values() {
		require.False(t, math.IsNaN(v.value) || math.IsInf(v.value, 0), "%s of nothing", v.name)
	}
}

func TestJain_IsOneForEqualsAndTheLessTheFewerHaveIt(t *testing.T) {
	require.InDelta(t, 1, jain([]float64{3, 3, 3}), 1e-9)
	require.InDelta(t, 0.25, jain([]float64{0, 0, 7, 0}), 1e-9)
	require.InDelta(t, 1, jain(nil), 1e-9)
}

func TestAlone_IsTheLongestTaskOrAllOfThem(t *testing.T) {
	j := job{tasks: []task{{run: 4 * time.Second}, {run: time.Second}, {run: time.Second}}}
	require.Equal(t, 6*time.Second, j.alone(1))
	require.Equal(t, 4*time.Second, j.alone(3))
}

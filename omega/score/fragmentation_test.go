package score_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega/score"
	"github.com/cellsched/cellsched/resources"
)

// A machine or a task as the paper has them: CPU, and GPUs in thousandths. A
// task wants count GPUs with share of each.
type (
	gpuMachine struct {
		cpu  int64
		gpus []int64
	}
	gpuTask struct {
		cpu, share int64
		count      int
		popularity float64
	}
)

// fragmentation is the definition, as pkg/utils/frag.go of the paper's
// simulator has it (NodeGpuShareFragAmountScore).
func (m gpuMachine) fragmentation(classes []gpuTask) (f float64) {
	for _, c := range classes {
		idle, small, enough := 0.0, 0.0, 0
		for _, g := range m.gpus {
			idle += float64(g)
			if g < c.share {
				small += float64(g)
			} else {
				enough++
			}
		}
		if satisfied := c.share > 0 && c.cpu <= m.cpu && c.count <= enough; satisfied {
			f += c.popularity * small
		} else {
			f += c.popularity * idle
		}
	}
	return f
}

// free has CPU as kind 0 and a GPU each as kinds 1 and up.
func (m gpuMachine) free() (v resources.Vector) {
	v[0] = m.cpu
	copy(v[1:], m.gpus)
	return v
}

// class names the last GPUs of n: which ones makes no difference.
func (c gpuTask) class(n int) score.Class {
	v := resources.Vector{c.cpu}
	for i := range c.count {
		v[n-i] = c.share
	}
	return score.Class{Need: v, Popularity: c.popularity}
}

func devices(n int) (kinds []resources.Kind) {
	for k := range n {
		kinds = append(kinds, resources.Kind(1+k))
	}
	return kinds
}

func measure(tb testing.TB, n int, tasks []gpuTask) *score.Fragmentation {
	tb.Helper()
	classes := make([]score.Class, len(tasks))
	for i, c := range tasks {
		classes[i] = c.class(n)
	}
	f, err := score.NewFragmentation(devices(n), classes)
	require.NoError(tb, err)
	return f
}

// The machines and classes of pkg/utils/frag_test.go in the paper's simulator,
// where all GPUs are of one model. Its classes of 8 GPUs have 7 here, the most
// that eight kinds can name: neither fits on 4.
func TestFragmentation_AmountsOfThePapersSimulator(t *testing.T) {
	mix := []gpuTask{
		{15700, 1000, 1, 28.69},
		{11900, 1000, 1, 18.93},
		{11400, 1000, 1, 12.27},
		{1000, 0, 0, 7.36},
		{18710, 1000, 1, 4.85},
		{8200, 1000, 1, 3.79},
		{16400, 1000, 1, 3.31},
		{9810, 1000, 1, 1.97},
		{15200, 1000, 1, 1.87},
		{11200, 1000, 1, 1.81},
		{14200, 1000, 1, 1.76},
		{12000, 0, 0, 1.65},
		{14900, 1000, 1, 1.39},
		{60200, 1000, 4, 1.23},
		{64200, 1000, 7, 1.07},
		{32200, 1000, 4, 1.01},
		{17400, 1000, 2, 0.91},
		{30200, 1000, 2, 0.69},
		{16000, 1000, 1, 0.64},
		{15000, 1000, 1, 0.59},
		{64000, 1000, 7, 0.53},
		{15000, 0, 0, 0.53},
		{11910, 1000, 1, 0.53},
		{120200, 1000, 7, 0.48},
		{11300, 1000, 1, 0.37},
		{30000, 1000, 2, 0.32},
		{9800, 1000, 1, 0.32},
		{8000, 1000, 1, 0.32},
		{2000, 1000, 1, 0.27},
		{2000, 80, 1, 0.27},
		{1000, 1000, 1, 0.27},
	}
	var all float64
	for _, c := range mix {
		all += c.popularity / 100
	}
	tests := map[string]struct {
		classes []gpuTask
		machine gpuMachine
		want    float64 // with popularities as they are
		sum     float64 // of the popularities
	}{
		"8xP100_halved":        {mix, gpuMachine{32000, []int64{1000, 1000, 1000, 1000}}, 554.4, all},
		"8xP100_nocpu":         {mix, gpuMachine{0, []int64{1000, 1000, 1000, 1000}}, 4000 * all, all},
		"4x1080_used_lack_CPU": {[]gpuTask{{6000, 465, 1, 9.33}}, gpuMachine{1000, []int64{200, 1000, 1000, 500}}, 251.91, 0.0933},
		"nothing idle":         {mix, gpuMachine{32000, nil}, 0, all},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			free := tt.machine.free()
			require.InDelta(t, tt.want/tt.sum, measure(t, 7, tt.classes).Amount(&free), 0.01)
		})
	}
}

func TestFragmentation_AgreesWithTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "devices")
		m := gpuMachine{rapid.Int64Range(0, 8).Draw(t, "cpu"), rapid.SliceOfN(rapid.Int64Range(0, 10), n, n).Draw(t, "gpus")}
		tasks := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) gpuTask {
			task := gpuTask{
				cpu:        rapid.Int64Range(0, 8).Draw(t, "cpu"),
				count:      rapid.IntRange(0, n).Draw(t, "count"),
				popularity: float64(rapid.IntRange(1, 9).Draw(t, "popularity")),
			}
			if task.count > 0 {
				task.share = rapid.Int64Range(1, 10).Draw(t, "share")
			}
			return task
		}), 1, 6).Draw(t, "classes")
		classes, total := make([]score.Class, len(tasks)), 0.0
		for i, c := range tasks {
			classes[i] = c.class(n)
			total += c.popularity
		}
		f, err := score.NewFragmentation(devices(n), classes)
		require.NoError(t, err)

		free := m.free()
		before := m.fragmentation(tasks) / total
		require.InDelta(t, before, f.Amount(&free), 1e-9)

		need := resources.Vector{rapid.Int64Range(0, m.cpu).Draw(t, "need")}
		after := gpuMachine{m.cpu - need[0], make([]int64, n)}
		for i, g := range m.gpus {
			need[1+i] = rapid.Int64Range(0, g).Draw(t, "take")
			after.gpus[i] = g - need[1+i]
		}
		require.InDelta(t, before-after.fragmentation(tasks)/total, f.FGD(&need, &free, &free), 1e-9)
	})
}

// With devices as kinds the amounts are whole or not; with their sum as one
// kind half of each of two GPUs passes for a whole one.
func TestFragmentation_ASumHidesThatAnAmountIsSplit(t *testing.T) {
	apart, err := score.NewFragmentation([]resources.Kind{1, 2}, []score.Class{{Need: resources.Vector{0, 1000}, Popularity: 1}})
	require.NoError(t, err)
	summed, err := score.NewFragmentation([]resources.Kind{1}, []score.Class{{Need: resources.Vector{0, 1000}, Popularity: 1}})
	require.NoError(t, err)

	require.InDelta(t, 1000, apart.Amount(&resources.Vector{0, 500, 500}), 0)
	require.InDelta(t, 0, summed.Amount(&resources.Vector{0, 1000}), 0)
	require.InDelta(t, 999, summed.Amount(&resources.Vector{0, 999}), 0)
}

func TestFragmentation_KeepsNoArgument(t *testing.T) {
	kinds := []resources.Kind{1}
	classes := []score.Class{{Need: resources.Vector{0, 1000}, Popularity: 1}}
	f, err := score.NewFragmentation(kinds, classes)
	require.NoError(t, err)
	kinds[0], classes[0].Need[1] = 0, 1

	require.InDelta(t, 999, f.Amount(&resources.Vector{0, 999}), 0)
}

func TestFragmentation_ZeroValueFindsNone(t *testing.T) {
	var f score.Fragmentation
	require.Zero(t, f.Amount(&resources.Vector{1, 1000}))
	require.Zero(t, f.FGD(&resources.Vector{0, 500}, &resources.Vector{1, 1000}, &resources.Vector{1, 1000}))
}

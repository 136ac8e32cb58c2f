package score_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/score"
	"github.com/cellsched/cellsched/resources"
)

// made returns a function that unpacks what a constructor returned.
func made(tb testing.TB) func(score.Func, error) score.Func {
	tb.Helper()
	return func(f score.Func, err error) score.Func {
		tb.Helper()
		require.NoError(tb, err)
		return f
	}
}

// Inputs marked with a test's name are that test's, of Kubernetes 1.34,
// pkg/scheduler/framework/plugins/noderesources. It rounds down, or to the
// nearest for RequestedToCapacity: its figure is in brackets where it differs.
func TestScores_PublishedValues(t *testing.T) {
	ok := made(t)
	first, firstTwo := score.Weights{1}, score.Weights{1, 1}
	falling := []score.Point{{0, 10}, {100, 0}}
	rising := []score.Point{{0, 0}, {100, 1}}
	peak := []score.Point{{0, 2}, {40, 10}, {100, 0}}
	tests := map[string]struct {
		score                score.Func
		need, free, capacity resources.Vector
		want                 float64
	}{
		// TestLeastAllocatedScoringStrategy: (25 + 50)/2.
		"least allocated [37]": {
			ok(score.LeastAllocated(firstTwo)),
			resources.Vector{3000, 5000},
			resources.Vector{4000, 10000},
			resources.Vector{4000, 10000},
			37.5,
		},
		// (25·1 + 50·2)/(1 + 2).
		"least allocated, weighted [41]": {
			ok(score.LeastAllocated(score.Weights{1, 2})),
			resources.Vector{3000, 5000},
			resources.Vector{4000, 10000},
			resources.Vector{4000, 10000},
			125.0 / 3,
		},
		// (40 + 75)/2, with 3000 CPU in use before.
		"least allocated, machine in use [57]": {
			ok(score.LeastAllocated(score.Weights{})),
			resources.Vector{3000, 5000},
			resources.Vector{7000, 20000},
			resources.Vector{10000, 20000},
			57.5,
		},
		// "honor extended resource if the pod requests": (50 + 50 + 80)/3.
		"least allocated, extended resource [60]": {
			ok(score.LeastAllocated(score.Weights{})),
			resources.Vector{3000, 5000, 2},
			resources.Vector{6000, 10000, 10},
			resources.Vector{6000, 10000, 10},
			60,
		},
		// "zero node resources, pods scheduled with resources".
		"least allocated, machine of nothing": {
			ok(score.LeastAllocated(firstTwo)),
			resources.Vector{},
			resources.Vector{},
			resources.Vector{},
			0,
		},

		// most_allocated.go: Σ weight·100·requested/capacity / Σ weight.
		"most allocated": {
			ok(score.MostAllocated(firstTwo)),
			resources.Vector{3000, 5000},
			resources.Vector{4000, 10000},
			resources.Vector{4000, 10000},
			62.5,
		},
		// (75·1 + 50·1 + 25·5)/7: the GPU counts five times.
		"most allocated, weighted": {
			ok(score.MostAllocated(score.Weights{1, 1, 5})),
			resources.Vector{3000, 5000, 1},
			resources.Vector{4000, 10000, 4},
			resources.Vector{4000, 10000, 4},
			250.0 / 7,
		},

		// TestRequestedToCapacityRatioScoringStrategy: (25 + 50)/2.
		"requested to capacity [38]": {
			ok(score.RequestedToCapacity(falling, firstTwo)),
			resources.Vector{3000, 5000},
			resources.Vector{4000, 10000},
			resources.Vector{4000, 10000},
			37.5,
		},
		// TestResourceBinPackingSingleExtended: 2 of 8, and 4 of 4.
		"requested to capacity, one kind [2]": {
			ok(score.RequestedToCapacity(rising, first)),
			resources.Vector{2},
			resources.Vector{8},
			resources.Vector{8},
			2.5,
		},
		"requested to capacity, filled [10]": {
			ok(score.RequestedToCapacity(rising, first)),
			resources.Vector{2},
			resources.Vector{2},
			resources.Vector{4},
			10,
		},
		// TestResourceBinPackingMultipleExtended: (2.5·3 + 5·5)/8.
		"requested to capacity, weighted [4]": {
			ok(score.RequestedToCapacity(rising, score.Weights{3, 5})),
			resources.Vector{2, 2},
			resources.Vector{8, 4},
			resources.Vector{8, 4},
			4.0625,
		},
		// A kind that scores 0 is left out: 5/1, not (0·3 + 5·5)/8.
		"requested to capacity, nothing of one kind": {
			ok(score.RequestedToCapacity(rising, score.Weights{3, 5})),
			resources.Vector{0, 2},
			resources.Vector{8, 4},
			resources.Vector{8, 4},
			5,
		},
		// TestBrokenLinearFunction, second shape; ten times its figures.
		"shape at 0":   {ok(score.RequestedToCapacity(peak, first)), resources.Vector{0}, resources.Vector{100}, resources.Vector{100}, 20},
		"shape at 20":  {ok(score.RequestedToCapacity(peak, first)), resources.Vector{20}, resources.Vector{100}, resources.Vector{100}, 60},
		"shape at 30":  {ok(score.RequestedToCapacity(peak, first)), resources.Vector{30}, resources.Vector{100}, resources.Vector{100}, 80},
		"shape at 40":  {ok(score.RequestedToCapacity(peak, first)), resources.Vector{40}, resources.Vector{100}, resources.Vector{100}, 100},
		"shape at 70":  {ok(score.RequestedToCapacity(peak, first)), resources.Vector{70}, resources.Vector{100}, resources.Vector{100}, 50},
		"shape at 100": {ok(score.RequestedToCapacity(peak, first)), resources.Vector{100}, resources.Vector{100}, resources.Vector{100}, 0},
		// Its first shape, {10, 1}, {90, 9}: level outside.
		"shape before the first point": {
			ok(score.RequestedToCapacity([]score.Point{{10, 1}, {90, 9}}, first)),
			resources.Vector{},
			resources.Vector{100},
			resources.Vector{100},
			10,
		},
		"shape after the last point": {
			ok(score.RequestedToCapacity([]score.Point{{10, 1}, {90, 9}}, first)),
			resources.Vector{99},
			resources.Vector{100},
			resources.Vector{100},
			90,
		},

		// balanced_allocation.go: 75 % and 50 % of two kinds, |0.75 - 0.5|/2.
		"balanced, two kinds [87]": {
			ok(score.Balanced(firstTwo)),
			resources.Vector{3000, 5000},
			resources.Vector{4000, 10000},
			resources.Vector{4000, 10000},
			87.5,
		},
		// 75, 50 and 25 %: the variance is 2·0.25²/3.
		"balanced, three kinds [79]": {
			ok(score.Balanced(score.Weights{})),
			resources.Vector{3, 2, 1},
			resources.Vector{4, 4, 4},
			resources.Vector{4, 4, 4},
			100 * (1 - 0.25*math.Sqrt(2.0/3)),
		},
		// The mean is (0.75 + 3·0.5)/4, the variance (0.1875² + 3·0.0625²)/4.
		"balanced, weighted": {
			ok(score.Balanced(score.Weights{1, 3})),
			resources.Vector{3000, 5000},
			resources.Vector{4000, 10000},
			resources.Vector{4000, 10000},
			100 * (1 - math.Sqrt(0.01171875)),
		},
		"balanced, one kind [100]": {
			ok(score.Balanced(first)),
			resources.Vector{3, 0},
			resources.Vector{4, 4},
			resources.Vector{4, 4},
			100,
		},

		// Nomad, nomad/structs/funcs_test.go, TestScoreFitBinPack: 18, 0, and
		// between; over 18.
		"binpack, full":  {ok(score.Binpack(firstTwo)), resources.Vector{2048, 4096}, resources.Vector{2048, 4096}, resources.Vector{2048, 4096}, 1},
		"binpack, empty": {ok(score.Binpack(firstTwo)), resources.Vector{}, resources.Vector{2048, 4096}, resources.Vector{2048, 4096}, 0},
		"binpack, half": {
			ok(score.Binpack(firstTwo)),
			resources.Vector{1024, 2048},
			resources.Vector{2048, 4096},
			resources.Vector{2048, 4096},
			(20 - 2*math.Sqrt(10)) / 18,
		},
		// funcs.go: 20 - (10^0.25 + 10^0.5).
		"binpack, a quarter and a half left": {
			ok(score.Binpack(firstTwo)),
			resources.Vector{3, 2, 1},
			resources.Vector{4, 4, 8},
			resources.Vector{4, 4, 8},
			(20 - 1.7782794100389228 - 3.1622776601683795) / 18,
		},
		"spread, full":  {ok(score.Spread(firstTwo)), resources.Vector{2048, 4096}, resources.Vector{2048, 4096}, resources.Vector{2048, 4096}, 0},
		"spread, empty": {ok(score.Spread(firstTwo)), resources.Vector{}, resources.Vector{2048, 4096}, resources.Vector{2048, 4096}, 1},
		// funcs.go: 10^0.25 + 10^0.5 - 2.
		"spread, a quarter and a half left": {
			ok(score.Spread(firstTwo)),
			resources.Vector{3, 2, 1},
			resources.Vector{4, 4, 8},
			resources.Vector{4, 4, 8},
			(1.7782794100389228 + 3.1622776601683795 - 2) / 18,
		},

		// SIGCOMM 2014: 1/4 · 2/4 + 2/8 · 8/8. The machine has none of the third kind.
		"tetris": {score.Tetris, resources.Vector{1, 2}, resources.Vector{2, 8}, resources.Vector{4, 8}, 0.375},
		// dot_product_score.go: 1 less that over 2 kinds.
		"dot product": {score.DotProduct, resources.Vector{1, 2}, resources.Vector{2, 8}, resources.Vector{4, 8}, 0.8125},

		// best_fit_score.go: 1 - (32/128 + 3/8)/2, whatever the machine's size.
		"best fit": {
			ok(score.LeastLeft(resources.Vector{128, 0, 8}, score.Weights{})),
			resources.Vector{32, 5, 1},
			resources.Vector{64, 9, 4},
			resources.Vector{64, 9, 4},
			0.6875,
		},
		"best fit, weighted": {
			ok(score.LeastLeft(resources.Vector{128, 0, 8}, score.Weights{1, 7, 3})),
			resources.Vector{32, 5, 1},
			resources.Vector{64, 9, 4},
			resources.Vector{64, 9, 4},
			1 - (0.25+3*0.375)/4,
		},
		"worst fit": {
			ok(score.MostLeft(resources.Vector{128, 0, 8}, score.Weights{})),
			resources.Vector{32, 5, 1},
			resources.Vector{64, 9, 4},
			resources.Vector{64, 9, 4},
			0.3125,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			require.True(t, tt.need.Fits(tt.free), "the case itself")
			require.InDelta(t, tt.want, tt.score(&tt.need, &tt.free, &tt.capacity), 1e-12)
		})
	}
}

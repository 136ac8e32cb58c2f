package score_test

import (
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega/score"
	"github.com/cellsched/cellsched/resources"
)

// candidate is a score and what is promised of it.
type candidate struct {
	name      string
	score     score.Func
	low, high float64 // for a machine no larger than size
	sign      int     // 1 if it spreads, -1 if it packs, 0 if neither
	strict    bool    // whether any more of a kind that counts moves it
}

// candidates has every score, where kinds count, and which is for machines no
// larger than size.
func candidates(tb require.TestingT, w score.Weights, size resources.Vector) []candidate {
	ok := func(f score.Func, err error) score.Func {
		require.NoError(tb, err)
		return f
	}
	// From 1 up: a kind that scores 0 would be left out.
	rising := []score.Point{{0, 1}, {50, 2}, {100, 10}}
	falling := []score.Point{{0, 10}, {50, 2}, {100, 1}}
	var counted resources.Vector // size where it counts, so that slack is defined
	for k := range size {
		counted[k] = max(1, size[k])
	}
	return []candidate{
		{"Tetris", score.Tetris, 0, resources.MaxKinds, 1, false},
		{"DotProduct", score.DotProduct, 0, 1, -1, false},
		{"LeastAllocated", ok(score.LeastAllocated(w)), 0, 100, 1, true},
		{"MostAllocated", ok(score.MostAllocated(w)), 0, 100, -1, true},
		{"RequestedToCapacity rising", ok(score.RequestedToCapacity(rising, w)), 0, 100, -1, true},
		{"RequestedToCapacity falling", ok(score.RequestedToCapacity(falling, w)), 0, 100, 1, true},
		{"Balanced", ok(score.Balanced(w)), 0, 100, 0, false},
		{"Binpack", ok(score.Binpack(w)), 0, 1, -1, true},
		{"Spread", ok(score.Spread(w)), 0, 1, 1, true},
		{"LeastLeft", ok(score.LeastLeft(counted, w)), 0, 1, -1, true},
		{"MostLeft", ok(score.MostLeft(counted, w)), 0, 1, 1, true},
	}
}

// weights lets all kinds count the same, or each by a draw.
func weights() *rapid.Generator[score.Weights] {
	return rapid.Custom(func(t *rapid.T) (w score.Weights) {
		for k := range w {
			w[k] = rapid.SampledFrom([]float64{0, 0, 1, 2, 0.5, 5e-324, score.MaxWeight}).Draw(t, "weight")
		}
		return w
	})
}

// vector has components of 0 to those of most, often at either end.
func vector(most resources.Vector) *rapid.Generator[resources.Vector] {
	return rapid.Custom(func(t *rapid.T) (v resources.Vector) {
		for k := range v {
			v[k] = rapid.OneOf(rapid.Just(int64(0)), rapid.Just(most[k]), rapid.Int64Range(0, most[k])).Draw(t, "amount")
		}
		return v
	})
}

func all(n int64) (v resources.Vector) {
	for k := range v {
		v[k] = n
	}
	return v
}

func TestScores_AreFiniteAndOnlyRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := vector(all(resources.MaxQuantity)).Draw(t, "capacity")
		room := capacity
		if rapid.Bool().Draw(t, "more free than there is") {
			room = all(resources.MaxQuantity)
		}
		free := vector(room).Draw(t, "free")
		need := vector(free).Draw(t, "need")
		w := weights().Draw(t, "weights")
		class := vector(all(resources.MaxQuantity)).Draw(t, "class")
		class[0], class[3] = class[7], class[7]
		fgd, err := score.NewFragmentation([]resources.Kind{7, 0, 3}, []score.Class{
			{Need: class, Popularity: math.SmallestNonzeroFloat64},
			{Need: resources.Vector{2, 1, 0, 2}, Popularity: math.MaxFloat64},
		})
		require.NoError(t, err)
		scores := append(candidates(t, w, capacity), candidate{"FGD", fgd.FGD, math.Inf(-1), math.Inf(1), 0, false})

		for _, c := range scores {
			n, f, all := need, free, capacity
			got := c.score(&n, &f, &all)
			require.False(t, math.IsNaN(got) || math.IsInf(got, 0), "%s is %v", c.name, got)
			require.Equal(t, []resources.Vector{need, free, capacity}, []resources.Vector{n, f, all}, c.name)
			if inSize := c.name == "LeastLeft" || c.name == "MostLeft"; !inSize || free.Fits(capacity) {
				require.GreaterOrEqual(t, got, c.low-1e-9, c.name)
				require.LessOrEqual(t, got, c.high+1e-9, c.name)
			}
		}
	})
}

func TestScores_PackOrSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := vector(all(1000)).Draw(t, "capacity")
		emptier := vector(capacity).Draw(t, "free")
		fuller := vector(emptier).Draw(t, "free of the fuller machine")
		need := vector(fuller).Draw(t, "need")

		for _, c := range candidates(t, score.Weights{}, capacity) {
			more := float64(c.sign) * (c.score(&need, &emptier, &capacity) - c.score(&need, &fuller, &capacity))
			require.GreaterOrEqual(t, more, -1e-9, c.name)
			if c.strict && emptier != fuller {
				require.Greater(t, more, 1e-9, c.name)
			}
		}
	})
}

func TestBalanced_IsHighestWhereKindsAreUsedEvenly(t *testing.T) {
	balanced := made(t)(score.Balanced(score.Weights{}))
	rapid.Check(t, func(t *rapid.T) {
		used := rapid.Int64Range(0, 100).Draw(t, "percent")
		skew := rapid.Int64Range(0, 100-used).Draw(t, "skew")
		capacity := resources.Vector{100, 200, 400}
		free := resources.Vector{100 - used, 2 * (100 - used), 4 * (100 - used)}
		require.InDelta(t, 100, balanced(&resources.Vector{}, &free, &capacity), 1e-9)

		// One of three kinds is used more than the mean by 2/3 of the skew.
		free[1] -= 2 * skew
		require.InDelta(t, 100-float64(skew)*math.Sqrt(2)/3, balanced(&resources.Vector{}, &free, &capacity), 1e-9)
	})
}

// Between machines of unequal sizes, that is where LeastLeft and MostLeft differ
// from MostAllocated and LeastAllocated.
func TestFit_CountsInPartsOfOneSize(t *testing.T) {
	ok := made(t)
	need, small, large := resources.Vector{1}, resources.Vector{4}, resources.Vector{100}
	rest := resources.Vector{40} // of the large one, which is fuller by its own measure

	best := ok(score.LeastLeft(large, score.Weights{}))
	require.Greater(t, best(&need, &small, &small), best(&need, &rest, &large))
	worst := ok(score.MostLeft(large, score.Weights{}))
	require.Less(t, worst(&need, &small, &small), worst(&need, &rest, &large))
	most := ok(score.MostAllocated(score.Weights{}))
	require.Less(t, most(&need, &small, &small), most(&need, &rest, &large))
}

func TestScores_DoNotDependOnUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := vector(all(1000)).Draw(t, "capacity")
		free := vector(capacity).Draw(t, "free")
		need := vector(free).Draw(t, "need")
		w := weights().Draw(t, "weights")
		n, f, whole := need, free, capacity
		for k := range whole {
			unit := int64(1) << rapid.IntRange(0, 40).Draw(t, "unit")
			n[k], f[k], whole[k] = unit*need[k], unit*free[k], unit*capacity[k]
		}
		other := candidates(t, w, whole)
		for i, c := range candidates(t, w, capacity) {
			if slices.Contains(whole[:], 0) && (c.name == "LeastLeft" || c.name == "MostLeft") {
				continue // size is at least 1 in whichever unit
			}
			require.InDelta(t, c.score(&need, &free, &capacity), other[i].score(&n, &f, &whole), 1e-9, c.name)
		}
	})
}

func TestScores_KindsThatDoNotCountChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := vector(all(1000)).Draw(t, "capacity")
		free := vector(capacity).Draw(t, "free")
		need := vector(free).Draw(t, "need")
		w := score.Weights{1, 2, 0, 0, 3}
		without := func(v resources.Vector) resources.Vector {
			v[2], v[3] = 0, 0
			return v
		}
		n, f, rest := without(need), without(free), without(capacity)
		size := all(1000)
		for _, c := range candidates(t, w, size) {
			if c.name == "Tetris" || c.name == "DotProduct" {
				continue // they take no weights
			}
			require.InDelta(t, c.score(&n, &f, &rest), c.score(&need, &free, &capacity), 1e-9, c.name)
		}
		// What the machine does not have does not count either, but for the
		// two that measure in parts of a size: there it is used up.
		heavy := w
		heavy[2], heavy[3] = 5, 7
		other := candidates(t, heavy, size)
		for i, c := range candidates(t, w, size) {
			if c.name != "LeastLeft" && c.name != "MostLeft" {
				require.InDelta(t, c.score(&n, &f, &rest), other[i].score(&n, &f, &rest), 1e-9, c.name)
			}
		}
	})
}

// LeastLeft and MostLeft measure what is left, which is nothing.
func TestScores_AreZeroForAMachineWithNothingThatCounts(t *testing.T) {
	empty := resources.Vector{}
	other := resources.Vector{0, 0, 7}
	for _, c := range candidates(t, score.Weights{1, 1}, all(1000)) {
		switch c.name {
		case "LeastLeft":
			require.InDelta(t, 1, c.score(&empty, &empty, &empty), 0, c.name)
			require.InDelta(t, 1, c.score(&empty, &other, &other), 0, c.name)
		case "DotProduct": // which counts all kinds: the task has no use for the third
			require.Zero(t, c.score(&empty, &empty, &empty), c.name)
			require.InDelta(t, 1, c.score(&empty, &other, &other), 0, c.name)
		default:
			require.Zero(t, c.score(&empty, &empty, &empty), c.name)
			require.Zero(t, c.score(&empty, &other, &other), c.name)
		}
	}
}

func TestScores_AreSafeForConcurrentUseAndAllocateNothing(t *testing.T) {
	need, free, capacity := resources.Vector{1, 2, 3}, resources.Vector{4, 4, 4}, resources.Vector{8, 8, 8}
	fgd, err := score.NewFragmentation([]resources.Kind{2}, []score.Class{{Need: resources.Vector{1, 1, 2}, Popularity: 1}})
	require.NoError(t, err)
	scores := append(candidates(t, score.Weights{}, capacity), candidate{name: "FGD", score: fgd.FGD})
	for _, c := range scores {
		want := c.score(&need, &free, &capacity)
		require.Zero(t, testing.AllocsPerRun(10, func() { c.score(&need, &free, &capacity) }), c.name)

		var got [4]float64
		var wg sync.WaitGroup
		for i := range got {
			wg.Go(func() { got[i] = c.score(&need, &free, &capacity) })
		}
		wg.Wait()
		for i := range got {
			require.InDelta(t, want, got[i], 0, c.name)
		}
	}
}

package interval_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/interval"
)

func TestOf_IsTheMeanWithStudentsInterval(t *testing.T) {
	require.Zero(t, interval.Of(nil))
	require.Equal(t, interval.Estimate{Mean: 3, Half: math.Inf(1)}, interval.Of([]float64{3}))
	e := interval.Of([]float64{1, 2, 3, 4}) // the variance is 5/3
	require.InDelta(t, 2.5, e.Mean, 1e-12)
	require.InDelta(t, 3.1824*math.Sqrt(5.0/3/4), e.Half, 1e-12)
	require.InDelta(t, 2.5-e.Half, e.Low(), 1e-12)
	require.InDelta(t, 2.5+e.Half, e.High(), 1e-12)
	require.Equal(t, interval.Estimate{Mean: 7}, interval.Of([]float64{7, 7, 7}))
}

func TestStudent_HasTheQuantilesOfTables(t *testing.T) {
	for freedom, want := range map[int]float64{1: 12.706, 4: 2.776, 19: 2.093, 20: 2.086, 21: 2.080, 30: 2.042, 60: 2.000, 120: 1.980, 100_000: 1.960} {
		require.InDelta(t, want, interval.Student(freedom), 1e-3, freedom)
	}
}

// Of many samples, one in twenty has the true mean outside of its interval.
func TestOf_CoversTheTrueMean(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const samples = 4000
	covered := 0
	for range samples {
		values := make([]float64, 5)
		for i := range values {
			values[i] = 10 + 3*r.NormFloat64()
		}
		if e := interval.Of(values); e.Low() <= 10 && 10 <= e.High() {
			covered++
		}
	}
	require.InDelta(t, 0.95, float64(covered)/samples, 0.015)
}

func TestPaired_IsOfTheDifferencesOfEachSeed(t *testing.T) {
	a, b := []float64{101, 202, 303}, []float64{100, 200, 300}
	require.Equal(t, interval.Of([]float64{1, 2, 3}), interval.Paired(a, b))
	low, mean, high := interval.Ratio([]float64{2, 8}, []float64{1, 1})
	require.InDelta(t, 4, mean, 1e-12)
	require.InDelta(t, 16, low*high, 1e-9)
	require.Less(t, low, 2.0)
	for _, zero := range [][]float64{{0, 1}, {-1, 1}, {math.NaN(), 1}} {
		low, _, high = interval.Ratio(zero, []float64{1, 1})
		require.Equal(t, []float64{0, math.Inf(1)}, []float64{low, high})
	}
}

func TestVerdict_IsOpenWhereTheIntervalHasBoth(t *testing.T) {
	require.Equal(t, interval.Holds, interval.AtMost(1, 2, 2))
	require.Equal(t, interval.Open, interval.AtMost(1, 2, 1))
	require.Equal(t, interval.Differs, interval.AtMost(1, 2, 0.5))
	require.Equal(t, interval.Holds, interval.AtLeast(1, 2, 1))
	require.Equal(t, interval.Open, interval.AtLeast(1, 2, 2))
	require.Equal(t, interval.Differs, interval.AtLeast(1, 2, 3))

	require.Equal(t, interval.Holds, interval.All())
	require.Equal(t, interval.Open, interval.All(interval.Holds, interval.Open))
	require.Equal(t, interval.Differs, interval.All(interval.Open, interval.Differs, interval.Holds))
	require.Equal(t, interval.Differs, interval.Any())
	require.Equal(t, interval.Open, interval.Any(interval.Differs, interval.Open))
	require.Equal(t, interval.Holds, interval.Any(interval.Open, interval.Differs, interval.Holds))
}

func TestVerdict_IsAWord(t *testing.T) {
	for _, v := range []interval.Verdict{interval.Open, interval.Holds, interval.Differs} {
		text, err := v.MarshalText()
		require.NoError(t, err)
		var back interval.Verdict
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, v, back)
	}
	require.ErrorContains(t, new(interval.Verdict).UnmarshalText([]byte("same")), `verdict "same": want open, holds or differs`)
}

package simulate_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/sim/simulate"
	"github.com/cellsched/cellsched/resources"
)

func TestEmpirical_DrawsByItsQuantiles(t *testing.T) {
	// Nine in ten are 1, the rest is anywhere from 1 to 101.
	d := simulate.Empirical{{Value: 1, Share: 0.9}, {Value: 101, Share: 1}}
	r := rand.New(rand.NewPCG(1, 2))
	const n = 100_000
	sum, ones := 0.0, 0
	for range n {
		v := d.Draw(r)
		require.GreaterOrEqual(t, v, 1.0)
		require.LessOrEqual(t, v, 101.0)
		sum += v
		if v == 1 {
			ones++
		}
	}
	require.InDelta(t, 0.9, float64(ones)/n, 0.01)
	require.InDelta(t, 0.9+0.1*51, sum/n, 0.1)
}

func TestGenerate_HasTheMeansOfItsSources(t *testing.T) {
	jobs, err := simulate.Generate(1, 240*time.Hour, source())
	require.NoError(t, err)
	require.InEpsilon(t, 86400, len(jobs), 0.02)
	require.True(t, slices.IsSortedFunc(jobs, func(a, b simulate.Job) int { return int(a.Submit - b.Submit) }))
	tasks, length := 0, time.Duration(0)
	for _, j := range jobs {
		tasks += j.Tasks
		length += j.Duration
	}
	require.InEpsilon(t, 100.5, float64(tasks)/float64(len(jobs)), 0.02, "rounded up")
	require.InEpsilon(t, 100, length.Seconds()/float64(len(jobs)), 0.02)
}

// The jobs of one source do not depend on the others.
func TestGenerate_KeepsSourcesApart(t *testing.T) {
	alone, err := simulate.Generate(7, time.Hour, source())
	require.NoError(t, err)
	other := source()
	other.Class = simulate.Service
	both, err := simulate.Generate(7, time.Hour, source(), other)
	require.NoError(t, err)
	services := slices.DeleteFunc(slices.Clone(both), func(j simulate.Job) bool { return j.Class == simulate.Batch })
	require.NotEqual(t, alone[0].Submit, services[0].Submit)
	require.Equal(t, alone, slices.DeleteFunc(both, func(j simulate.Job) bool { return j.Class == simulate.Service }))
}

func source() simulate.Source {
	return simulate.Source{
		Between: simulate.Exponential(10), Tasks: simulate.Exponential(100), Length: simulate.Exponential(100),
		Need: resources.Vector{1000},
	}
}

// Beyond a century a sum of times between jobs would not fit.
func TestGenerate_RefusesAHorizonThatCannotBeCounted(t *testing.T) {
	s := source()
	s.Between = simulate.Exponential(1e9)
	for _, horizon := range []time.Duration{-1, math.MaxInt64} {
		jobs, err := simulate.Generate(1, horizon, s)
		require.ErrorIs(t, err, simulate.ErrConfig)
		require.ErrorContains(t, err, "want 0 or more, up to 878400h0m0s")
		require.Nil(t, jobs)
	}
}

func TestGenerate_RejectsInvalidArguments(t *testing.T) {
	tests := map[string]struct {
		change func(*simulate.Source)
		want   string
	}{
		"nothing":        {func(s *simulate.Source) { s.Tasks = nil }, "tasks: no distribution: want one"},
		"negative mean":  {func(s *simulate.Source) { s.Length = simulate.Exponential(-1) }, "duration: exponential distribution of mean -1: want more than 0"},
		"no mean":        {func(s *simulate.Source) { s.Length = simulate.Exponential(math.NaN()) }, "mean NaN"},
		"all at once":    {func(s *simulate.Source) { s.Between = simulate.Empirical{{Value: 0, Share: 1}} }, "times 0 in a row: want more"},
		"no quantiles":   {func(s *simulate.Source) { s.Between = simulate.Empirical{} }, "of 0 points ends with share 0: want 1"},
		"negative value": {func(s *simulate.Source) { s.Between = simulate.Empirical{{Value: -1, Share: 1}} }, "point 0 of value -1 and share 1: want no less than 0 and 0"},
		"falling share": {
			func(s *simulate.Source) { s.Between = simulate.Empirical{{1, 0.5}, {2, 0.4}, {3, 1}} },
			"point 1 of value 2 and share 0.4: want no less than 1 and 0.5",
		},
		"part of it": {func(s *simulate.Source) { s.Between = simulate.Empirical{{1, 0.5}} }, "ends with share 0.5: want 1"},
		"no end":     {func(s *simulate.Source) { s.Tasks = simulate.Exponential(1e18) }, "tasks of"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := source()
			tt.change(&s)
			_, err := simulate.Generate(1, time.Minute, s)
			require.ErrorIs(t, err, simulate.ErrConfig)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

package elastic_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega/elastic"
)

// The linear model of the Omega paper, section 6.
func TestMapReduce_IsLinearUpToItsActivities(t *testing.T) {
	m := elastic.MapReduce{Maps: 40, Reduces: 10, MapWork: 40 * time.Minute, ReduceWork: 100 * time.Minute}
	tests := map[string]struct {
		workers int
		time    time.Duration
	}{
		"nobody works":               {0, math.MaxInt64},
		"less than nobody":           {-3, math.MaxInt64},
		"one":                        {1, 140 * time.Minute},
		"an activity for each":       {10, 14 * time.Minute},
		"reduces have enough":        {20, 12 * time.Minute},
		"maps have enough":           {40, 11 * time.Minute},
		"more than there are of any": {1000, 11 * time.Minute},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.time, m.Time(test.workers))
		})
	}
	require.Equal(t, time.Duration(4), elastic.MapReduce{Maps: 3, MapWork: 10}.Time(3), "not sooner than it can be")
	require.Equal(t, 40, m.Parallelism())
	require.Equal(t, 10, m.After(10, 4*time.Minute).Parallelism(), "the maps are done")
	require.Zero(t, m.After(10, 14*time.Minute).Parallelism())
}

func TestMapReduce_NeverOverflows(t *testing.T) {
	endless := elastic.MapReduce{Maps: 1, Reduces: 1, MapWork: math.MaxInt64, ReduceWork: math.MaxInt64}
	require.Equal(t, time.Duration(math.MaxInt64), endless.Time(1))
	require.Equal(t, endless, endless.After(0, math.MaxInt64), "nobody has worked")
	require.Equal(t, elastic.MapReduce{Maps: 1, Reduces: 1, ReduceWork: math.MaxInt64}, endless.After(1, math.MaxInt64))
}

func drawMapReduce(t *rapid.T) elastic.MapReduce {
	work := func(activities int, name string) time.Duration {
		if activities == 0 {
			return 0
		}
		return time.Duration(rapid.Int64Range(0, 1<<40).Draw(t, name))
	}
	m := elastic.MapReduce{
		Maps:    rapid.IntRange(0, 300).Draw(t, "maps"),
		Reduces: rapid.IntRange(0, 300).Draw(t, "reduces"),
	}
	m.MapWork, m.ReduceWork = work(m.Maps, "map work"), work(m.Reduces, "reduce work")
	return m
}

// However a job is run in pieces, what is left takes as much less as it ran.
func TestAfter_TakesOffWhatWasDone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMapReduce(t)
		require.NoError(t, m.Check())
		for range 5 {
			workers := rapid.IntRange(1, 400).Draw(t, "workers")
			whole := m.Time(workers)
			require.LessOrEqual(t, m.Time(workers+1), whole, "one worker more does not slow it down")
			d := time.Duration(rapid.Int64Range(0, int64(whole)+10).Draw(t, "d"))
			left := m.After(workers, d)
			require.NoError(t, left.Check())
			require.Equal(t, max(whole-d, 0), left.Time(workers))
			m = left
		}
		require.Zero(t, m.After(1, m.Time(1)).Time(1))
	})
}

func TestMapReduce_CheckNamesWhatIsWrong(t *testing.T) {
	tests := map[string]struct {
		m    elastic.MapReduce
		says string
	}{
		"negative activities":     {elastic.MapReduce{Maps: -1}, "elastic: -1 map activities, want 0 or more: invalid model"},
		"negative work":           {elastic.MapReduce{Reduces: 2, ReduceWork: -time.Second}, "elastic: -1s of reduce work, want 0 or more: invalid model"},
		"nobody to do what is to": {elastic.MapReduce{MapWork: time.Second}, "elastic: 1s of map work, want an activity to do it: invalid model"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := test.m.Check()
			require.ErrorIs(t, err, elastic.ErrModel)
			require.EqualError(t, err, test.says)
			require.NotPanics(t, func() { test.m.After(3, time.Second).Time(2) })
		})
	}
}

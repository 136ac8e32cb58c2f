package simulate_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/sim/simulate"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// small is a cell that is full enough for conflicts, and jobs for it.
func small(t testing.TB, seed uint64) simulate.Config {
	t.Helper()
	jobs, err := simulate.Generate(seed, 10*time.Minute, smallSources()...)
	require.NoError(t, err)
	need := resources.Vector{1000, 2 << 30}
	return simulate.Config{
		Cell: simulate.Cell{Machines: 100, Capacity: resources.Vector{4000, 16 << 30}, Prefill: 0.5, PrefillNeed: need},
		Jobs: jobs, Seed: seed,
		Architecture: simulate.SharedState(simulate.DefaultThink(), simulate.Think{Job: 5 * time.Second, Task: 5 * time.Millisecond}, 2),
	}
}

func smallSources() []simulate.Source {
	need := resources.Vector{1000, 2 << 30}
	return []simulate.Source{
		{
			Class: simulate.Batch, Need: need,
			Between: simulate.Exponential(2), Tasks: simulate.Exponential(10), Length: simulate.Exponential(20),
		},
		{
			Class: simulate.Service, Need: need,
			Between: simulate.Exponential(10), Tasks: simulate.Exponential(5), Length: simulate.Exponential(60),
		},
	}
}

func architectures() map[string]simulate.Architecture {
	batch, service := simulate.DefaultThink(), simulate.Think{Job: 5 * time.Second, Task: 5 * time.Millisecond}
	all := map[string]simulate.Architecture{
		"single path": simulate.SinglePath(simulate.DefaultThink()),
		"multi-path":  simulate.MultiPath(batch, service),
		"partitioned": simulate.Partitioned(batch, service, 0.7),
	}
	for name, detect := range map[string]omega.Detection{"fit": omega.Fine, "claims": omega.CoarseClaims, "changes": omega.Coarse} {
		a := simulate.SharedState(batch, service, 4)
		a.Detect = detect
		all["omega, "+name] = a
		a.Gang = true
		all["omega, "+name+", gangs"] = a
	}
	maps.Copy(all, twoLevel(batch, service))
	return all
}

// A run to the end checks itself that the cell is as it was before.
func TestRun_EndsAllTasksUnderEveryArchitecture(t *testing.T) {
	for name, a := range architectures() {
		for _, place := range []simulate.Placement{simulate.RandomFit, simulate.NextFit, simulate.BestOfTwo} {
			t.Run(name, func(t *testing.T) {
				cfg := small(t, 1)
				cfg.Architecture, cfg.Placement = a, place
				m, err := simulate.Run(t.Context(), cfg)
				require.NoError(t, err)
				tasks, granted := 0, 0
				for i := range cfg.Jobs {
					tasks += cfg.Jobs[i].Tasks
				}
				for c := range m.Classes {
					class := &m.Classes[c]
					granted += class.Granted
					require.Zero(t, class.Left())
					require.Zero(t, class.Abandoned)
					require.Equal(t, class.Full, class.Wait.Count)
					require.Equal(t, class.Full, class.WaitFull.Count)
					require.LessOrEqual(t, class.Wait.Mean, class.WaitFull.Mean)
				}
				require.Equal(t, tasks, granted)
				require.Greater(t, m.Utilisation[simulate.CPU], 0.5)
				require.LessOrEqual(t, m.Utilisation[simulate.CPU], 1.0)
			})
		}
	}
}

func TestRun_IsTheSameForTheSameSeed(t *testing.T) {
	for name, a := range architectures() {
		t.Run(name, func(t *testing.T) {
			run := func(seed uint64) *simulate.Metrics {
				cfg := small(t, 1)
				cfg.Architecture, cfg.Seed = a, seed
				m, err := simulate.Run(t.Context(), cfg)
				require.NoError(t, err)
				return m
			}
			first := run(1)
			require.Equal(t, first, run(1))
			if len(a.Schedulers) > 2 { // else nothing depends on which machines are picked
				require.NotEqual(t, first, run(2))
			}
		})
	}
}

// Figure 14 of the Omega paper, in small: a coarser rule finds more conflicts,
// and so do gangs by the same rule.
func TestRun_ConflictsMoreByCoarserRules(t *testing.T) {
	conflicts := func(name string) float64 {
		all := architectures()[name]
		const prefill = 0.3 // with less room a gang seldom gets as far as a commit
		failed, done := 0, 0
		for seed := range uint64(8) {
			cfg := small(t, seed)
			cfg.Architecture, cfg.Cell.Prefill = all, prefill
			m, err := simulate.Run(t.Context(), cfg)
			require.NoError(t, err)
			for c := range m.Classes {
				failed += m.Classes[c].Conflicted
				done += m.Classes[c].Succeeded
			}
		}
		return float64(failed) / float64(done)
	}
	fit, claims, changes := conflicts("omega, fit"), conflicts("omega, claims"), conflicts("omega, changes")
	require.Positive(t, fit)
	require.Greater(t, claims, fit)
	require.Greater(t, changes, claims)
	require.Greater(t, conflicts("omega, fit, gangs"), fit)
	require.Greater(t, conflicts("omega, claims, gangs"), claims)
}

// The last room is found at the first attempt, and every machine is as likely as
// any other.
func TestRandomFit_FindsAllTheRoomThereIs(t *testing.T) {
	cfg := small(t, 1)
	cfg.Jobs = []simulate.Job{{Tasks: 200, Duration: time.Second, Need: cfg.Cell.PrefillNeed}}
	m, err := simulate.Run(t.Context(), cfg)
	require.NoError(t, err)
	require.Equal(t, 1, m.Classes[simulate.Batch].Succeeded)
	require.Equal(t, 200, m.Classes[simulate.Batch].Granted)
}

// Figure 9 of the Omega paper, in small: of more schedulers each is less busy,
// and decisions that are made at the same time conflict.
func TestRun_SpreadsJobsOverSchedulers(t *testing.T) {
	last, first := math.Inf(1), 0.0
	for n := 1; n <= 32; n *= 2 {
		cfg := small(t, 1)
		cfg.Architecture = simulate.SharedState(simulate.Think{Job: time.Second}, simulate.DefaultThink(), n)
		m, err := simulate.Run(t.Context(), cfg)
		require.NoError(t, err)
		busy := m.Busyness(simulate.Batch)
		require.Less(t, busy, 0.75*last)
		require.InDelta(t, busy, m.BusynessOn(simulate.Batch), 1e-12, "schedulers of one class decide on nothing else")
		last = busy
		if n == 1 {
			first = m.Classes[simulate.Batch].Conflicts()
		} else {
			require.Greater(t, m.Classes[simulate.Batch].Conflicts(), first+0.05)
			require.Less(t, m.Classes[simulate.Batch].Conflicts(), 1.0, "nobody conflicts more often than not")
		}
	}
}

// One scheduler, two jobs: each number can be had by hand.
func TestRun_MeasuresByThePapersDefinitions(t *testing.T) {
	need := resources.Vector{1000, 1 << 30}
	cfg := simulate.Config{
		Cell: simulate.Cell{Machines: 1, Capacity: resources.Vector{4000, 16 << 30}},
		Jobs: []simulate.Job{
			{Class: simulate.Batch, Submit: 0, Tasks: 3, Duration: 7 * time.Second, Need: need},
			{Class: simulate.Service, Submit: time.Second, Tasks: 2, Duration: 10 * time.Second, Need: need},
		},
		Architecture: simulate.MultiPath(
			simulate.Think{Job: time.Second, Task: time.Second}, simulate.Think{Job: 2 * time.Second}),
	}
	m, err := simulate.Run(t.Context(), cfg)
	require.NoError(t, err)
	// Batch thinks from 0 to 4 s and runs until 11 s. The service job finds room
	// for one task from 4 to 6 s, which runs until 16 s; for the other it looks
	// from 7 to 9 s in vain. From 10 to 12 s it decides again: batch ends meanwhile,
	// and the room is there at the end, which is when the cell is read.
	batch, service := m.Classes[simulate.Batch], m.Classes[simulate.Service]
	require.Equal(t, simulate.Summary{Count: 1}, batch.Wait)
	require.Equal(t, 3*time.Second, service.Wait.Mean)
	require.Equal(t, 9*time.Second, service.WaitFull.Mean)
	require.Equal(t, 3*time.Second, service.QueuedFull.Mean, "no other job is in the queue when it comes back")
	require.Equal(t, 1, service.NoRoom)
	require.Equal(t, simulate.Work{Useful: 4 * time.Second, Wasted: 2 * time.Second, Succeeded: 2}, service.Work)
	require.Equal(t, simulate.Work{Useful: 4 * time.Second, Succeeded: 1}, batch.Work)
	require.Equal(t, 22*time.Second, m.Span)
	require.InDelta(t, 10.0/22, m.Busyness(simulate.Batch), 1e-12)
	require.InDelta(t, 4.0/22, m.BusynessOn(simulate.Batch), 1e-12)
	require.InDelta(t, 6.0/22, m.BusynessOn(simulate.Service), 1e-12)
	require.InDelta(t, (3*7.0+10+10)/(4*22), m.Utilisation[simulate.CPU], 1e-12)
	require.InDelta(t, (3*7.0+10+10)/(16*22), m.Utilisation[simulate.Memory], 1e-12)
	busy, conflicts := m.Daily(simulate.Service)
	require.Equal(t, simulate.Median{Value: 10.0 / 22}, busy)
	require.Zero(t, conflicts)
}

func TestRun_KeepsPartitionsApart(t *testing.T) {
	need := resources.Vector{1000, 1 << 30}
	cfg := simulate.Config{
		Cell: simulate.Cell{Machines: 2, Capacity: resources.Vector{4000, 16 << 30}},
		Jobs: []simulate.Job{{Class: simulate.Batch, Tasks: 8, Duration: time.Hour, Need: need}},

		Architecture: simulate.Partitioned(simulate.Think{}, simulate.Think{}, 0.5),
		Horizon:      30 * time.Minute,
	}
	m, err := simulate.Run(t.Context(), cfg)
	require.NoError(t, err)
	require.Equal(t, 4, m.Classes[simulate.Batch].Granted)
	require.InDelta(t, 0.5, m.Utilisation[simulate.CPU], 1e-9)
}

// Each class fills its own part, and no more.
func TestRun_KeepsServicesToTheirPartition(t *testing.T) {
	need := resources.Vector{1000, 1 << 30}
	cfg := simulate.Config{
		Cell: simulate.Cell{Machines: 4, Capacity: resources.Vector{4000, 16 << 30}},
		Jobs: []simulate.Job{
			{Class: simulate.Service, Tasks: 16, Duration: time.Hour, Need: need},
			{Class: simulate.Batch, Submit: time.Second, Tasks: 16, Duration: time.Hour, Need: need},
		},
		Architecture: simulate.Partitioned(simulate.Think{}, simulate.Think{}, 0.25),
		Horizon:      30 * time.Minute,
	}
	m, err := simulate.Run(t.Context(), cfg)
	require.NoError(t, err)
	require.Equal(t, []int{4, 12}, []int{m.Classes[simulate.Batch].Granted, m.Classes[simulate.Service].Granted})
}

func TestRun_GivesUpAsTheLoopIsTold(t *testing.T) {
	need := resources.Vector{1000, 1 << 30}
	cfg := simulate.Config{
		Cell: simulate.Cell{Machines: 1, Capacity: resources.Vector{4000, 16 << 30}, Prefill: 1, PrefillNeed: need},
		Jobs: []simulate.Job{{Class: simulate.Batch, Tasks: 1, Need: need}},

		Architecture: simulate.SinglePath(simulate.Think{}), Fruitless: 5,
	}
	m, err := simulate.Run(t.Context(), cfg)
	require.NoError(t, err)
	require.Equal(t, 1, m.Classes[simulate.Batch].Abandoned)
	require.Equal(t, 5, m.Classes[simulate.Batch].NoRoom)
	require.Equal(t, 4*time.Second, m.Span)

	cfg.Fruitless = 0
	m, err = simulate.Run(t.Context(), cfg)
	require.NoError(t, err)
	require.Equal(t, 101, m.Classes[simulate.Batch].NoRoom, "more than 100, as in Google's simulator")

	// Once a task is placed it takes more than 1,000 attempts.
	cfg.Cell.Prefill = 0.75
	cfg.Jobs[0].Tasks, cfg.Jobs[0].Duration = 2, time.Hour
	m, err = simulate.Run(t.Context(), cfg)
	require.NoError(t, err)
	batch := m.Classes[simulate.Batch]
	require.Equal(t, []int{1, 1000, 1, 0}, []int{batch.Succeeded, batch.NoRoom, batch.Abandoned, batch.Full})
	require.Equal(t, time.Hour, m.Span, "what was placed runs to its end")
}

// A horizon is the end of the run even if everything is done before.
func TestRun_LastsUntilItsHorizon(t *testing.T) {
	cfg := simulate.Config{
		Cell:         simulate.Cell{Machines: 1, Capacity: resources.Vector{4000}},
		Jobs:         []simulate.Job{{Tasks: 4, Duration: 8 * time.Second, Need: resources.Vector{1000}}},
		Architecture: simulate.SinglePath(simulate.Think{Job: 2 * time.Second}),
		Horizon:      20 * time.Second,
	}
	m, err := simulate.Run(t.Context(), cfg)
	require.NoError(t, err)
	require.Equal(t, cfg.Horizon, m.Span)
	require.InDelta(t, 0.1, m.Busyness(simulate.Batch), 1e-12)
	require.InDelta(t, 0.4, m.Utilisation[simulate.CPU], 1e-12)

	m, err = simulate.Sparrow(t.Context(), cfg, simulate.SparrowConfig{})
	require.NoError(t, err)
	require.Equal(t, cfg.Horizon, m.Span)
}

// A decision longer than time itself is not made, and time does not run
// backwards.
func TestRun_EndsWithTime(t *testing.T) {
	cfg := small(t, 1)
	cfg.Architecture = simulate.SinglePath(simulate.Think{Job: time.Hour, Task: math.MaxInt64})
	_, err := simulate.Run(t.Context(), cfg)
	require.ErrorContains(t, err, "not all is done after 878400h0m0s of virtual time")
}

func TestRun_StopsWithTheContext(t *testing.T) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	_, err := simulate.Run(ctx, small(t, 1))
	require.ErrorIs(t, err, why)
}

func TestRun_RejectsInvalidArguments(t *testing.T) {
	tests := map[string]struct {
		change func(*simulate.Config)
		want   string
	}{
		"no machines":    {func(c *simulate.Config) { c.Cell.Machines = 0 }, "cell: 0 machines: want 1 or more"},
		"no CPU":         {func(c *simulate.Config) { c.Cell.Capacity[simulate.CPU] = 0 }, "want some CPU"},
		"negative room":  {func(c *simulate.Config) { c.Cell.Capacity[simulate.Memory] = -1 }, "capacity"},
		"prefill":        {func(c *simulate.Config) { c.Cell.Prefill = math.NaN() }, "prefill of NaN: want a share from 0 to 1"},
		"prefill of big": {func(c *simulate.Config) { c.Cell.PrefillNeed[simulate.Memory] = 12 << 30 }, "by 200 tasks of"},
		"horizon":        {func(c *simulate.Config) { c.Horizon = -1 }, "horizon -1ns, retry 0s: want 0 or more"},
		"think": {
			func(c *simulate.Config) { c.Architecture.Schedulers[0].Think[0].Job = -1 },
			`scheduler "batch-0" thinks -1ns and 5ms a task about batch: want 0 or more`,
		},
		"share": {
			func(c *simulate.Config) {
				c.Architecture = simulate.Partitioned(simulate.Think{}, simulate.Think{}, 1.5)
			},
			"machines from 0 to 1.5: want 0 <= from <= to <= 1",
		},
		"two of a name": {
			func(c *simulate.Config) {
				c.Architecture.Schedulers[1].Name = "batch-0"
			},
			`scheduler "batch-0" is registered already`,
		},
		"nobody serves": {
			func(c *simulate.Config) { c.Architecture.Schedulers = c.Architecture.Schedulers[:2] },
			`service job: want a scheduler of architecture "omega" that serves it`,
		},
		"before the beginning": {
			func(c *simulate.Config) { c.Jobs[0].Submit = -time.Second },
			"job 0: submitted at -1s: want 0 or later",
		},
		"before the one before": {
			func(c *simulate.Config) { c.Jobs[1].Submit = 0 },
			"job 1: submitted at 0s: want",
		},
		"ends before it begins": {func(c *simulate.Config) { c.Jobs[0].Duration = -1 }, "job 0: duration -1ns: want 0 or more"},
		"never ends":            {func(c *simulate.Config) { c.Jobs[0].Duration = math.MaxInt64 }, "want 0 or more, up to 878400h0m0s"},
		"too many machines":     {func(c *simulate.Config) { c.Cell.Machines = 1 << 40 }, "up to 1048576"},
		"reading":               {func(c *simulate.Config) { c.Architecture.Schedulers[1].Reads = 2 }, `scheduler "batch-1" reads at 2: want at most 1`},
		"detection":             {func(c *simulate.Config) { c.Architecture.Detect = 9 }, "detection 9: want at most 2"},
		"placement":             {func(c *simulate.Config) { c.Placement = 9 }, "placement 9: want at most 2"},
		"no tasks":              {func(c *simulate.Config) { c.Jobs[0].Tasks = 0 }, "job 0: 0 tasks: want 1 or more"},
		"need of naught":        {func(c *simulate.Config) { c.Jobs[0].Need = resources.Vector{} }, "job 0: need"},
		"class":                 {func(c *simulate.Config) { c.Jobs[0].Class = 7 }, "class 7: want batch or service"},
		"larger than a machine": {func(c *simulate.Config) { c.Jobs[0].Need[simulate.CPU] = 5000 }, "want at most the 0 that 100 empty machines"},
		"larger than the cell":  {func(c *simulate.Config) { c.Jobs[0].Tasks = 401 }, "job 0: 401 tasks of"},
		"larger than its partition": {
			func(c *simulate.Config) {
				c.Architecture = simulate.Partitioned(simulate.DefaultThink(), simulate.DefaultThink(), 0)
			},
			"can never fit",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := small(t, 1)
			tt.change(&cfg)
			m, err := simulate.Run(t.Context(), cfg)
			require.ErrorContains(t, err, tt.want)
			require.Nil(t, m)
			require.ErrorIs(t, err, simulate.ErrConfig)
		})
	}
}

package simulate_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/race"
	"github.com/cellsched/cellsched/bench/sim/simulate"
	"github.com/cellsched/cellsched/drf/allot"
	"github.com/cellsched/cellsched/resources"
)

// crowded is a full cell: two schedulers of batch jobs with a few tasks, and one
// of services with many tasks that stay for long.
func crowded(t testing.TB, seed uint64) simulate.Config {
	t.Helper()
	need := resources.Vector{1000, 2 << 30}
	jobs, err := simulate.Generate(seed, 5*time.Minute,
		simulate.Source{
			Class: simulate.Batch, Need: need,
			Between: simulate.Exponential(4), Tasks: simulate.Exponential(5), Length: simulate.Exponential(20),
		},
		simulate.Source{
			Class: simulate.Service, Need: need,
			Between: simulate.Exponential(20), Tasks: simulate.Exponential(40), Length: simulate.Exponential(200),
		})
	require.NoError(t, err)
	for i := range jobs {
		jobs[i].Tasks = min(jobs[i].Tasks, 80)
	}
	return simulate.Config{
		Cell: simulate.Cell{Machines: 20, Capacity: resources.Vector{4000, 16 << 30}}, Jobs: jobs, Seed: seed,
		Architecture: simulate.SharedState(simulate.DefaultThink(), simulate.DefaultThink(), 2),
		Attempts:     -1, Fruitless: -1,
	}
}

// controls returns the controls that there can be beside the schedulers.
func controls() map[string]func(c *simulate.Config) {
	return map[string]func(c *simulate.Config){
		"nothing": func(*simulate.Config) {},
		"limits": func(c *simulate.Config) {
			for i := range c.Architecture.Schedulers {
				c.Architecture.Schedulers[i].Held = &resources.Vector{26_000, 100 << 30}
			}
		},
		"gate":       func(c *simulate.Config) { c.Patience = 5 * time.Second },
		"preemption": func(c *simulate.Config) { c.Audit = &simulate.Audit{Every: 10 * time.Second, Preempt: true} },
	}
}

// Schedulers come back after their offers were withdrawn: these are of no use then.
func TestAudit_WithdrawsUntakenOffers(t *testing.T) {
	for seed := range uint64(3) {
		cfg := crowded(t, seed)
		cfg.Retry = 45 * time.Second
		cfg.Audit = &simulate.Audit{Every: 10 * time.Second, Preempt: true}
		m, err := simulate.Run(t.Context(), cfg)
		require.NoError(t, err)
		for c := range m.Classes {
			require.Zero(t, m.Classes[c].Abandoned+m.Classes[c].Left())
		}
	}
}

// A run to the end checks itself that the cell is as it was before: nothing that
// was asked for, offered or preempted stays.
func TestRun_EndsAllTasksUnderEveryControl(t *testing.T) {
	for name, control := range controls() {
		for _, gang := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, gangs %v", name, gang), func(t *testing.T) {
				cfg := crowded(t, 1)
				if cfg.Architecture.Gang = gang; gang {
					cfg.Placement = simulate.NextFit
					for i := range cfg.Jobs { // a gang above a limit would wait for ever
						cfg.Jobs[i].Tasks = min(cfg.Jobs[i].Tasks, 20)
					}
				}
				control(&cfg)
				run := func() *simulate.Metrics {
					m, err := simulate.Run(t.Context(), cfg)
					require.NoError(t, err)
					return m
				}
				m := run()
				tasks, granted, preempted := 0, 0, 0
				for i := range cfg.Jobs {
					tasks += cfg.Jobs[i].Tasks
				}
				for c := range m.Classes {
					require.Zero(t, m.Classes[c].Left())
					granted += m.Classes[c].Granted
				}
				for i := range m.Schedulers {
					preempted += m.Schedulers[i].Preempted
				}
				require.Equal(t, tasks+preempted, granted, "each task once, and once more for each time that it was preempted")
				require.Equal(t, name == "preemption", preempted > 0)
				require.Equal(t, m, run(), "the same for the same seed")
			})
		}
	}
}

// The last is when nothing is left to happen.
func TestAudit_IsMadeAgainAndAgain(t *testing.T) {
	cfg := crowded(t, 1)
	cfg.Jobs = []simulate.Job{{Tasks: 1, Duration: 25 * time.Second, Need: cfg.Jobs[0].Need}}
	var at []time.Duration
	cfg.Audit = &simulate.Audit{Every: 10 * time.Second, Observe: func(now time.Duration, _ allot.Report) { at = append(at, now) }}
	_, err := simulate.Run(t.Context(), cfg)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second}, at)
}

func TestHeld_IsNeverExceeded(t *testing.T) {
	most := func(control func(*simulate.Config)) (share float64) {
		cfg := crowded(t, 1)
		control(&cfg)
		cfg.Audit = &simulate.Audit{Every: time.Second, Observe: func(_ time.Duration, r allot.Report) {
			for _, u := range r.Users {
				share = max(share, u.Held)
			}
		}}
		_, err := simulate.Run(t.Context(), cfg)
		require.NoError(t, err)
		return share
	}
	const limit = 26.0 / 80
	require.Equal(t, limit, most(controls()["limits"]))
	require.Greater(t, most(controls()["nothing"]), 2*limit)
}

// A job that waits for the services, which hold most of the cell, waits less where
// there is a control.
func TestControls_HelpUsersBelowTheirShare(t *testing.T) {
	if race.Detector {
		t.Skip("a run has one goroutine, and this takes many of them")
	}
	wait := make(map[string]time.Duration)
	for name, control := range controls() {
		for seed := range uint64(3) {
			cfg := crowded(t, seed)
			control(&cfg)
			m, err := simulate.Run(t.Context(), cfg)
			require.NoError(t, err)
			wait[name] += m.Classes[simulate.Batch].WaitFull.Mean
		}
	}
	for _, name := range []string{"limits", "gate", "preemption"} {
		require.Less(t, 5*wait[name], 4*wait["nothing"], name)
	}
}

func TestRun_WithASchedulerOutsideTheGate(t *testing.T) {
	gate := controls()["gate"]
	wait := func(change func(*simulate.Config)) time.Duration {
		cfg := crowded(t, 1)
		change(&cfg)
		m, err := simulate.Run(t.Context(), cfg)
		require.NoError(t, err)
		return m.Classes[simulate.Batch].WaitFull.Mean
	}
	const services = 2
	require.Greater(t, wait(func(c *simulate.Config) {
		gate(c)
		c.Architecture.Schedulers[services].Ungated = true
	}), 2*wait(gate))
}

// A scheduler that has placed all its tasks holds no other back.
func TestRun_RestsAtTheGateWithNothingToDo(t *testing.T) {
	cfg := crowded(t, 1)
	cfg.Patience = time.Minute
	need := cfg.Jobs[0].Need
	cfg.Jobs = []simulate.Job{
		{Class: simulate.Batch, Tasks: 1, Duration: time.Hour, Need: need},
		{Class: simulate.Service, Submit: time.Second, Tasks: 40, Duration: time.Hour, Need: need},
	}
	m, err := simulate.Run(t.Context(), cfg)
	require.NoError(t, err)
	require.Zero(t, m.Classes[simulate.Service].WaitFull.Mean)
}

func TestOver_IsTheLargestUserWhileAnotherIsShort(t *testing.T) {
	tests := map[string]struct {
		users []allot.Standing
		over  int
		ok    bool
	}{
		"nobody":            {},
		"nobody is short":   {users: []allot.Standing{{Violation: 0.5}, {Violation: -0.5}}},
		"nobody is over":    {users: []allot.Standing{{Violation: -0.1, Short: true}, {}}},
		"the one":           {users: []allot.Standing{{Violation: -0.5, Short: true}, {Violation: 0.5}}, over: 1, ok: true},
		"the one with most": {users: []allot.Standing{{Violation: 0.1}, {Violation: 0.2}, {Violation: -0.3, Short: true}}, over: 1, ok: true},
		"the first of two":  {users: []allot.Standing{{Violation: 0.1}, {Violation: 0.1}, {Violation: -0.2, Short: true}}, ok: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			user, ok := simulate.Over(allot.Report{Users: tt.users})
			require.Equal(t, tt.ok, ok)
			if ok {
				require.Equal(t, tt.over, user)
			}
		})
	}
}

func TestRun_RefusesControlsThatMakeNoSense(t *testing.T) {
	tests := map[string]struct {
		change func(*simulate.Config)
		want   string
	}{
		"patience":       {func(c *simulate.Config) { c.Patience = -1 }, "patience of the gate -1ns: want 0 or more"},
		"audits":         {func(c *simulate.Config) { c.Audit = &simulate.Audit{} }, "audit: every 0s: want more than 0"},
		"audits late":    {func(c *simulate.Config) { c.Audit = &simulate.Audit{Every: math.MaxInt64} }, "want more than 0, up to"},
		"gate and audit": {func(c *simulate.Config) { controls()["gate"](c); controls()["preemption"](c) }, "preempts behind a gate"},
		"limit": {func(c *simulate.Config) {
			c.Architecture.Schedulers[0].Held = &resources.Vector{-1}
		}, `scheduler "batch-0": limit of what it may hold`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := crowded(t, 1)
			tt.change(&cfg)
			_, err := simulate.Run(t.Context(), cfg)
			require.ErrorIs(t, err, simulate.ErrConfig)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

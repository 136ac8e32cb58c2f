package simulate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/bench/sim/simulate"
	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// twoLevel returns frameworks under several rules.
func twoLevel(batch, service simulate.Think) map[string]simulate.Architecture {
	all := make(map[string]simulate.Architecture)
	for name, change := range map[string]func(a *simulate.Architecture, service *simulate.Scheduler){
		"offers":             func(*simulate.Architecture, *simulate.Scheduler) {},
		"offers, timeout":    func(a *simulate.Architecture, _ *simulate.Scheduler) { a.Offers.Timeout = offers.For(30 * time.Second) },
		"offers, fair share": func(_ *simulate.Architecture, s *simulate.Scheduler) { s.Wants.Outstanding = 0 },
		"offers, filter":     func(_ *simulate.Architecture, s *simulate.Scheduler) { s.Part = &simulate.Part{From: 0.5, To: 1} },
		"offers, gang":       func(_ *simulate.Architecture, s *simulate.Scheduler) { s.Asks = true },
		"offers, optimistic": func(a *simulate.Architecture, _ *simulate.Scheduler) { a.Offers.Terms.Optimistic = true },
	} {
		a := simulate.TwoLevel(batch, service)
		change(&a, &a.Schedulers[simulate.Service])
		all[name] = a
	}
	return all
}

// two is one machine and two jobs. A service job is there first and takes 10 s to decide
// on; a batch job comes 2 s later and takes 1 s.
func two(batchTasks int) simulate.Config {
	need := resources.Vector{1000, 1 << 30}
	return simulate.Config{
		Cell: simulate.Cell{Machines: 1, Capacity: resources.Vector{4000, 4 << 30}},
		Jobs: []simulate.Job{
			{Class: simulate.Service, Tasks: 1, Duration: 30 * time.Second, Need: need},
			{Class: simulate.Batch, Submit: 2 * time.Second, Tasks: batchTasks, Duration: 5 * time.Second, Need: need},
		},
		Architecture: simulate.TwoLevel(simulate.Think{Job: time.Second}, simulate.Think{Job: 10 * time.Second}),
	}
}

// Each number can be had by hand: an offer takes 1 ms.
func TestTwoLevel_LocksOffersWhileItDecides(t *testing.T) {
	cfg := two(2)
	cfg.Horizon = 20 * time.Second
	m, err := simulate.Run(t.Context(), cfg)
	require.NoError(t, err)
	// Services decide from 1 ms to 10.001 s on all that there is; batch jobs are
	// offered the three CPUs that are left then, and decide until 11.002 s.
	batch, service := &m.Classes[simulate.Batch], &m.Classes[simulate.Service]
	require.Equal(t, time.Millisecond, service.Wait.Mean)
	require.Equal(t, 8*time.Second+2*time.Millisecond, batch.Wait.Mean)
	require.Equal(t, batch.Wait, batch.WaitFull)
	require.Equal(t, simulate.Work{Useful: 10 * time.Second, Succeeded: 1}, service.Work)
	require.Equal(t, simulate.Work{Useful: time.Second, Succeeded: 1}, batch.Work)
	require.InDelta(t, 4*10.001/(4*20), m.Locked(simulate.Service)[simulate.CPU], 1e-12)
	require.InDelta(t, 3*1.001/(4*20), m.Locked(simulate.Batch)[simulate.CPU], 1e-12)
	require.Equal(t, m.Locked(simulate.Batch)[simulate.CPU], m.Locked(simulate.Batch)[simulate.Memory])
	require.InDelta(t, (9.999+2*5)/(4*20), m.Utilisation[simulate.CPU], 1e-12)
	require.InDelta(t, 0.5, m.Busyness(simulate.Service), 1e-12)
}

// Room that is offered while a framework decides is for its next decision.
func TestTwoLevel_DecidesOnOffersOfItsStart(t *testing.T) {
	cfg := two(1)
	cfg.Jobs[0].Tasks = 2
	cfg.Cell.Prefill, cfg.Cell.PrefillNeed = 0.5, cfg.Jobs[0].Need // two CPUs are left, one of which batch has
	cfg.Jobs[0].Submit, cfg.Jobs[1].Submit = 4*time.Second, 0
	cfg.Jobs[0], cfg.Jobs[1] = cfg.Jobs[1], cfg.Jobs[0]
	m, err := simulate.Run(t.Context(), cfg)
	require.NoError(t, err)
	// The batch task ends at 6.001 s. Services have one CPU from 4.001 to 14.001 s, and
	// come back a second later for the other.
	service := &m.Classes[simulate.Service]
	require.Equal(t, time.Millisecond, service.Wait.Mean)
	require.Equal(t, 11*time.Second+time.Millisecond, service.WaitFull.Mean)
	require.Equal(t, 2, service.Succeeded)
	require.Zero(t, service.NoRoom)
}

func TestTwoLevel_HasRemedies(t *testing.T) {
	tests := map[string]struct {
		change  func(*simulate.Config)
		tasks   int           // of the batch job
		waits   time.Duration // the batch job, until it is placed whole
		service simulate.Work
		locked  float64 // by services, CPU seconds
	}{
		"a timeout": { // the offer is gone by then, and the framework that let it expire has to wait
			change: func(c *simulate.Config) { c.Architecture.Offers.Timeout = offers.For(5 * time.Second) },
			tasks:  4, waits: 3*time.Second + time.Millisecond,
			service: simulate.Work{Wasted: 10 * time.Second, Conflicted: 1}, locked: 4 * 5,
		},
		"a filter": { // services are offered the second machine only
			change: func(c *simulate.Config) {
				c.Cell.Machines = 2
				c.Architecture.Schedulers[simulate.Service].Part = &simulate.Part{From: 0.5, To: 1}
			},
			tasks: 4, waits: time.Millisecond,
			service: simulate.Work{Useful: 10 * time.Second, Succeeded: 1}, locked: 4 * 10.001,
		},
		"gang offers": { // one CPU, until it is heard of
			change: func(c *simulate.Config) { c.Architecture.Schedulers[simulate.Service].Asks = true },
			tasks:  4, waits: time.Millisecond,
			service: simulate.Work{Useful: 10 * time.Second, Succeeded: 1}, locked: 0.001,
		},
		"optimism": { // the batch tasks still run then if there are four of them for longer
			change: func(c *simulate.Config) { c.Architecture.Offers.Terms.Optimistic = true },
			tasks:  4, waits: time.Millisecond,
			service: simulate.Work{Useful: 10 * time.Second, Succeeded: 1},
		},
		"optimism that is disappointed": {
			change: func(c *simulate.Config) {
				c.Architecture.Offers.Terms.Optimistic = true
				c.Jobs[1].Duration = 8 * time.Second
			},
			tasks: 4, waits: time.Millisecond,
			service: simulate.Work{Wasted: 10 * time.Second, Conflicted: 1},
		},
		"a minimum": { // batch jobs want whole machines: until the service task has ended
			change: func(c *simulate.Config) {
				c.Architecture.Schedulers[simulate.Batch].Wants.Minimum = c.Cell.Capacity
				c.Horizon = 45 * time.Second
			},
			tasks: 1, waits: 38*time.Second + 2*time.Millisecond,
			service: simulate.Work{Useful: 10 * time.Second, Succeeded: 1}, locked: 4 * 10.001,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := two(tt.tasks)
			cfg.Horizon = 11 * time.Second
			tt.change(&cfg)
			m, err := simulate.Run(t.Context(), cfg)
			require.NoError(t, err)
			batch, service := &m.Classes[simulate.Batch], &m.Classes[simulate.Service]
			require.Equal(t, simulate.Summary{Count: 1, Mean: tt.waits, P90: tt.waits, P99: tt.waits}, batch.WaitFull)
			require.Equal(t, tt.service, service.Work)
			all := float64(4*cfg.Cell.Machines) * cfg.Horizon.Seconds()
			require.InDelta(t, tt.locked/all, m.Locked(simulate.Service)[simulate.CPU], 1e-12)
		})
	}
}

// The same number of attempts as of other schedulers, in vain and in all.
func TestTwoLevel_GivesUpAsOthersDo(t *testing.T) {
	cfg := two(1)
	cfg.Jobs = cfg.Jobs[:1]
	cfg.Jobs[0].Need[simulate.CPU] = 2000 // which no framework ever has at once
	cfg.Cell.Machines, cfg.Cell.Prefill, cfg.Cell.PrefillNeed = 1, 0.75, resources.Vector{1000}
	cfg.Architecture = simulate.TwoLevel(simulate.Think{}, simulate.Think{Job: time.Second})
	m, err := simulate.Run(t.Context(), cfg)
	require.NoError(t, err)
	service := &m.Classes[simulate.Service]
	require.Equal(t, []int{101, 1}, []int{service.NoRoom, service.Abandoned}, "more than 100 in vain, as in Google's simulator")

	cfg.Jobs[0].Need[simulate.CPU] = 1000
	cfg.Jobs[0].Tasks, cfg.Jobs[0].Duration = 4, 100*time.Second // one after the other
	cfg.Attempts = 3
	cfg.Architecture.Offers.Smallest = resources.Vector{1000} // else it is offered the memory that is left
	m, err = simulate.Run(t.Context(), cfg)
	require.NoError(t, err)
	service = &m.Classes[simulate.Service]
	require.Equal(t, []int{3, 3, 1, 0}, []int{service.Granted, service.Succeeded, service.Abandoned, service.Full})

	cfg.Attempts, cfg.Fruitless = 10, 2 // which counts while nothing is placed
	m, err = simulate.Run(t.Context(), cfg)
	require.NoError(t, err)
	service = &m.Classes[simulate.Service]
	require.Equal(t, []int{4, 0, 1}, []int{service.Granted, service.Abandoned, service.Full})
}

// Figure 7 of the Omega paper, in small: batch jobs wait for services that think
// for long, unless one of the remedies is there.
func TestTwoLevel_BatchJobsWaitForServices(t *testing.T) {
	const seeds = 3
	run := func(name string, think time.Duration) (wait float64, placed int) {
		for seed := range uint64(seeds) {
			cfg := small(t, seed)
			cfg.Horizon, cfg.Cell.Prefill = 10*time.Minute, 0.3
			cfg.Architecture = twoLevel(simulate.DefaultThink(), simulate.Think{Job: think})[name]
			m, err := simulate.Run(t.Context(), cfg)
			require.NoError(t, err)
			wait += m.Classes[simulate.Batch].WaitFull.Mean.Seconds() / seeds
			placed += m.Classes[simulate.Service].Full
		}
		return wait, placed
	}
	quick, _ := run("offers", 100*time.Millisecond)
	slow, served := run("offers", 40*time.Second)
	require.Greater(t, slow, 200*quick)
	tests := map[string]struct {
		less float64 // than without it, so many times
		any  bool    // services are placed, about as many
	}{
		"offers, timeout":    {100, false},
		"offers, fair share": {4, true},
		"offers, filter":     {10, true},
		"offers, gang":       {100, true},
		"offers, optimistic": {100, true},
	}
	for name, tt := range tests {
		wait, placed := run(name, 40*time.Second)
		require.Less(t, wait, slow/tt.less, name)
		if tt.any {
			require.Greater(t, float64(placed), 0.5*float64(served), name)
		} else {
			require.Zero(t, placed, "%s: who decides for longer than offers last never gets any", name)
		}
	}
}

// The results of Google's simulator on the same jobs with its own two-level scheduler.
// It makes offers once a second and of 100 CPUs or more, so that waits cannot be
// compared. From t_job 30 s on it decides about several jobs at a time. The cell has
// the same CPUs in larger machines: tasks of one are all alike.
func TestTwoLevel_LocksAsMuchAsInGooglesSimulator(t *testing.T) {
	if testing.Short() {
		t.Skip("half a day, three times")
	}
	cell, jobs := tight(t)
	const large = 16
	cell.Machines, cell.Capacity = cell.Machines/large, cell.Capacity.Scale(large)
	tests := map[string]struct {
		service                time.Duration
		batchBusy, serviceBusy float64
		locked                 float64
		services               int
	}{
		"0.1 s": {100 * time.Millisecond, 0.06134, 0.00755, 0.01638, 2139},
		"1 s":   {time.Second, 0.06138, 0.05211, 0.02679, 2139},
		// Batch attempts are on less, and so are more, than where offers are large.
		"10 s": {10 * time.Second, 0, 0.49772, 0.11645, 2135},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := simulate.Run(t.Context(), simulate.Config{
				Cell: cell, Jobs: jobs, Horizon: 12 * time.Hour,
				Architecture: simulate.TwoLevel(simulate.DefaultThink(), simulate.Think{Job: tt.service, Task: 5 * time.Millisecond}),
			})
			require.NoError(t, err)
			require.Equal(t, tt.services, m.Classes[simulate.Service].Full)
			require.InEpsilon(t, tt.serviceBusy, m.Busyness(simulate.Service), 0.05)
			if tt.batchBusy > 0 {
				require.InEpsilon(t, tt.batchBusy, m.Busyness(simulate.Batch), 0.02)
			}
			locked := m.Locked(simulate.Batch)[simulate.CPU] + m.Locked(simulate.Service)[simulate.CPU]
			require.InEpsilon(t, tt.locked, locked, 0.12)
			require.InDelta(t, 0.7628, m.Utilisation[simulate.CPU], 1e-4)
		})
	}
}

// With any jobs and rules, a run to the end grants every task once, and
// nothing is left of offers, in the cell and at the master.
func TestTwoLevel_ConservesAnyJobs(t *testing.T) {
	conserves(t, 2, "offers", "offers, timeout", "offers, fair share", "offers, filter", "offers, gang", "offers, optimistic")
}

func TestTwoLevel_RejectsInvalidArguments(t *testing.T) {
	tests := map[string]struct {
		change func(*simulate.Config)
		want   string
	}{
		"a gate":           {func(c *simulate.Config) { c.Patience = time.Second }, "offers behind a gate or an audit: want neither"},
		"an audit":         {func(c *simulate.Config) { c.Audit = &simulate.Audit{Every: time.Minute} }, "offers behind a gate or an audit"},
		"a late reading":   {func(c *simulate.Config) { c.Architecture.Schedulers[1].Reads = simulate.AtEnd }, `scheduler "service" reads at the end of a decision`},
		"a limit":          {func(c *simulate.Config) { c.Architecture.Schedulers[0].Held = &resources.Vector{1} }, `scheduler "batch" holds`},
		"a need of naught": {func(c *simulate.Config) { c.Jobs[1].Need = resources.Vector{} }, "job 1: need"},
		"a timeout":        {func(c *simulate.Config) { c.Architecture.Offers.Timeout = offers.For(-1) }, "offer timeout -1ns"},
		"a share":          {func(c *simulate.Config) { c.Architecture.Schedulers[1].Wants.Outstanding = 2 }, `framework "service": outstanding offers of 2`},
		"two of a name":    {func(c *simulate.Config) { c.Architecture.Schedulers[1].Name = "batch" }, `framework "batch" is registered already`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := two(1)
			tt.change(&cfg)
			_, err := simulate.Run(t.Context(), cfg)
			require.ErrorIs(t, err, simulate.ErrConfig)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// Conflicts are detected where there are any; they play no part among offers that
// are kept.
func TestTwoLevel_NeverConflictsOverKeptRoom(t *testing.T) {
	cfg := small(t, 1)
	cfg.Architecture = twoLevel(simulate.DefaultThink(), simulate.Think{Job: 5 * time.Second})["offers"]
	cfg.Architecture.Detect = omega.Coarse
	m, err := simulate.Run(t.Context(), cfg)
	require.NoError(t, err)
	for c := range simulate.Classes {
		require.Zero(t, m.Classes[c].Conflicted)
		require.Zero(t, m.Classes[c].Refused)
	}
}

// An offer that ends in the instant in which a framework has decided is gone, and
// no error: with any timeout, a run goes on to its end.
func TestTwoLevel_EndsWhateverTheTimeout(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		cfg := two(1)
		cfg.Cell.Machines, cfg.Jobs, cfg.Attempts = 2, nil, 20
		at := time.Duration(0)
		for range rapid.IntRange(1, 8).Draw(r, "jobs") {
			at += time.Duration(rapid.IntRange(0, 2).Draw(r, "between")) * time.Second
			cfg.Jobs = append(cfg.Jobs, simulate.Job{
				Class: simulate.Class(rapid.IntRange(0, 1).Draw(r, "class")), Submit: at, Need: resources.Vector{1000, 1 << 30},
				Tasks: rapid.IntRange(1, 8).Draw(r, "tasks"), Duration: time.Duration(rapid.IntRange(1, 3).Draw(r, "duration")) * time.Second,
			})
		}
		second := rapid.SampledFrom([]time.Duration{time.Second - time.Millisecond, time.Second}).Draw(r, "think")
		cfg.Architecture = simulate.TwoLevel(simulate.Think{Job: second}, simulate.Think{Job: 2 * second})
		cfg.Architecture.Offers.Timeout = offers.For(time.Duration(rapid.IntRange(1, 4).Draw(r, "timeout")) * time.Second)
		m, err := simulate.Run(t.Context(), cfg)
		require.NoError(r, err)
		require.Zero(r, m.Classes[simulate.Batch].Left()+m.Classes[simulate.Service].Left())
	})
}

package offers_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// F08: a framework that declines everything at once, with a filter of no time, costs a
// bounded number of offers. They become ever less until it is one for each machine in 16
// intervals. It does not keep others waiting.
func TestDecline_StormIsBounded(t *testing.T) {
	const machines = 100
	cell, _ := newCell(t, machines, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	storm := register(t, m, offers.Registration{Name: "storm"})
	seconds := make([]int, 200)
	for s := range seconds {
		now := at(float64(s))
		require.NoError(t, m.Step(now))
		for {
			got := read(t, storm, now).Offers
			if len(got) == 0 {
				break
			}
			seconds[s] += len(got)
			require.NoError(t, storm.Decline(now, offers.For(0), ids(got)...))
			require.NoError(t, storm.Revive(now), "that does not help")
		}
	}
	require.LessOrEqual(t, seconds[0], 3*machines)
	sum := 0
	for _, n := range seconds[100:] {
		sum += n
	}
	require.LessOrEqual(t, sum, (100/16+1)*machines)
}

// F08: newcomers wait for their first offer no longer than twice as long as without a
// storm.
func TestDecline_StormStarvesNoFramework(t *testing.T) {
	const (
		machines = 10
		tick     = 100 * time.Millisecond
		ticks    = 2000
	)
	// waits returns how many frameworks came that had to wait, how long they did together,
	// and the longest. A worker has all machines, of which one comes free a second.
	waits := func(storms int) (comers int, sum, longest time.Duration) {
		cell, _ := newCell(t, machines, resources.Vector{10})
		m := newMaster(t, cell, offers.Config{})
		worker := register(t, m, offers.Registration{Name: "worker", Outstanding: 1})
		storm := make([]*offers.Framework, storms)
		for i := range storm {
			storm[i] = register(t, m, offers.Registration{Name: fmt.Sprint("storm-", i)})
		}
		var running []omega.AllocationID
		came := make(map[*offers.Framework]time.Time)
		var waiting []*offers.Framework
		// answer lets all answer once what they are offered. To decline takes a tick, in which
		// no other framework has the machine.
		answer := func(now time.Time) {
			for _, f := range storm {
				if got := read(t, f, now).Offers; len(got) > 0 {
					require.NoError(t, f.Decline(now, offers.For(0), ids(got)...))
				}
			}
			waiting = slices.DeleteFunc(waiting, func(f *offers.Framework) bool {
				if len(read(t, f, now).Offers) == 0 {
					return false
				}
				comers++
				sum, longest = sum+now.Sub(came[f]), max(longest, now.Sub(came[f]))
				require.NoError(t, f.Unregister(now))
				return true
			})
			for _, o := range read(t, worker, now).Offers {
				tasks, err := worker.Accept(now, launch(o.ID, 10))
				require.NoError(t, err)
				running = append(running, tasks...)
			}
		}
		for n := range ticks {
			now := start.Add(time.Duration(n) * tick)
			require.NoError(t, m.Step(now))
			if n%10 == 0 && len(running) == machines {
				require.NoError(t, worker.Release(now, running[0]))
				running = running[1:]
			}
			answer(now)
			if n%7 == 3 {
				f, err := m.Register(now, offers.Registration{Name: fmt.Sprint(n)})
				require.NoError(t, err)
				came[f] = now
				waiting = append(waiting, f)
			}
		}
		return comers, sum, longest
	}
	comers, sum, longest := waits(0)
	require.Greater(t, comers, ticks/10)
	require.Positive(t, sum)
	for _, storms := range []int{1, 20} {
		got, together, most := waits(storms)
		require.GreaterOrEqual(t, got, comers*9/10, "%d storms", storms)
		require.LessOrEqual(t, together/time.Duration(got), 2*sum/time.Duration(comers), "%d storms", storms)
		require.LessOrEqual(t, most, 2*longest, "%d storms", storms)
	}
}

// F07: a framework takes every offer and never answers. Others get nine tenths of
// what they would get without it, once it is known.
func TestMaster_HoarderKeepsLittle(t *testing.T) {
	const machines = 100
	// run lets three frameworks run tasks of one machine and ten seconds each for an hour.
	// It returns how many have ended after the first minute, and the longest that the
	// hoarder's offers lasted. They are no more than its fair share, once the offers have
	// expired that it had before others came.
	run := func(hoarder bool) (ended int, longest time.Duration) {
		cell, _ := newCell(t, machines, resources.Vector{10})
		m := newMaster(t, cell, offers.Config{})
		var h *offers.Framework
		if hoarder {
			h = register(t, m, offers.Registration{Name: "hoarder"})
		}
		type running struct {
			f     *offers.Framework
			tasks []omega.AllocationID
		}
		until := make(map[int][]running)
		var honest []*offers.Framework
		for i := range 3 {
			honest = append(honest, register(t, m, offers.Registration{Name: fmt.Sprint(i)}))
		}
		for s := range 3600 {
			now := at(float64(s))
			require.NoError(t, m.Step(now))
			if hoarder {
				for _, o := range read(t, h, now).Offers {
					longest = max(longest, o.Deadline.Sub(now))
				}
				_, offered := h.Held()
				require.True(t, s <= 30 || offered[0] <= machines/4*10, "it is offered %d at %d s", offered[0], s)
			}
			for _, r := range until[s] {
				require.NoError(t, r.f.Release(now, r.tasks...))
				if s >= 60 {
					ended++
				}
			}
			for _, f := range honest {
				for _, o := range read(t, f, now).Offers {
					tasks, err := f.Accept(now, launch(o.ID, 10))
					require.NoError(t, err)
					until[s+10] = append(until[s+10], running{f, tasks})
				}
			}
		}
		require.NoError(t, cell.Check())
		return ended, longest
	}
	without, _ := run(false)
	with, longest := run(true)
	require.GreaterOrEqual(t, with, without*9/10)
	require.LessOrEqual(t, longest, 30*time.Second, "its offers last no longer than others'")
}

// F08 by requests: a framework that asks for everything and declines it does not keep it
// from others.
func TestRequest_StormStarvesNoFramework(t *testing.T) {
	cell, _ := newCell(t, 4, resources.Vector{4})
	m := newMaster(t, cell, offers.Config{})
	storm := register(t, m, offers.Registration{Name: "storm"})
	all := offers.Request{Machines: 4, Each: resources.Vector{4}}
	for range 2 {
		_, err := storm.Request(start, all)
		require.NoError(t, err)
	}
	needy := register(t, m, offers.Registration{Name: "needy"})
	got := 0
	for s := range 100 {
		now := at(float64(s))
		require.NoError(t, m.Step(now))
		got += len(read(t, needy, now).Offers)
		news := read(t, storm, now)
		require.NoError(t, storm.Decline(now, offers.For(0), ids(news.Offers)...))
		for _, a := range news.Answers {
			_, err := storm.Request(now, all)
			require.NoError(t, err)
			require.NoError(t, storm.Decline(now, offers.For(0), ids(a.Offers)...))
		}
	}
	require.NotZero(t, got)
}

// F07 by requests: a framework that asks for everything and never answers does not keep
// it for ever.
func TestRequest_HoarderKeepsLittle(t *testing.T) {
	cell, _ := newCell(t, 4, resources.Vector{4})
	m := newMaster(t, cell, offers.Config{})
	hoarder := register(t, m, offers.Registration{Name: "hoarder"})
	all := offers.Request{Machines: 4, Each: resources.Vector{4}}
	for range 2 {
		_, err := hoarder.Request(start, all)
		require.NoError(t, err)
	}
	require.NoError(t, hoarder.Decline(start, offers.For(0), ids(read(t, hoarder, start).Offers)...))
	needy := register(t, m, offers.Registration{Name: "needy"})
	got := 0
	for s := range 3600 {
		now := at(float64(s))
		require.NoError(t, m.Step(now))
		got += len(read(t, needy, now).Offers)
		for range read(t, hoarder, now).Answers {
			_, err := hoarder.Request(now, all)
			require.NoError(t, err)
		}
	}
	require.NotZero(t, got)
}

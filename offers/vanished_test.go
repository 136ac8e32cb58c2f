package offers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// takeFor lets seconds pass, one by one, and one framework take whatever it is offered in
// each. It returns how many machines it has then.
func takeFor(t *testing.T, m *offers.Master, f *offers.Framework, from, to int) (machines int) {
	t.Helper()
	for s := from; s <= to; s++ {
		require.NoError(t, m.Step(at(float64(s))))
		for _, o := range read(t, f, at(float64(s))).Offers {
			_, err := f.Accept(at(float64(s)), launch(o.ID, o.Room[0]))
			require.NoError(t, err)
			machines++
		}
	}
	return machines
}

// Vanished frameworks keep room that they have not accepted from others for two offer
// timeouts. The bound holds for any number of them, and for any earlier behaviour.
func TestMaster_VanishedFrameworksKeepRoomForTwoTimeouts(t *testing.T) {
	last := map[string]func(t *testing.T, f *offers.Framework){
		"without a call": func(*testing.T, *offers.Framework) {},
		"after reading": func(t *testing.T, f *offers.Framework) {
			t.Helper()
			read(t, f, start)
		},
		"after accepting": func(t *testing.T, f *offers.Framework) {
			t.Helper()
			for _, o := range read(t, f, start).Offers {
				_, err := f.Accept(start, launch(o.ID, 1))
				require.NoError(t, err)
			}
		},
		"after declining": func(t *testing.T, f *offers.Framework) {
			t.Helper()
			require.NoError(t, f.Decline(start, offers.For(0), ids(read(t, f, start).Offers)...))
		},
		"after asking": func(t *testing.T, f *offers.Framework) {
			t.Helper()
			_, err := f.Request(start, offers.Request{Machines: 5, Each: resources.Vector{5}})
			require.NoError(t, err)
		},
		"while asking only": func(t *testing.T, f *offers.Framework) {
			t.Helper()
			require.NoError(t, f.Suppress(start))
			_, err := f.Request(start, offers.Request{Machines: 10, Each: resources.Vector{10}})
			require.NoError(t, err)
		},
	}
	for name, last := range last {
		for _, vanished := range []int{1, 10, 100, 1000} {
			for _, machines := range []int{10, 100, 1000} {
				if vanished*machines > 10_000 && (testing.Short() || name != "without a call") {
					continue
				}
				t.Run(fmt.Sprintf("%s/vanished=%d/machines=%d", name, vanished, machines), func(t *testing.T) {
					cell, _ := newCell(t, machines, resources.Vector{10})
					m := newMaster(t, cell, offers.Config{})
					for i := range vanished {
						last(t, register(t, m, offers.Registration{Name: fmt.Sprint("vanished-", i)}))
					}
					honest := register(t, m, offers.Registration{Name: "honest"})
					takeFor(t, m, honest, 0, 60)
					account := accountOf(cell, "honest")
					held, err := cell.Usage(account)
					require.NoError(t, err)
					_, offered := honest.Held()
					require.Zero(t, offered)
					tasks := int64(0) // of others, which they had accepted
					for a := range cell.Allocations() {
						if a.Account != account {
							require.NotEqual(t, offers.DefaultName, a.Scheduler, "%v is kept for nobody", a)
							tasks += a.Need[0]
						}
					}
					require.Equal(t, int64(machines)*10-tasks, held[0], "all that they have not accepted is its own")
					require.NoError(t, cell.Check())
				})
			}
		}
	}
}

// Frameworks come and vanish all the time: another one has its share of what they do not
// use.
func TestMaster_StreamOfVanishedFrameworksKeepsLittle(t *testing.T) {
	cell, _ := newCell(t, 100, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	honest := register(t, m, offers.Registration{Name: "honest"})
	var running [][]omega.AllocationID
	ended := 0
	for s := range 1200 {
		now := at(float64(s))
		_, err := m.Register(now, offers.Registration{Name: fmt.Sprint(s)})
		require.NoError(t, err)
		require.NoError(t, m.Step(now))
		var tasks []omega.AllocationID
		for _, o := range read(t, honest, now).Offers {
			ids, err := honest.Accept(now, launch(o.ID, 10))
			require.NoError(t, err)
			tasks = append(tasks, ids...)
		}
		running = append(running, tasks)
		if s >= 10 { // each runs for ten seconds
			require.NoError(t, honest.Release(now, running[s-10]...))
			ended += len(running[s-10])
		}
	}
	require.Greater(t, ended, 5*1200*100/10/61, "the share of one among those of two timeouts, many times over")
}

// A framework that was silent and calls again is offered its share in that call.
func TestMaster_ServesAtOnceAFrameworkThatReturns(t *testing.T) {
	for name, away := range map[string]int{"soon": 61, "late": 300, "after it was taken for gone": 700} {
		t.Run(name, func(t *testing.T) {
			cell, _ := newCell(t, 10, resources.Vector{10})
			m := newMaster(t, cell, offers.Config{})
			told := 0
			back := register(t, m, offers.Registration{Name: "back", Weight: 3, Notify: func() { told++ }})
			other := register(t, m, offers.Registration{Name: "other"})
			for s := range away {
				require.NoError(t, m.Step(at(float64(s))))
				if s%20 == 0 {
					require.NoError(t, other.Decline(at(float64(s)), offers.For(0), ids(read(t, other, at(float64(s))).Offers)...))
				}
			}
			_, offered := other.Held()
			require.Positive(t, told)
			got := read(t, back, at(float64(away))).Offers
			require.GreaterOrEqual(t, len(got), 7, "the other one has not read of what is beyond its share")
			require.Positive(t, offered[0])
			for _, o := range got {
				require.Equal(t, at(float64(away+30)), o.Deadline)
			}
			_, err := back.Accept(at(float64(away)), launch(got[0].ID, 10))
			require.NoError(t, err)
		})
	}
}

// Frameworks that are slow are not taken for vanished ones, and have a part in what there
// is. One answers just before its offers end, another one calls every 90 s only.
func TestMaster_ServesFrameworksThatAreSlow(t *testing.T) {
	tests := map[string]struct {
		calls  func(second int) bool
		answer func(call int) bool
		least  int
	}{
		"just in time":      {func(s int) bool { return s%29 == 0 }, func(int) bool { return true }, 300},
		"every third offer": {func(s int) bool { return s%29 == 0 }, func(call int) bool { return call%3 == 2 }, 60},
		"every third time":  {func(s int) bool { return s%90 == 0 }, func(int) bool { return true }, 30},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cell, _ := newCell(t, 10, resources.Vector{10})
			m := newMaster(t, cell, offers.Config{})
			slow := register(t, m, offers.Registration{Name: "slow"})
			fast := register(t, m, offers.Registration{Name: "fast"})
			type running struct {
				f     *offers.Framework
				tasks []omega.AllocationID
			}
			until := make(map[int][]running)
			got, calls := make(map[*offers.Framework]int), 0
			run := func(f *offers.Framework, s int, answers bool) {
				for _, o := range read(t, f, at(float64(s))).Offers {
					if !answers {
						continue
					}
					ids, err := f.Accept(at(float64(s)), launch(o.ID, 10))
					require.NoError(t, err)
					got[f]++
					until[s+10] = append(until[s+10], running{f, ids})
				}
			}
			for s := range 3600 {
				require.NoError(t, m.Step(at(float64(s))))
				for _, r := range until[s] {
					if r.f == fast || test.calls(s) {
						require.NoError(t, r.f.Release(at(float64(s)), r.tasks...))
					} else {
						until[s+1] = append(until[s+1], r) // it says so when it calls
					}
				}
				if test.calls(s) {
					run(slow, s, test.answer(calls))
					calls++
				}
				run(fast, s, true)
			}
			t.Log(got[slow], got[fast])
			require.Greater(t, got[slow], test.least)
		})
	}
}

// A program that was suspended, or a master that was not told the time, takes no framework
// for vanished that it has not asked.
func TestMaster_AsksBeforeItTakesAFrameworkForVanished(t *testing.T) {
	cell, _ := newCell(t, 10, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	told := 0
	f := register(t, m, offers.Registration{Name: "f", Notify: func() { told++ }})
	register(t, m, offers.Registration{Name: "g"})
	require.NoError(t, f.Decline(start, offers.For(time.Hour), ids(read(t, f, start).Offers)...))
	told = 0
	year := start.Add(365 * 24 * time.Hour)
	require.NoError(t, m.Step(year))
	require.Equal(t, 1, told)
	require.NotEmpty(t, read(t, f, year).Offers)
	require.Equal(t, 2, m.Members())
}

package offers_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// A hundred frameworks without any share decline whatever they are offered, by
// a filter that is over at once; one that holds more than they do needs room. A
// round is over when each machine that is free has been offered once. Complaint 1
// of the Mesos frameworks: it waited for all of the others, each time.
func TestDecline_DelaysOthersByTwoRounds(t *testing.T) {
	for _, machines := range []int{1, 10, 100, 150} {
		t.Run(fmt.Sprintf("machines=%d", machines), func(t *testing.T) {
			cell, _ := newCell(t, machines+1, resources.Vector{10})
			m := newMaster(t, cell, offers.Config{Interval: offers.For(time.Nanosecond), Timeout: offers.Never()})
			needy := register(t, m, offers.Registration{Name: "needy", Outstanding: 1})
			var last []omega.AllocationID // of its tasks, of which the first stays
			for _, o := range read(t, needy, start).Offers {
				tasks, err := needy.Accept(start, launch(o.ID, 10))
				require.NoError(t, err)
				last = append(last, tasks...)
			}
			others := make([]*offers.Framework, 100)
			for i := range others {
				others[i] = register(t, m, offers.Registration{Name: fmt.Sprint(i)})
			}

			now := start
			// rounds ends the needy's tasks but one, and returns in which round it is
			// offered something, which it takes.
			rounds := func() int {
				require.NoError(t, needy.Release(now, last[1:]...))
				last = last[:1]
				for round := 1; ; round++ {
					if got := read(t, needy, now).Offers; len(got) > 0 {
						for _, o := range got {
							tasks, err := needy.Accept(now, launch(o.ID, 10))
							require.NoError(t, err)
							last = append(last, tasks...)
						}
						return round
					}
					require.Less(t, round, 1000, "it starves")
					offered := make([][]offers.OfferID, len(others))
					for i, f := range others {
						offered[i] = ids(read(t, f, now).Offers)
					}
					now = now.Add(time.Second) // filters of the round before are over
					for i, f := range others {
						require.NoError(t, f.Decline(now, offers.For(0), offered[i]...))
					}
					require.NoError(t, m.Step(now))
				}
			}
			require.LessOrEqual(t, rounds(), (101+machines-1)/machines+1, "nobody is known for declining yet")
			for range 20 {
				require.LessOrEqual(t, rounds(), 2)
			}
			require.NoError(t, cell.Check())
		})
	}
}

// A hundred frameworks decline their offers but every now and then, when they run
// something small for a round. So they are never known for declining, and always hold
// less than the framework that needs room. Of declined room it gets one piece in eight
// when it is overdue and has waited longest.
func TestDecline_NowAndThenStarvesNoFramework(t *testing.T) {
	const frameworks, rounds = 100, 120
	for _, machines := range []int{1, 10} {
		for _, accepts := range []float64{0.1, 0.5, 0.7} {
			t.Run(fmt.Sprintf("machines=%d/accepts=%v", machines, accepts), func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, 2))
				cell, _ := newCell(t, machines+1, resources.Vector{10})
				m := newMaster(t, cell, offers.Config{Timeout: offers.Never()})
				needy := register(t, m, offers.Registration{Name: "needy", Outstanding: 1})
				var held []omega.AllocationID // the first of which stays
				for _, o := range read(t, needy, start).Offers {
					tasks, err := needy.Accept(start, launch(o.ID, 10))
					require.NoError(t, err)
					held = append(held, tasks...)
				}
				others := make([]*offers.Framework, frameworks)
				running := make([][]omega.AllocationID, frameworks)
				for i := range others {
					others[i] = register(t, m, offers.Registration{Name: fmt.Sprint(i)})
				}
				require.NoError(t, needy.Release(start, held[1:]...))
				declines := 0 // since it was offered anything
				for round := range rounds {
					now := at(float64(round))
					for i, f := range others {
						require.NoError(t, f.Release(now, running[i]...))
						running[i] = nil
					}
					for i, f := range others {
						for _, o := range read(t, f, now).Offers {
							if r.Float64() < accepts {
								tasks, err := f.Accept(now, launch(o.ID, 1))
								require.NoError(t, err)
								running[i] = append(running[i], tasks...)
								continue
							}
							declines++
							require.NoError(t, f.Decline(now, offers.For(0), o.ID))
						}
					}
					require.NoError(t, m.Step(now))
					if takeAll(t, needy) > 0 {
						declines = 0
						takeAll(t, needy) // what that has made free
					}
					require.LessOrEqual(t, declines, 8*(frameworks+1))
				}
			})
		}
	}
}

// Strict precedence is kept as long as no framework has been passed over for two turns of
// all frameworks. Then it is broken for one piece of room.
func TestDecline_OutOfTurnOnlyIfOverdue(t *testing.T) {
	const frameworks, rounds = 20, 200
	r := rand.New(rand.NewPCG(1, 2))
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{Timeout: offers.Never(), Order: offers.Priority{}})
	all := make([]*offers.Framework, frameworks)
	for i := range all {
		all[i] = register(t, m, offers.Registration{Name: fmt.Sprint(i), Precedence: min(omega.Precedence(i), 1)})
	}
	refusals := make([]int, frameworks) // since each accepted anything
	// How many offers were made since the first one was offered anything, and how
	// often it was, out of turn.
	passed, early, late := 3*frameworks, 0, 0
	for round := range rounds {
		now := at(20 * float64(round)) // nothing is hidden any more
		require.NoError(t, m.Step(now))
		for more := true; more; {
			more = false
			for i, f := range all {
				for _, o := range read(t, f, now).Offers {
					more = true
					steady := 0
					for _, n := range refusals[1:] {
						if n == 0 {
							steady++
						}
					}
					passed++
					if i == 0 {
						if steady > frameworks/2 && passed <= 2*frameworks {
							early++
						} else if steady > frameworks/2 {
							late++
						}
						passed = 0
					}
					if r.Float64() < 0.7 {
						_, err := f.Accept(now, launch(o.ID, 1))
						require.NoError(t, err)
						refusals[i] = 0
					} else {
						require.NoError(t, f.Decline(now, offers.For(0), o.ID))
						refusals[i]++
					}
				}
			}
		}
		for _, f := range all {
			for a := range f.Tasks() {
				require.NoError(t, f.Release(now, a.ID))
				passed++ // it adds to an unread offer, or makes one
			}
		}
	}
	require.Zero(t, early)
	require.Positive(t, late, "nobody waits for ever")
}

// An accept ends the back-off of a decliner.
func TestAccept_EndsBackOff(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f"})
	for range 2 {
		got := read(t, f, start).Offers
		require.Len(t, got, 1)
		require.NoError(t, f.Decline(start, offers.For(0), got[0].ID))
	}
	require.Empty(t, read(t, f, start).Offers, "it has to stand back")
	require.NoError(t, m.Step(at(1)))
	require.Equal(t, 1, takeAll(t, f))
	got := read(t, f, at(1)).Offers
	require.Len(t, got, 1)
	require.NoError(t, f.Decline(at(1), offers.For(0), got[0].ID))
	require.Len(t, read(t, f, at(1)).Offers, 1, "it may have another look at once")
}

// What expires together is one refusal, and accepting makes up for all: then a
// framework is offered as much at once as before.
func TestDecline_RefusalsCountOnceAndAreForgiven(t *testing.T) {
	const machines = 64
	cell, _ := newCell(t, machines, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f"})
	require.Len(t, read(t, f, start).Offers, machines)
	require.NoError(t, m.Step(at(30)))
	require.NoError(t, m.Step(at(35)))
	got := read(t, f, at(35)).Offers
	require.Len(t, got, machines/2, "half as much after one refusal")
	require.NoError(t, f.Decline(at(35), offers.For(0), ids(got)...))
	got = read(t, f, at(35)).Offers
	require.Len(t, got, machines/4, "a quarter after two")
	tasks, err := f.Accept(at(35), launch(got[0].ID, 10))
	require.NoError(t, err)
	require.NoError(t, f.Release(at(35), tasks...))
	require.NoError(t, m.Step(at(36)))
	_, offered := f.Held()
	require.Equal(t, resources.Vector{10 * machines}, offered)
}

// Room is left to add up until it is as large as a framework's task.
func TestConfig_SmallestKeepsPiecesTogether(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{Smallest: resources.Vector{6}})
	f := register(t, m, offers.Registration{Name: "f"})
	o := read(t, f, start).Offers[0].ID
	tasks, err := f.Accept(start, offers.Launch{Offers: []offers.OfferID{o}, Tasks: []offers.Task{
		{Need: resources.Vector{5}}, {Need: resources.Vector{1}},
	}})
	require.NoError(t, err)
	require.Empty(t, read(t, f, start).Offers)
	require.NoError(t, f.Release(start, tasks[1]))
	require.Empty(t, read(t, f, start).Offers)
	require.NoError(t, f.Release(start, tasks[0]))
	require.Len(t, read(t, f, start).Offers, 1)
}

func TestConfig_LongTasksLeaveRoom(t *testing.T) {
	cell, _ := newCell(t, 2, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{LongOnMachine: 50, LongInCell: 40})
	f := register(t, m, offers.Registration{Name: "f", Outstanding: 1})
	long := func(o offers.OfferID, needs ...int64) offers.Launch {
		l := offers.Launch{Offers: []offers.OfferID{o}}
		for _, need := range needs {
			l.Tasks = append(l.Tasks, offers.Task{Need: resources.Vector{need}, Long: true})
		}
		return l
	}
	got := read(t, f, start).Offers
	require.Len(t, got, 2)
	_, err := f.Accept(start, long(got[0].ID, 3, 3))
	require.ErrorIs(t, err, offers.ErrExceeds, "six of ten on a machine")
	require.ErrorContains(t, err, "50% of its machine")
	require.Equal(t, resources.Vector{5}, got[0].Long)
	require.Equal(t, resources.Vector{3}, got[1].Long, "the other one keeps five of eight")
	_, err = f.Accept(start, long(got[0].ID, 5), long(got[1].ID, 4))
	require.ErrorIs(t, err, offers.ErrExceeds, "nine of twenty in the cell")
	require.ErrorContains(t, err, "40% of the cell")
	_, err = f.Accept(start, launch(got[1].ID, 10))
	require.NoError(t, err, "short ones are not bounded")
	tasks, err := f.Accept(start, long(got[0].ID, 5))
	require.NoError(t, err)
	rest := read(t, f, start).Offers
	require.Len(t, rest, 1)
	_, err = f.Accept(start, long(rest[0].ID, 1))
	require.ErrorIs(t, err, offers.ErrExceeds)
	require.NoError(t, f.Decline(start, offers.For(0), rest[0].ID))
	require.NoError(t, f.Release(start, tasks...))
	for _, o := range read(t, f, start).Offers {
		if o.Room[0] == 10 {
			_, err = f.Accept(start, long(o.ID, 5))
			require.NoError(t, err)
			return
		}
	}
	require.Fail(t, "the machine is not offered again")
}

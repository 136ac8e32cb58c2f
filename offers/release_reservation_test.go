package offers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Of each machine no more is kept for a gang than it needs there.
func TestRequest_ReservesNoMoreThanItNeeds(t *testing.T) {
	m, run := busy(t, 2, 1)
	g := register(t, m, offers.Registration{Name: "g", Minimum: resources.Vector{5}})
	_, err := g.Request(start, offers.Request{Machines: 2, Each: resources.Vector{1}})
	require.NoError(t, err)
	require.Equal(t, 1, run(at(1)), "the rest of the machine")
	require.Empty(t, read(t, g, at(1)).Answers)
	run(at(2))
	require.Len(t, read(t, g, at(2)).Answers, 1)
}

// Reserved room is for others when the gang is withdrawn.
func TestRequest_ReleasesItsReservation(t *testing.T) {
	for name, end := range map[string]func(g *offers.Framework, id offers.RequestID) error{
		"withdrawn":    func(g *offers.Framework, id offers.RequestID) error { return g.Withdraw(at(2), id) },
		"given up":     func(*offers.Framework, offers.RequestID) error { return nil },
		"disconnected": func(g *offers.Framework, _ offers.RequestID) error { return g.Disconnect(at(2)) },
	} {
		t.Run(name, func(t *testing.T) {
			m, run := busy(t, 4, 1)
			g := register(t, m, offers.Registration{Name: "g", Minimum: resources.Vector{5}})
			r := offers.Request{Machines: 4, Each: resources.Vector{4}}
			if name == "given up" {
				r.Deadline = at(3)
			}
			id, err := g.Request(start, r)
			require.NoError(t, err)
			require.Zero(t, run(at(1)))
			require.Zero(t, run(at(2)))
			require.NoError(t, end(g, id))
			require.Equal(t, 3, run(at(3)), "with what has just ended")
		})
	}
}

// Nothing is reserved for a framework that declines again and again.
func TestRequest_BackedOffFrameworkReservesNothing(t *testing.T) {
	m, run := busy(t, 4, 1)
	g := register(t, m, offers.Registration{Name: "g"})
	for s := 1; s <= 2; s++ {
		run(at(float64(s)))
		got := read(t, g, at(float64(s))).Offers
		require.Len(t, got, 1)
		require.NoError(t, g.Decline(at(float64(s)), offers.For(0), ids(got)...))
	}
	require.NoError(t, g.Suppress(at(2)))
	_, err := g.Request(at(2), offers.Request{Machines: 4, Each: resources.Vector{4}})
	require.NoError(t, err)
	for s := 3; s <= 20; s++ {
		require.Positive(t, run(at(float64(s))))
	}
}

// A request that may revoke within its guarantee has room that a gang reserves, and room
// that is to be looked at, before any framework that the order puts first.
func TestRequest_WithinAGuaranteeGoesFirst(t *testing.T) {
	m, run := busy(t, 4, 1)
	owner := register(t, m, offers.Registration{Name: "owner", Guaranteed: resources.Vector{4}, Minimum: resources.Vector{5}})
	g := register(t, m, offers.Registration{Name: "g", Minimum: resources.Vector{5}})
	_, err := g.Request(start, offers.Request{Machines: 4, Each: resources.Vector{4}})
	require.NoError(t, err)
	require.Zero(t, run(at(1)))
	require.Zero(t, run(at(2)))
	_, err = owner.Request(at(2), offers.Request{Machines: 1, Each: resources.Vector{4}, Revoke: true})
	require.NoError(t, err)
	require.Len(t, read(t, owner, at(2)).Answers, 1)
	for s := 3; s <= 5; s++ {
		run(at(float64(s)))
		require.Empty(t, read(t, g, at(float64(s))).Answers, "it needs all four")
	}
}

// Of declined room a framework that is overdue has a part, though frameworks with
// requests hold less than it does.
func TestRequest_WaitsForAnOverdueFramework(t *testing.T) {
	cell, _ := newCell(t, 2, resources.Vector{4})
	m := newMaster(t, cell, offers.Config{Interval: offers.For(time.Nanosecond)})
	f := register(t, m, offers.Registration{Name: "f", Outstanding: 1})
	var tasks []omega.AllocationID // of which the last stays
	for _, o := range read(t, f, start).Offers {
		ids, err := f.Accept(start, launch(o.ID, 4))
		require.NoError(t, err)
		tasks = append(tasks, ids...)
	}
	one := offers.Request{Machines: 1, Each: resources.Vector{4}}
	askers := make([]*offers.Framework, 2)
	for i, name := range []string{"a", "b"} {
		askers[i] = register(t, m, offers.Registration{Name: name})
		require.NoError(t, askers[i].Suppress(start))
		_, err := askers[i].Request(start, one)
		require.NoError(t, err)
	}
	require.NoError(t, f.Release(start, tasks[0]))
	got, answers := 0, 0
	for s := 1; s < 200; s++ {
		now := at(float64(s))
		require.NoError(t, m.Step(now))
		for _, o := range read(t, f, now).Offers {
			got++
			tasks, err := f.Accept(now, launch(o.ID, 4))
			require.NoError(t, err)
			require.NoError(t, f.Release(now, tasks...))
		}
		for _, g := range askers {
			for _, answer := range read(t, g, now).Answers {
				_, err := g.Request(now, one)
				require.NoError(t, err)
				if answers++; answers%3 == 1 { // a framework that accepts the next one does not decline it
					require.NoError(t, g.Decline(now, offers.For(0), ids(answer.Offers)...))
				} else {
					require.NoError(t, g.Release(now, take(t, g, now, answer, 4)...))
				}
			}
		}
	}
	require.Positive(t, got)
	require.Greater(t, answers, 5*got)
}

// A framework that wants leftovers comes after a request that is next.
func TestRequest_GoesBeforeLaterLeftovers(t *testing.T) {
	cell, _ := newCell(t, 2, resources.Vector{4})
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f", Outstanding: 0.5})
	tasks, err := f.Accept(start, launch(read(t, f, start).Offers[0].ID, 4))
	require.NoError(t, err)
	require.NoError(t, f.Suppress(start))
	require.NoError(t, f.Decline(start, offers.For(0), ids(read(t, f, start).Offers)...))
	g := register(t, m, offers.Registration{Name: "g", Minimum: resources.Vector{5}})
	_, err = g.Request(start, offers.Request{Machines: 2, Each: resources.Vector{4}})
	require.NoError(t, err)
	require.NoError(t, f.Revive(start))
	require.Empty(t, read(t, f, start).Offers)
	require.NoError(t, f.Release(start, tasks...))
	require.Len(t, read(t, g, start).Answers, 1)
}

// Room that no framework wants any more is there at once for a gang that nothing was kept
// for.
func TestRequest_TakesUnwantedRoom(t *testing.T) {
	cell, _ := newCell(t, 2, resources.Vector{4})
	m := newMaster(t, cell, offers.Config{})
	g := register(t, m, offers.Registration{Name: "g"})
	for range 3 {
		require.NoError(t, g.Decline(start, offers.For(0), ids(read(t, g, start).Offers)...))
	}
	require.NoError(t, g.Suppress(start))
	f := register(t, m, offers.Registration{Name: "f", Outstanding: 1})
	var tasks []omega.AllocationID
	for _, o := range read(t, f, start).Offers {
		ids, err := f.Accept(start, launch(o.ID, 4))
		require.NoError(t, err)
		tasks = append(tasks, ids...)
	}
	require.Len(t, tasks, 2)
	require.NoError(t, f.Suppress(start))
	_, err := g.Request(at(5), offers.Request{Machines: 2, Each: resources.Vector{4}})
	require.NoError(t, err)
	require.NoError(t, f.Release(at(5), tasks...))
	require.Len(t, read(t, g, at(5)).Answers, 1)
}

// Where schedulers without a master have taken reserved room, the rest is free for any
// framework. So is all of it when nothing is reserved any more.
func TestStep_ReleasesReservations(t *testing.T) {
	cell, machines := newCell(t, 2, resources.Vector{4})
	optimist, err := cell.Register("optimist", omega.Limits{})
	require.NoError(t, err)
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f", Outstanding: 1})
	var tasks []omega.AllocationID
	for _, o := range read(t, f, start).Offers {
		ids, err := f.Accept(start, launch(o.ID, 4))
		require.NoError(t, err)
		tasks = append(tasks, ids...)
	}
	g := register(t, m, offers.Registration{Name: "g", Minimum: resources.Vector{5}})
	_, err = g.Request(start, offers.Request{Machines: 2, Each: resources.Vector{4}})
	require.NoError(t, err)
	on := func(machine int) omega.AllocationID {
		for a := range f.Tasks() {
			if a.Machine == machines[machine] {
				return a.ID
			}
		}
		return omega.AllocationID{}
	}
	require.Len(t, tasks, 2)
	require.NoError(t, f.Release(start, on(0)))
	require.Empty(t, read(t, f, start).Offers)

	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: machines[0], Need: resources.Vector{2}})
	granted, err := optimist.Commit(&tx)
	require.NoError(t, err)
	require.Zero(t, granted, "the cell keeps it from all schedulers")
	require.ErrorIs(t, tx.Err(0), omega.ErrConflict)

	require.NoError(t, m.SetTerms(at(1), offers.Terms{Optimistic: true}))
	got := read(t, f, at(1)).Offers
	require.Len(t, got, 1)
	require.Equal(t, resources.Vector{4}, got[0].Room)
}

package offers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// A filter that hides more, but not for as long, does not end one that hides less.
func TestDecline_AShorterFilterEndsNoLongerOne(t *testing.T) {
	cell, machines := newCell(t, 1, resources.Vector{8})
	optimist, err := cell.Register("optimist", omega.Limits{})
	require.NoError(t, err)
	// take leaves four free.
	take := func() omega.AllocationID {
		var tx omega.Txn
		tx.Claim(omega.Claim{Machine: machines[0], Need: resources.Vector{4}})
		granted, err := optimist.Commit(&tx)
		require.NoError(t, err)
		require.Equal(t, 1, granted)
		task, ok := tx.Allocation(0)
		require.True(t, ok)
		return task
	}
	half := take()
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f"})
	require.NoError(t, f.Decline(start, offers.For(60*time.Second), ids(read(t, f, start).Offers)...))

	require.NoError(t, optimist.Release(half))
	require.NoError(t, m.Step(at(1)))
	got := read(t, f, at(1)).Offers
	require.Len(t, got, 1)
	require.Equal(t, resources.Vector{8}, got[0].Room)
	require.NoError(t, f.Decline(at(1), offers.For(5*time.Second), got[0].ID))

	take()
	require.NoError(t, m.Step(at(6)))
	require.Empty(t, read(t, f, at(6)).Offers, "half of it is hidden for a minute")
	require.NoError(t, m.Step(at(60)))
	require.Len(t, read(t, f, at(60)).Offers, 1)
}

// Of two requests that wait for the same room the one of the framework that declines less
// is first, though it came later.
func TestRequest_FewerRefusalsGoFirst(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{4})
	m := newMaster(t, cell, offers.Config{})
	fussy := register(t, m, offers.Registration{Name: "fussy"})
	require.NoError(t, fussy.Decline(start, offers.For(0), ids(read(t, fussy, start).Offers)...))
	require.NoError(t, fussy.Decline(start, offers.For(0), ids(read(t, fussy, start).Offers)...))
	worker := register(t, m, offers.Registration{Name: "worker"})
	tasks, err := worker.Accept(start, launch(read(t, worker, start).Offers[0].ID, 4))
	require.NoError(t, err)

	modest := register(t, m, offers.Registration{Name: "modest"})
	for _, f := range []*offers.Framework{fussy, modest} {
		_, err := f.Request(start, offers.Request{Machines: 1, Each: resources.Vector{4}})
		require.NoError(t, err)
	}
	require.NoError(t, worker.Release(start, tasks...))
	require.Empty(t, read(t, fussy, start).Answers)
	require.Len(t, read(t, modest, start).Answers, 1)
}

// A victim is not preempted if its room is not needed any more when the grace is over.
func TestRequest_PreemptsNoMoreThanIsNeededInTheEnd(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{6})
	m := newMaster(t, cell, offers.Config{Grace: offers.For(10 * time.Second)})
	sure := register(t, m, offers.Registration{Name: "sure", Guaranteed: resources.Vector{2}})
	safe, err := sure.Accept(start, launch(read(t, sure, start).Offers[0].ID, 2))
	require.NoError(t, err)
	require.NoError(t, sure.Decline(start, offers.Span{}, ids(read(t, sure, start).Offers)...))
	low := register(t, m, offers.Registration{Name: "low"})
	two := offers.Task{Need: resources.Vector{2}}
	_, err = low.Accept(start, offers.Launch{Offers: ids(read(t, low, start).Offers), Tasks: []offers.Task{two, two}})
	require.NoError(t, err)

	big := register(t, m, offers.Registration{Name: "big", Guaranteed: resources.Vector{4}})
	_, err = big.Request(start, offers.Request{Machines: 1, Each: resources.Vector{4}, Revoke: true})
	require.NoError(t, err)
	require.Len(t, read(t, low, start).Revoked, 2)
	require.NoError(t, sure.Release(at(1), safe...))
	require.Empty(t, read(t, big, at(1)).Answers, "half of it is free")

	require.NoError(t, m.Step(at(10)))
	require.Len(t, read(t, big, at(10)).Answers, 1)
	require.NoError(t, m.Step(at(10)))
	news := read(t, low, at(10))
	require.Len(t, news.Tasks, 1)
	require.Len(t, news.Spared, 1)
}

// A framework that ends another task before the grace is over keeps its victim, if
// without it the framework would have less than its guarantee. Then another task has to
// leave, or on another machine.
func TestRequest_SparesTasksGuaranteedMeanwhile(t *testing.T) {
	cell, _ := newCell(t, 2, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{Grace: offers.For(10 * time.Second)})
	low := register(t, m, offers.Registration{Name: "low", Guaranteed: resources.Vector{10}})
	got := read(t, low, start).Offers
	whole, err := low.Accept(start, launch(got[0].ID, 10))
	require.NoError(t, err)
	five := offers.Task{Need: resources.Vector{5}}
	halves, err := low.Accept(start, offers.Launch{Offers: ids(got[1:]), Tasks: []offers.Task{five, five}})
	require.NoError(t, err)
	require.NoError(t, low.Suppress(start))
	owner := register(t, m, offers.Registration{Name: "owner", Guaranteed: resources.Vector{10}})
	_, err = owner.Request(start, offers.Request{Machines: 1, Each: resources.Vector{10}, Revoke: true})
	require.NoError(t, err)
	revoked := read(t, low, start).Revoked
	require.Len(t, revoked, 1)
	require.Equal(t, whole[0], revoked[0].Task.ID)

	require.NoError(t, low.Release(at(1), halves[0]))
	require.NoError(t, m.Step(at(10)))
	news := read(t, low, at(10))
	require.Empty(t, news.Tasks, "it would have half of what it is guaranteed")
	require.Len(t, news.Spared, 1)
	require.Len(t, news.Revoked, 1)
	require.Equal(t, halves[1], news.Revoked[0].Task.ID)
	require.NoError(t, m.Step(at(20)))
	require.Len(t, read(t, owner, at(20)).Answers, 1)
	require.EqualValues(t, 10, keeps(low))
}

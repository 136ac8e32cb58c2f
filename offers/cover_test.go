package offers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// full is a cell of some machines of four, all of which v has in tasks of so much;
// g is guaranteed four.
func full(t *testing.T, machines int, each int64, cfg offers.Config) (m *offers.Master, v, g *offers.Framework, tasks []omega.AllocationID) {
	t.Helper()
	cell, _ := newCell(t, machines, resources.Vector{4})
	m = newMaster(t, cell, cfg)
	v = register(t, m, offers.Registration{Name: "v"})
	for _, o := range read(t, v, start).Offers {
		l := offers.Launch{Offers: []offers.OfferID{o.ID}}
		for range 4 / each {
			l.Tasks = append(l.Tasks, offers.Task{Need: resources.Vector{each}})
		}
		got, err := v.Accept(start, l)
		require.NoError(t, err)
		tasks = append(tasks, got...)
	}
	require.NoError(t, v.Suppress(start))
	g = register(t, m, offers.Registration{Name: "g", Guaranteed: resources.Vector{4}, Outstanding: 1})
	return m, v, g, tasks
}

// Room that a framework has asked for counts as room that it has.
func TestRequest_RevokesNoMoreThanTheGuaranteeInAll(t *testing.T) {
	m, v, g, _ := full(t, 2, 4, offers.Config{Grace: offers.For(time.Second)})
	ask := offers.Request{Machines: 1, Each: resources.Vector{4}, Deadline: at(10), Revoke: true}
	_, err := g.Request(start, ask)
	require.NoError(t, err)
	_, err = g.Request(start, ask)
	require.ErrorIs(t, err, offers.ErrExceeds)
	require.ErrorContains(t, err, "kind0=8")
	for s := range 5 {
		require.NoError(t, m.Step(at(float64(s))))
	}
	require.Len(t, read(t, g, at(5)).Answers, 1)
	require.Len(t, read(t, v, at(5)).Tasks, 1)
}

// A request past its deadline does not count, even if no Step has noticed.
func TestRequest_CountsNoneThatHasExpired(t *testing.T) {
	_, _, g, _ := full(t, 2, 4, offers.Config{})
	_, err := g.Request(start, offers.Request{Machines: 1, Each: resources.Vector{4}, Deadline: at(5), Revoke: true})
	require.NoError(t, err)
	_, err = g.Request(at(5), offers.Request{Machines: 1, Each: resources.Vector{4}, Revoke: true})
	require.NoError(t, err)
}

// A framework that comes to have more while others are to leave for it has to make
// do with that, until it has less again.
func TestRequest_RevocationEndsBeyondTheGuarantee(t *testing.T) {
	m, v, g, tasks := full(t, 2, 2, offers.Config{Grace: offers.For(30 * time.Second)})
	require.NoError(t, g.Suppress(start))
	id, err := g.Request(start, offers.Request{Machines: 1, Each: resources.Vector{4}, Revoke: true})
	require.NoError(t, err)
	told := read(t, v, start).Revoked
	require.Len(t, told, 2)
	require.NoError(t, g.Revive(at(1)))

	// It asks for half as much beside, and gets that where another task has left.
	for _, task := range tasks {
		if task != told[0].Task.ID && task != told[1].Task.ID {
			require.NoError(t, v.Release(at(1), task))
			break
		}
	}
	require.Empty(t, read(t, g, at(1)).Offers, "nothing else is offered to it meanwhile")
	_, err = g.Request(at(1), offers.Request{Machines: 1, Each: resources.Vector{2}})
	require.NoError(t, err)
	answers := read(t, g, at(1)).Answers
	require.Len(t, answers, 1)
	got := take(t, g, at(1), answers[0], 2)
	require.NoError(t, m.Step(at(2)))
	require.Len(t, read(t, v, at(2)).Spared, 2)
	require.NoError(t, m.Step(at(40)))
	news := read(t, v, at(40))
	require.Empty(t, news.Tasks)
	require.Empty(t, news.Revoked)

	require.NoError(t, g.Suppress(at(41)))
	require.NoError(t, g.Release(at(41), got...))
	require.NoError(t, m.Step(at(42)))
	require.NotEmpty(t, read(t, v, at(42)).Revoked, "it has less again")
	require.NoError(t, m.Step(at(80)))
	answers = read(t, g, at(80)).Answers
	require.Len(t, answers, 1)
	require.Equal(t, id, answers[0].Request)
}

// It is looked at once more when the grace is over, whatever has happened since.
func TestRequest_LooksAtItsOwnGuaranteeAtTheEndOfTheGrace(t *testing.T) {
	m, v, g, tasks := full(t, 2, 2, offers.Config{Grace: offers.For(30 * time.Second)})
	require.NoError(t, g.Suppress(start))
	_, err := g.Request(start, offers.Request{Machines: 1, Each: resources.Vector{4}, Revoke: true})
	require.NoError(t, err)
	told := read(t, v, start).Revoked
	_, err = g.Request(start, offers.Request{Machines: 1, Each: resources.Vector{2}})
	require.NoError(t, err)
	for _, task := range tasks {
		if task != told[0].Task.ID && task != told[1].Task.ID {
			require.NoError(t, v.Release(at(29), task))
			break
		}
	}
	require.Len(t, read(t, g, at(29)).Answers, 1)
	require.NoError(t, m.Step(at(30)))
	require.NoError(t, m.Step(at(31)))
	news := read(t, v, at(31))
	require.Empty(t, news.Tasks)
	require.Len(t, news.Spared, 2)
}

// Room that comes free elsewhere is as good: then no victim has to leave.
func TestRequest_TakesRoomElsewhereWhileOthersAreToLeave(t *testing.T) {
	m, v, g, tasks := full(t, 2, 4, offers.Config{})
	_, err := g.Request(start, offers.Request{Machines: 1, Each: resources.Vector{4}, Revoke: true})
	require.NoError(t, err)
	told := read(t, v, start).Revoked
	require.Len(t, told, 1)
	for _, task := range tasks {
		if task != told[0].Task.ID {
			require.NoError(t, v.Release(at(1), task))
		}
	}
	news := read(t, g, at(1))
	require.Len(t, news.Answers, 1)
	require.Empty(t, news.Offers)
	require.Equal(t, []omega.Allocation{told[0].Task}, read(t, v, at(1)).Spared)
	require.NoError(t, m.Step(at(40)))
	require.Empty(t, read(t, v, at(40)).Tasks)
}

// Of several requests that are too much together the first one goes on.
func TestRequest_RevocationOfTheLatestEndsFirst(t *testing.T) {
	m, v, g, _ := full(t, 3, 1, offers.Config{Grace: offers.For(10 * time.Second)})
	require.NoError(t, g.Suppress(start))
	free := make(map[omega.MachineID]omega.AllocationID)
	for a := range v.Tasks() {
		free[a.Machine] = a.ID
	}
	var asked [2]offers.RequestID
	var told [2][]offers.Notice
	for i := range asked {
		var err error
		asked[i], err = g.Request(start, offers.Request{Machines: 1, Each: resources.Vector{2}, Revoke: true})
		require.NoError(t, err)
		told[i] = read(t, v, start).Revoked
		require.Len(t, told[i], 2)
		delete(free, told[i][0].Task.Machine)
	}
	_, err := g.Request(start, offers.Request{Machines: 1, Each: resources.Vector{1}})
	require.NoError(t, err)
	require.Len(t, free, 1)
	for _, task := range free {
		require.NoError(t, v.Release(at(1), task))
	}
	take(t, g, at(1), read(t, g, at(1)).Answers[0], 1)
	require.NoError(t, m.Step(at(2)))
	spared := read(t, v, at(2)).Spared
	require.ElementsMatch(t, []omega.Allocation{told[1][0].Task, told[1][1].Task}, spared)
	require.NoError(t, m.Step(at(10)))
	answers := read(t, g, at(10)).Answers
	require.Len(t, answers, 1)
	require.Equal(t, asked[0], answers[0].Request)
}

// Room that comes free meanwhile and is too little for the request is for others. It is
// for the framework itself once no victim has to leave for it.
func TestWithdraw_OffersTheRoomLeft(t *testing.T) {
	m, v, g, _ := full(t, 2, 2, offers.Config{})
	id, err := g.Request(start, offers.Request{Machines: 1, Each: resources.Vector{4}, Revoke: true})
	require.NoError(t, err)
	on := read(t, v, start).Revoked[0].Task.Machine
	for a := range v.Tasks() {
		if a.Machine != on {
			require.NoError(t, v.Release(at(1), a.ID))
			break
		}
	}
	require.NoError(t, m.Step(at(2)))
	require.Empty(t, read(t, g, at(2)).Offers)
	require.NoError(t, g.Withdraw(at(3), id))
	require.Len(t, read(t, g, at(3)).Offers, 1)
	require.Len(t, read(t, v, at(3)).Spared, 2)
}

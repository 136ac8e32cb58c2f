package offers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// vacated returns a master of one machine, which f runs a task on and is asked to
// leave by the 60th second, while it is away.
func vacated(t *testing.T) (*offers.Master, omega.MachineID, offers.Registration, []omega.AllocationID) {
	t.Helper()
	cell, machines := newCell(t, 2, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	r := offers.Registration{Name: "f", Failover: offers.For(90 * time.Second)}
	f := register(t, m, r)
	tasks, err := f.Accept(start, launch(read(t, f, start).Offers[0].ID, 10))
	require.NoError(t, err)
	require.NoError(t, f.Disconnect(at(1)))
	asked, err := m.Vacate(at(2), machines[0], at(60))
	require.NoError(t, err)
	require.Equal(t, 1, asked)
	require.Equal(t, []offers.Reply{{Framework: "f"}}, m.Replies(machines[0]))
	return m, machines[0], r, tasks
}

// A framework that is away is asked when it comes back in time.
func TestVacate_AsksAnAbsentFrameworkOnItsReturn(t *testing.T) {
	m, machine, r, tasks := vacated(t)
	f, err := m.Register(at(59), r)
	require.NoError(t, err)
	require.Equal(t, []offers.Leave{{Machine: machine, By: at(60), Tasks: tasks}}, read(t, f, at(59)).Leave)
	require.NoError(t, f.Reply(at(59), machine, true))
	require.Equal(t, []offers.Reply{{Framework: "f", Answered: true, Agreed: true}}, m.Replies(machine))
	// It is not asked again what it has answered, nor to leave with nothing there.
	require.NoError(t, f.Disconnect(at(59)))
	f, err = m.Register(at(59), r)
	require.NoError(t, err)
	require.Empty(t, read(t, f, at(59)).Leave)
	_, err = m.Vacate(at(59), machine, at(70))
	require.NoError(t, err)
	require.NoError(t, f.Release(at(59), tasks...))
	require.NoError(t, f.Disconnect(at(59)))
	f, err = m.Register(at(59), r)
	require.NoError(t, err)
	require.Empty(t, read(t, f, at(59)).Leave)
}

// One that comes back later is asked nothing, and its tasks go on.
func TestVacate_AsksNoFrameworkAfterTheDeadline(t *testing.T) {
	m, machine, r, tasks := vacated(t)
	f, err := m.Register(at(60), r)
	require.NoError(t, err)
	require.Empty(t, read(t, f, at(60)).Leave)
	require.Equal(t, []offers.Reply{{Framework: "f"}}, m.Replies(machine), "it has not answered")
	require.NoError(t, f.Release(at(60), tasks...))
}

// A framework that never comes back has ended, and its inverse offers with it: a later
// framework of its name is another one.
func TestVacate_AsksNoEndedFramework(t *testing.T) {
	m, machine, r, _ := vacated(t)
	require.NoError(t, m.Step(at(91)))
	require.Empty(t, m.Replies(machine))
	f, err := m.Register(at(91), r)
	require.NoError(t, err)
	require.Empty(t, read(t, f, at(91)).Leave)
	require.ErrorIs(t, f.Reply(at(91), machine, true), offers.ErrUnknown)
}

// A framework that a successor found, and that has not registered yet, is asked as well.
func TestVacate_AsksAnExpectedFramework(t *testing.T) {
	cell, machines := newCell(t, 1, resources.Vector{10})
	f := register(t, newMaster(t, cell, offers.Config{}), offers.Registration{Name: "f"})
	tasks, err := f.Accept(start, launch(read(t, f, start).Offers[0].ID, 10))
	require.NoError(t, err)
	m := newMaster(t, cell, offers.Config{})
	asked, err := m.Vacate(start, machines[0], at(60))
	require.NoError(t, err)
	require.Equal(t, 1, asked)
	f = register(t, m, offers.Registration{Name: "f"})
	require.Equal(t, []offers.Leave{{Machine: machines[0], By: at(60), Tasks: tasks}}, read(t, f, start).Leave)
}

// An unread inverse offer goes once it is withdrawn or made for another time, or once the
// machine is gone. So a framework that does not read its news keeps one question for each
// machine at most.
func TestVacate_ForgetsUnreadNews(t *testing.T) {
	cell, machines := newCell(t, 2, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f", Outstanding: 1})
	tasks := make(map[omega.MachineID][]omega.AllocationID)
	for _, o := range read(t, f, start).Offers {
		ids, err := f.Accept(start, launch(o.ID, 10))
		require.NoError(t, err)
		tasks[o.Machine] = ids
	}
	vacate := func(i int, by time.Time) {
		_, err := m.Vacate(start, machines[i], by)
		require.NoError(t, err)
	}
	leave := func(i int, by float64) offers.Leave {
		return offers.Leave{Machine: machines[i], By: at(by), Tasks: tasks[machines[i]]}
	}
	vacate(0, at(100))
	vacate(1, at(150))
	vacate(0, at(200))
	require.Equal(t, []offers.Leave{leave(1, 150), leave(0, 200)}, read(t, f, start).Leave)
	require.NoError(t, f.Reply(start, machines[0], true))

	vacate(0, at(300))
	vacate(1, at(300))
	vacate(0, time.Time{})
	require.Equal(t, []offers.Leave{leave(1, 300)}, read(t, f, start).Leave)
	require.ErrorIs(t, f.Reply(start, machines[0], true), offers.ErrUnknown)

	vacate(0, at(400))
	vacate(1, at(400))
	_, err := cell.Remove(machines[0])
	require.NoError(t, err)
	require.NoError(t, m.Step(at(1)))
	require.Equal(t, []offers.Leave{leave(1, 400)}, read(t, f, at(1)).Leave)
}

// An offer shows the time by which the machine is to be left when it is read, whenever
// the offer was made.
func TestVacate_IsToldWithOffersMadeBefore(t *testing.T) {
	for name, by := range map[string][]time.Time{
		"asked": {at(60)}, "asked again": {at(60), at(90)}, "not any more": {at(60), {}},
	} {
		t.Run(name, func(t *testing.T) {
			cell, machines := newCell(t, 1, resources.Vector{10})
			m := newMaster(t, cell, offers.Config{})
			gang := register(t, m, offers.Registration{Name: "gang", Minimum: resources.Vector{100}})
			_, err := gang.Request(start, offers.Request{Machines: 1, Each: resources.Vector{4}})
			require.NoError(t, err)
			f := register(t, m, offers.Registration{Name: "f"})
			for _, one := range by {
				_, err := m.Vacate(start, machines[0], one)
				require.NoError(t, err)
			}
			news, answers := read(t, f, start), read(t, gang, start).Answers
			require.Len(t, news.Offers, 1)
			require.Len(t, answers, 1)
			require.Equal(t, by[len(by)-1], news.Offers[0].Leave)
			require.Equal(t, by[len(by)-1], answers[0].Offers[0].Leave)
		})
	}
}

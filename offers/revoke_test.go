package offers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// crowd fills a cell of three machines: low and high have ten each there, of
// precedence 1 and 9; what owner may have is guaranteed.
func crowd(t *testing.T, guarantee map[string]int64) (m *offers.Master, cell *omega.Cell, owner, low, high *offers.Framework, tasks map[*offers.Framework][]omega.AllocationID) {
	t.Helper()
	cell, _ = newCell(t, 3, resources.Vector{20})
	m = newMaster(t, cell, offers.Config{Grace: offers.For(10 * time.Second)})
	of := func(name string, p omega.Precedence) *offers.Framework {
		return register(t, m, offers.Registration{
			Name: name, Precedence: p, Guaranteed: resources.Vector{guarantee[name]}, Outstanding: 1,
		})
	}
	tasks = make(map[*offers.Framework][]omega.AllocationID)
	low = of("low", 1)
	ten := []offers.Task{{Need: resources.Vector{10}}}
	started := func(f *offers.Framework) {
		for _, o := range read(t, f, start).Offers {
			got, err := f.Accept(start, offers.Launch{Offers: []offers.OfferID{o.ID}, Tasks: ten, Filter: true})
			require.NoError(t, err)
			tasks[f] = append(tasks[f], got...)
		}
	}
	started(low)
	high = of("high", 9)
	started(high)
	owner = of("owner", 0)
	require.Empty(t, read(t, owner, start).Offers)
	for st := range cell.Machines() {
		require.Zero(t, st.Free)
	}
	return m, cell, owner, low, high, tasks
}

func TestRequest_RevokesFromTheLowestPrecedenceWithNotice(t *testing.T) {
	m, cell, owner, low, high, tasks := crowd(t, map[string]int64{"owner": 20})
	_, err := owner.Request(at(1), offers.Request{Machines: 1, Each: resources.Vector{11}, Revoke: true})
	require.NoError(t, err)
	fromLow, fromHigh := read(t, low, at(1)).Revoked, read(t, high, at(1)).Revoked
	require.Len(t, fromLow, 1)
	require.Len(t, fromHigh, 1, "one alone does not make room for it")
	require.Equal(t, tasks[low][0], fromLow[0].Task.ID)
	require.Equal(t, at(11), fromLow[0].Until)

	// One leaves before it has to; the room is not for others.
	require.NoError(t, high.Release(at(5), fromHigh[0].Task.ID))
	require.NoError(t, m.Step(at(10)))
	require.Empty(t, read(t, high, at(10)).Offers)
	require.Empty(t, read(t, owner, at(10)).Answers)
	require.NoError(t, m.Step(at(11)))
	a := read(t, owner, at(11)).Answers
	require.Len(t, a, 1)
	require.Equal(t, at(11), a[0].Offers[0].Ready, "the other one has had its time")
	take(t, owner, at(11), a[0], 11)
	require.NoError(t, m.Step(at(12)))
	marks := read(t, low, at(12)).Tasks
	require.Len(t, marks, 1)
	require.Equal(t, omega.Preempted, marks[0].Fate)
	require.Equal(t, "offers", marks[0].By)
	require.NoError(t, low.Release(at(12), marks[0].Allocation.ID))
	require.NoError(t, cell.Check())
}

// A machine with a task that is guaranteed once another one is revoked does not keep the
// request from the machines after it.
func TestRequest_PassesOverAMachineThatIsGuaranteedByThen(t *testing.T) {
	cell, _ := newCell(t, 3, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{Grace: offers.For(10 * time.Second)})
	of := func(name string, p omega.Precedence, guaranteed int64) *offers.Framework {
		return register(t, m, offers.Registration{Name: name, Precedence: p, Guaranteed: resources.Vector{guaranteed}})
	}
	fill := func(f *offers.Framework, machines int) {
		for i, o := range read(t, f, start).Offers {
			var err error
			if i < machines {
				_, err = f.Accept(start, launch(o.ID, 10))
			} else {
				err = f.Decline(start, offers.For(time.Hour), o.ID)
			}
			require.NoError(t, err)
		}
	}
	low := of("low", 1, 10)
	fill(low, 2)
	high := of("high", 9, 0)
	fill(high, 1)
	owner := of("owner", 0, 20)
	_, err := owner.Request(at(1), offers.Request{Machines: 2, Each: resources.Vector{10}, Revoke: true})
	require.NoError(t, err)
	require.Len(t, read(t, low, at(1)).Revoked, 1)
	require.Len(t, read(t, high, at(1)).Revoked, 1)
}

// What is left early is offered early.
func TestRequest_DoesNotWaitForTheEndOfTheGrace(t *testing.T) {
	_, _, owner, low, high, _ := crowd(t, map[string]int64{"owner": 20})
	_, err := owner.Request(at(1), offers.Request{Machines: 2, Each: resources.Vector{10}, Revoke: true})
	require.NoError(t, err)
	require.Empty(t, read(t, high, at(1)).Revoked, "those of low are enough")
	got := read(t, low, at(1)).Revoked
	require.Len(t, got, 2)
	require.NoError(t, low.Release(at(2), got[0].Task.ID))
	require.Empty(t, read(t, owner, at(2)).Answers)
	require.NoError(t, low.Release(at(3), got[1].Task.ID))
	a := read(t, owner, at(3)).Answers
	require.Len(t, a, 1)
	require.Len(t, a[0].Offers, 2)
	require.True(t, a[0].Offers[0].Ready.IsZero())
}

func TestRequest_SparesGuaranteedTasks(t *testing.T) {
	tests := map[string]struct {
		guarantee map[string]int64
		machines  int
		each      int64
		low, high int // how many of their tasks are revoked
	}{
		"low may keep two":        {map[string]int64{"owner": 20, "low": 20}, 1, 10, 1, 0},
		"low may keep all":        {map[string]int64{"owner": 20, "low": 30}, 1, 10, 0, 1},
		"not by a part of a task": {map[string]int64{"owner": 20, "low": 21}, 1, 10, 0, 1},
		"one each":                {map[string]int64{"owner": 20, "low": 20, "high": 20}, 2, 10, 1, 1},
		"no more than one each":   {map[string]int64{"owner": 20, "low": 20, "high": 20}, 1, 20, 1, 1},
		"nothing is left":         {map[string]int64{"owner": 0, "low": 30, "high": 30}, 0, 0, 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m, cell, owner, low, high, _ := crowd(t, test.guarantee)
			if test.machines > 0 {
				_, err := owner.Request(at(1), offers.Request{
					Machines: test.machines, Each: resources.Vector{test.each}, Revoke: true,
				})
				require.NoError(t, err)
			}
			require.Len(t, read(t, low, at(1)).Revoked, test.low)
			require.Len(t, read(t, high, at(1)).Revoked, test.high)
			require.NoError(t, m.Step(at(11)))
			if test.machines > 0 {
				require.Len(t, read(t, owner, at(11)).Answers, 1)
			}
			require.NoError(t, cell.Check())
		})
	}
}

// Offers make room before tasks do.
func TestRequest_RescindsOffersFirst(t *testing.T) {
	cell, _ := newCell(t, 2, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	other := register(t, m, offers.Registration{Name: "other", Outstanding: 1})
	got := read(t, other, start).Offers
	_, err := other.Accept(start, launch(got[0].ID, 10))
	require.NoError(t, err)
	owner := register(t, m, offers.Registration{Name: "owner", Guaranteed: resources.Vector{20}})
	_, err = owner.Request(start, offers.Request{Machines: 1, Each: resources.Vector{4}, Revoke: true})
	require.NoError(t, err)
	require.Len(t, read(t, owner, start).Answers, 1)
	news := read(t, other, start)
	require.Empty(t, news.Revoked)
	require.Equal(t, []offers.Ended{{Offer: got[1].ID, Reason: offers.ErrRescinded}}, news.Ended)
}

// A revocation ends with its request, and begins anew where it comes to nothing.
func TestRequest_RevocationEndsWithIt(t *testing.T) {
	m, cell, owner, low, _, _ := crowd(t, map[string]int64{"owner": 20})
	id, err := owner.Request(at(1), offers.Request{Machines: 1, Each: resources.Vector{10}, Revoke: true})
	require.NoError(t, err)
	got := read(t, low, at(1)).Revoked
	require.Len(t, got, 1)
	require.NoError(t, low.Release(at(2), got[0].Task.ID))
	require.Len(t, read(t, owner, at(2)).Answers, 1)
	require.ErrorIs(t, owner.Withdraw(at(2), id), offers.ErrUnknown)

	_, err = owner.Request(at(3), offers.Request{Machines: 1, Each: resources.Vector{10}, Revoke: true})
	require.NoError(t, err)
	got = read(t, low, at(3)).Revoked
	require.Len(t, got, 1)
	_, err = cell.Remove(got[0].Task.Machine)
	require.NoError(t, err)
	require.NoError(t, m.Step(at(4)))
	again := read(t, low, at(4)).Revoked
	require.Len(t, again, 1, "the machine is gone, and so another one is to be left")
	require.NotEqual(t, got[0].Task.Machine, again[0].Task.Machine)
	require.NoError(t, owner.Disconnect(at(5)))
	require.NoError(t, m.Step(at(60)))
	st, _ := cell.State(again[0].Task.Machine)
	require.Equal(t, 2, st.Live, "nobody has to leave for whom is not there")
	require.NoError(t, cell.Check())
}

// When the grace and the deadline have both passed by the next step, no victim has to
// leave any more.
func TestRequest_RevokesNothingAfterItsDeadline(t *testing.T) {
	m, _, owner, low, high, _ := crowd(t, map[string]int64{"owner": 20})
	id, err := owner.Request(start, offers.Request{
		Machines: 1, Each: resources.Vector{11}, Deadline: at(15), Revoke: true,
	})
	require.NoError(t, err)
	require.Len(t, read(t, low, start).Revoked, 1)
	require.Len(t, read(t, high, start).Revoked, 1)
	require.NoError(t, m.Step(at(20)))
	require.Equal(t, []offers.Answer{{Request: id, Reason: offers.ErrExpired}}, read(t, owner, at(20)).Answers)
	for _, f := range []*offers.Framework{low, high} {
		news := read(t, f, at(20))
		require.Empty(t, news.Tasks)
		require.Len(t, news.Spared, 1)
	}
}

func TestVacate_IsInformation(t *testing.T) {
	cell, machines := newCell(t, 2, resources.Vector{20})
	m := newMaster(t, cell, offers.Config{})
	a := register(t, m, offers.Registration{Name: "a"})
	tasks, err := a.Accept(start, launch(read(t, a, start).Offers[0].ID, 10))
	require.NoError(t, err)
	b := register(t, m, offers.Registration{Name: "b"})

	asked, err := m.Vacate(at(1), machines[0], at(3600))
	require.NoError(t, err)
	require.Equal(t, 1, asked)
	require.Equal(t, []offers.Leave{{Machine: machines[0], By: at(3600), Tasks: tasks}}, read(t, a, at(1)).Leave)
	require.Empty(t, read(t, b, at(1)).Leave)
	require.Equal(t, []offers.Reply{{Framework: "a"}}, m.Replies(machines[0]))
	require.NoError(t, a.Reply(at(2), machines[0], true))
	require.Equal(t, []offers.Reply{{Framework: "a", Answered: true, Agreed: true}}, m.Replies(machines[0]))
	require.ErrorIs(t, b.Reply(at(2), machines[0], true), offers.ErrUnknown)
	require.ErrorIs(t, a.Reply(at(2), machines[1], true), offers.ErrUnknown)
	require.ErrorIs(t, a.Reply(at(2), 0, true), offers.ErrUnknown)
	_, err = m.Vacate(at(2), 0, at(3600))
	require.ErrorIs(t, err, omega.ErrUnknown)

	require.NoError(t, a.Release(at(2), tasks...))
	for _, o := range append(read(t, a, at(2)).Offers, read(t, b, at(2)).Offers...) {
		if o.Machine == machines[0] && o.Room[0] == 10 {
			require.Equal(t, at(3600), o.Leave, "who is offered the machine knows, too")
		}
	}
	asked, err = m.Vacate(at(3), machines[0], time.Time{})
	require.NoError(t, err)
	require.Zero(t, asked)
	require.Empty(t, m.Replies(machines[0]))
}

// A framework that was told to leave is told when it need not.
func TestNews_SparedNamesTasksThatStay(t *testing.T) {
	request := offers.Request{Machines: 1, Each: resources.Vector{10}, Revoke: true, Deadline: at(5)}
	tests := map[string]func(m *offers.Master, owner, high *offers.Framework, id offers.RequestID, on omega.MachineID) error{
		"the request is withdrawn": func(_ *offers.Master, owner, _ *offers.Framework, id offers.RequestID, _ omega.MachineID) error {
			return owner.Withdraw(at(2), id)
		},
		"it gives up": func(m *offers.Master, _, _ *offers.Framework, _ offers.RequestID, _ omega.MachineID) error {
			return m.Step(at(5))
		},
		"who asked is gone": func(_ *offers.Master, owner, _ *offers.Framework, _ offers.RequestID, _ omega.MachineID) error {
			return owner.Disconnect(at(2))
		},
		"somebody else has left": func(_ *offers.Master, _, high *offers.Framework, _ offers.RequestID, on omega.MachineID) error {
			for a := range high.Tasks() {
				if a.Machine == on {
					return high.Release(at(2), a.ID)
				}
			}
			return nil
		},
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			m, cell, owner, low, high, _ := crowd(t, map[string]int64{"owner": 20})
			id, err := owner.Request(at(1), request)
			require.NoError(t, err)
			news := read(t, low, at(1))
			require.Len(t, news.Revoked, 1)
			require.Empty(t, news.Spared)
			task := news.Revoked[0].Task
			require.NoError(t, end(m, owner, high, id, task.Machine))
			news = read(t, low, at(5))
			require.Equal(t, []omega.Allocation{task}, news.Spared)
			require.Empty(t, news.Revoked)
			require.NoError(t, m.Step(at(60)))
			require.EqualValues(t, 30, keeps(low), "and it is not preempted")
			require.Empty(t, read(t, low, at(60)).Spared, "it is told once")
			require.NoError(t, cell.Check())
		})
	}
}

// A task that has to leave, or has left, is not spared; and of what changes before the
// news are read, the last is told.
func TestNews_LastOfRevokeAndSpareWins(t *testing.T) {
	m, cell, owner, low, _, _ := crowd(t, map[string]int64{"owner": 30})
	ask := func(now time.Time, machines int) offers.RequestID {
		id, err := owner.Request(now, offers.Request{Machines: machines, Each: resources.Vector{10}, Revoke: true})
		require.NoError(t, err)
		return id
	}
	first := ask(at(1), 1)
	task := read(t, low, at(1)).Revoked[0].Task
	require.NoError(t, owner.Withdraw(at(2), first))
	second := ask(at(3), 1)
	news := read(t, low, at(3))
	require.Empty(t, news.Spared)
	require.Equal(t, []offers.Notice{{Task: task, Until: at(13)}}, news.Revoked, "the time is another one")
	require.NoError(t, owner.Withdraw(at(4), second))
	ask(at(5), 1)
	third := ask(at(5), 1)
	require.NoError(t, owner.Withdraw(at(6), third))
	news = read(t, low, at(6))
	require.Len(t, news.Revoked, 1)
	require.Len(t, news.Spared, 1, "that of the third request")
	require.NotEqual(t, news.Revoked[0].Task.ID, news.Spared[0].ID)
	require.NoError(t, m.Step(at(15)))
	require.Len(t, read(t, owner, at(15)).Answers, 1)
	require.NoError(t, m.Step(at(15)))
	news = read(t, low, at(15))
	require.Len(t, news.Tasks, 1)
	require.Empty(t, news.Spared, "it is preempted")
	gone := ask(at(16), 1)
	left := read(t, low, at(16)).Revoked[0].Task
	require.NoError(t, low.Release(at(17), left.ID))
	require.Len(t, read(t, owner, at(17)).Answers, 1)
	require.ErrorIs(t, owner.Withdraw(at(17), gone), offers.ErrUnknown)
	require.Empty(t, read(t, low, at(17)).Spared, "it has left")
	require.NoError(t, cell.Check())
}

// Of a task that runs no more there is nothing to be told but how it ended.
func TestNews_RevokedNamesOnlyRunningTasks(t *testing.T) {
	tests := map[string]struct {
		spared bool // it may stay after all
		lost   bool // its machine goes, instead of the task
	}{
		"released":     {},
		"lost":         {lost: true},
		"spared":       {spared: true},
		"spared, gone": {spared: true, lost: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m, cell, owner, low, _, tasks := crowd(t, map[string]int64{"owner": 20})
			id, err := owner.Request(at(1), offers.Request{Machines: 1, Each: resources.Vector{10}, Revoke: true})
			require.NoError(t, err)
			if tt.spared {
				require.NoError(t, owner.Withdraw(at(1), id))
			}
			if tt.lost {
				for _, machine := range tasks[low] {
					_, err = cell.Remove(machineOf(t, cell, machine))
					require.NoError(t, err)
				}
				require.NoError(t, m.Step(at(2)))
			} else {
				require.NoError(t, low.Release(at(2), tasks[low]...))
			}
			news := read(t, low, at(2))
			require.Empty(t, news.Revoked)
			require.Empty(t, news.Spared)
			if tt.lost {
				require.Len(t, news.Tasks, len(tasks[low]))
			}
		})
	}
}

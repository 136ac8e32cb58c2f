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

func TestFramework_ComesBackInTime(t *testing.T) {
	cell, _ := newCell(t, 3, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	r := offers.Registration{Name: "f", Outstanding: 1, Failover: offers.For(20 * time.Second)}
	f := register(t, m, r)
	other := register(t, m, offers.Registration{Name: "other"})
	got := read(t, f, start).Offers
	tasks, err := f.Accept(start, launch(got[0].ID, 10))
	require.NoError(t, err)
	require.NoError(t, f.Disconnect(at(1)))
	_, err = f.News(at(1))
	require.ErrorIs(t, err, offers.ErrFenced)
	require.NoError(t, m.Step(at(20)))

	again, err := m.Register(at(20.5), r)
	require.NoError(t, err)
	require.Equal(t, got[1:], read(t, again, at(20.5)).Offers, "what it was offered is told again")
	var running []omega.AllocationID
	for a := range again.Tasks() {
		running = append(running, a.ID)
	}
	require.Equal(t, tasks, running)
	_, err = f.Accept(at(20.5), launch(got[1].ID, 1))
	require.ErrorIs(t, err, offers.ErrFenced)
	for name, err := range map[string]error{
		"decline":    f.Decline(at(20.5), offers.Span{}, got[1].ID),
		"release":    f.Release(at(20.5), tasks...),
		"revive":     f.Revive(at(20.5)),
		"suppress":   f.Suppress(at(20.5)),
		"disconnect": f.Disconnect(at(20.5)),
		"unregister": f.Unregister(at(20.5)),
	} {
		require.ErrorIs(t, err, offers.ErrFenced, name)
	}
	_, err = again.Accept(at(20.5), launch(got[1].ID, 1))
	require.NoError(t, err)
	require.NoError(t, again.Release(at(20.5), tasks...))

	// The next time it does not.
	require.NoError(t, again.Disconnect(at(21)))
	require.NoError(t, m.Step(at(41)))
	_, err = again.News(at(41))
	require.ErrorIs(t, err, offers.ErrUnregistered)
	require.NoError(t, m.Step(at(42)))
	room := resources.Vector{}
	for _, o := range read(t, other, at(42)).Offers {
		room = room.Add(o.Room)
	}
	require.Equal(t, resources.Vector{30}, room, "all that it had is free for others")
	_, err = f.News(at(42))
	require.ErrorIs(t, err, offers.ErrFenced, "who was replaced learns that, also once the successor has ended")
	third, err := m.Register(at(42), r)
	require.NoError(t, err)
	require.Empty(t, slices.Collect(third.Tasks()))
	require.NoError(t, cell.Check())
}

// Without a failover time a framework that goes away ends.
func TestDisconnect_EndsAFrameworkThatDoesNotSayHowLong(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f"})
	_, err := f.Accept(start, launch(read(t, f, start).Offers[0].ID, 10))
	require.NoError(t, err)
	require.NoError(t, f.Disconnect(start))
	for st := range cell.Machines() {
		require.Equal(t, st.Capacity, st.Free)
	}
}

// A standby takes over while the old one still lives.
func TestRegister_StandbyTakesOver(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f"})
	o := read(t, f, start).Offers[0].ID
	standby := register(t, m, offers.Registration{Name: "f", Epoch: 1})
	_, err := f.Accept(start, launch(o, 1))
	require.ErrorIs(t, err, offers.ErrFenced)
	_, err = standby.Accept(start, launch(o, 1))
	require.NoError(t, err)
}

// A caller that was replaced and tries again does not fence the one after it, whether
// that is there or away, until the framework has ended.
func TestRegister_OnlyAHigherEpochTakesOver(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	epoch := func(n uint64) offers.Registration {
		return offers.Registration{Name: "f", Epoch: n, Failover: offers.For(time.Minute)}
	}
	first := register(t, m, epoch(3))
	require.EqualValues(t, 3, first.Epoch())
	_, err := m.Register(start, epoch(3))
	require.ErrorIs(t, err, offers.ErrName)
	require.ErrorContains(t, err, "epoch 3")
	standby := register(t, m, epoch(7))
	o := read(t, standby, start).Offers[0].ID
	_, err = first.News(start)
	require.ErrorIs(t, err, offers.ErrFenced)
	fails := func(n uint64) {
		t.Helper()
		_, err := m.Register(start, epoch(n))
		require.ErrorIs(t, err, offers.ErrFenced)
		require.ErrorContains(t, err, fmt.Sprintf("epoch %d: epoch 7", n))
	}
	fails(3)
	fails(6)
	fails(0)
	_, err = standby.Accept(start, launch(o, 1))
	require.NoError(t, err, "all that has failed has left it alone")

	require.NoError(t, standby.Disconnect(start))
	fails(3)
	again := register(t, m, epoch(7))
	_, err = standby.News(start)
	require.ErrorIs(t, err, offers.ErrFenced)
	require.EqualValues(t, 7, again.Epoch())

	// A new master goes by the registrations with it.
	m = newMaster(t, cell, offers.Config{})
	first = register(t, m, epoch(3))
	again = register(t, m, epoch(7))
	_, err = first.News(start)
	require.ErrorIs(t, err, offers.ErrFenced)
	fails(3)
	require.NoError(t, again.Unregister(start))
	first = register(t, m, epoch(3))
	require.Empty(t, slices.Collect(first.Tasks()), "it is another one of that name")
}

// Offers are charged to the account that the framework has.
func TestRegister_WithAnotherAccount(t *testing.T) {
	cell, _ := newCell(t, 2, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f"})
	got := read(t, f, start).Offers
	_, err := f.Accept(start, launch(got[0].ID, 4))
	require.NoError(t, err)
	other := accountOf(cell, "other")
	f = register(t, m, offers.Registration{Name: "f", Epoch: 1, Account: other})
	held, offered := f.Held()
	require.Equal(t, resources.Vector{16}, held)
	require.Equal(t, held, offered)
	usage, err := cell.Usage(other)
	require.NoError(t, err)
	require.Equal(t, held, usage)
	_, err = f.Accept(start, launch(got[1].ID, 4))
	require.ErrorIs(t, err, offers.ErrRescinded)
	require.Len(t, read(t, f, start).Offers, 2)
	require.NoError(t, f.Unregister(start))
	for st := range cell.Machines() {
		require.Equal(t, st.Capacity, st.Free)
	}
}

func TestNew_TakesOverFromAnEarlierMaster(t *testing.T) {
	cell, machines := newCell(t, 4, resources.Vector{10})
	old := newMaster(t, cell, offers.Config{LongInCell: 50})
	a := register(t, old, offers.Registration{Name: "a", Outstanding: 1})
	got := read(t, a, start).Offers
	tasks, err := a.Accept(start,
		offers.Launch{Offers: []offers.OfferID{got[0].ID}, Tasks: []offers.Task{{Need: resources.Vector{10}, Long: true}}},
		launch(got[1].ID, 10))
	require.NoError(t, err)
	b := register(t, old, offers.Registration{Name: "b"})
	require.NoError(t, a.Decline(start, offers.Span{}, got[2].ID))
	_, err = b.Accept(start, launch(read(t, b, start).Offers[0].ID, 10))
	require.NoError(t, err)

	m, err := offers.New(cell, offers.Config{LongInCell: 50, Recovery: offers.For(time.Minute)}, at(1))
	require.NoError(t, err)
	st, _ := cell.State(machines[3])
	require.Equal(t, st.Capacity, st.Free, "what the old one had offered is free")
	require.ErrorIs(t, old.Step(at(2)), offers.ErrFenced)
	_, err = a.Accept(at(2), launch(got[3].ID, 1))
	require.ErrorIs(t, err, offers.ErrFenced)

	again, err := m.Register(at(3), offers.Registration{Name: "a", Outstanding: 1, Long: tasks[:1]})
	require.NoError(t, err)
	var running []omega.AllocationID
	for task := range again.Tasks() {
		running = append(running, task.ID)
	}
	require.Equal(t, tasks, running)
	held, offered := again.Held()
	require.Equal(t, resources.Vector{30}, held)
	require.Equal(t, resources.Vector{10}, offered)
	fresh := read(t, again, at(3)).Offers
	require.Len(t, fresh, 1)
	require.NotEqual(t, got[3].ID, fresh[0].ID)
	_, err = again.Accept(at(3), launch(got[3].ID, 1))
	require.ErrorIs(t, err, offers.ErrUnknown, "an ID of the old master is none of the new one's")
	_, err = again.Accept(at(3), offers.Launch{
		Offers: []offers.OfferID{fresh[0].ID}, Tasks: []offers.Task{{Need: resources.Vector{10}, Long: true}},
	})
	require.NoError(t, err, "twenty of forty")

	// b never comes back.
	require.NoError(t, m.Step(at(60)))
	st, _ = cell.State(machines[2])
	require.Zero(t, st.Free)
	require.NoError(t, m.Step(at(61)))
	require.Len(t, read(t, again, at(61)).Offers, 1, "its tasks have ended")
	require.NoError(t, cell.Check())
}

// A master that has nothing to do notices, too, that it was replaced.
func TestStep_NoticesASuccessor(t *testing.T) {
	cell, _ := newCell(t, 0, resources.Vector{})
	old := newMaster(t, cell, offers.Config{})
	require.NoError(t, old.Step(at(1)))
	newMaster(t, cell, offers.Config{})
	require.ErrorIs(t, old.Step(at(2)), offers.ErrFenced)
	_, err := old.Register(at(2), offers.Registration{Name: "f"})
	require.ErrorIs(t, err, offers.ErrFenced)
}

// What is preempted or lost is told once, and freed by Release.
func TestNews_ReportsPreemptedAndLostTasks(t *testing.T) {
	cell, machines := newCell(t, 3, resources.Vector{10})
	high, err := cell.Register("high", omega.Limits{Lowest: 5, Highest: 5})
	require.NoError(t, err)
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f"})
	got := read(t, f, start).Offers
	tasks, err := f.Accept(start, launch(got[0].ID, 10), launch(got[1].ID, 10))
	require.NoError(t, err)

	tx := omega.Txn{Now: at(1), Grace: 10 * time.Second}
	tx.Claim(omega.Claim{Machine: machines[0], Need: resources.Vector{4}, Precedence: 5, Victims: tasks[:1]})
	victims, ok := cell.Victims(machines[2], resources.Vector{4}, 5)
	require.True(t, ok)
	tx.Claim(omega.Claim{Machine: machines[2], Need: resources.Vector{4}, Precedence: 5, Victims: victims})
	granted, err := high.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 2, granted)
	_, err = cell.Remove(machines[1])
	require.NoError(t, err)

	_, err = f.Accept(at(1), launch(got[2].ID, 10))
	require.ErrorIs(t, err, offers.ErrRescinded, "offers can be preempted, too")
	require.NoError(t, m.Step(at(2)))
	news := read(t, f, at(2))
	require.Len(t, news.Tasks, 2)
	require.Equal(t, omega.Preempted, news.Tasks[0].Fate)
	require.Equal(t, tasks[0], news.Tasks[0].Allocation.ID)
	require.Equal(t, at(11), news.Tasks[0].Until)
	require.Equal(t, omega.Lost, news.Tasks[1].Fate)
	require.Len(t, news.Offers, 2, "the rest of both machines")
	for _, o := range news.Offers {
		require.Equal(t, resources.Vector{6}, o.Room)
		if o.Machine == machines[0] {
			require.Equal(t, at(11), o.Ready, "what was preempted may still be running")
		} else {
			require.True(t, o.Ready.IsZero())
		}
	}
	require.NoError(t, m.Step(at(3)))
	require.Empty(t, read(t, f, at(3)).Tasks, "it is told once")
	require.NoError(t, f.Release(at(3), tasks...))
	require.ErrorIs(t, f.Release(at(3), tasks[0]), omega.ErrReleased)
	held, _ := f.Held()
	require.Equal(t, resources.Vector{12}, held)
	require.NoError(t, cell.Check())
}

func TestRegister_NotifiesOfNewsOnce(t *testing.T) {
	cell, _ := newCell(t, 0, resources.Vector{})
	m := newMaster(t, cell, offers.Config{})
	notified := 0
	f := register(t, m, offers.Registration{Name: "f", Notify: func() {
		_, ok := m.Next() // the mutex is free
		require.True(t, ok)
		notified++
	}})
	for i := range 3 {
		_, err := cell.Add(omega.Machine{Name: string(rune('a' + i)), Capacity: resources.Vector{1}})
		require.NoError(t, err)
		require.NoError(t, m.Step(start))
	}
	require.Equal(t, 1, notified)
	require.Len(t, read(t, f, start).Offers, 3)
	require.NoError(t, m.Step(at(30)))
	require.Equal(t, 2, notified)
	require.Len(t, read(t, f, at(30)).Ended, 3)
}

// Preempted offers of a master that has failed are not told of any more, and leave
// nothing behind.
func TestNew_ForgetsPreemptedTasks(t *testing.T) {
	cell, machines := newCell(t, 1, resources.Vector{4})
	optimist, err := cell.Register("optimist", omega.Limits{Lowest: 5, Highest: 5})
	require.NoError(t, err)
	m := newMaster(t, cell, offers.Config{})
	require.Len(t, read(t, register(t, m, offers.Registration{Name: "f"}), start).Offers, 1)
	victims, ok := cell.Victims(machines[0], resources.Vector{4}, 5)
	require.True(t, ok)
	tx := omega.Txn{Now: start, Grace: omega.AtOnce}
	tx.Claim(omega.Claim{Machine: machines[0], Precedence: 5, Need: resources.Vector{4}, Victims: victims})
	granted, err := optimist.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 1, granted)

	newMaster(t, cell, offers.Config{})
	next, err := cell.Replace(offers.DefaultName)
	require.NoError(t, err)
	for mark := range next.Marked() {
		require.Fail(t, "it is not released", "%v", mark)
	}
}

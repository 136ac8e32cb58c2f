package offers_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/resources"
)

// A master that was replaced and has not noticed yet must not touch the state of its
// successor, whichever call comes first.
func TestMaster_LeavesItsSuccessorAlone(t *testing.T) {
	r := offers.Registration{Name: "f", Failover: offers.For(20 * time.Second)}
	tests := map[string]func(t *testing.T, old *offers.Master, f *offers.Framework) error{
		"a framework does not come back": func(_ *testing.T, old *offers.Master, _ *offers.Framework) error {
			return old.Step(at(100))
		},
		"a framework registers": func(_ *testing.T, old *offers.Master, _ *offers.Framework) error {
			_, err := old.Register(at(2), r)
			return err
		},
		"another framework registers": func(_ *testing.T, old *offers.Master, _ *offers.Framework) error {
			_, err := old.Register(at(2), offers.Registration{Name: "g"})
			return err
		},
	}
	for name, act := range tests {
		for _, registered := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				cell, _ := newCell(t, 2, resources.Vector{10})
				old := newMaster(t, cell, offers.Config{})
				f := register(t, old, r)
				got := read(t, f, start).Offers
				tasks, err := f.Accept(start, launch(got[0].ID, 10))
				require.NoError(t, err)
				require.NoError(t, f.Disconnect(at(1)))

				m, err := offers.New(cell, offers.Config{}, at(1))
				require.NoError(t, err)
				var again *offers.Framework
				come := func() {
					again, err = m.Register(at(2), r)
					require.NoError(t, err)
				}
				if registered {
					come()
				}
				require.ErrorIs(t, act(t, old, f), offers.ErrFenced)
				if !registered {
					come()
				}
				require.Len(t, slices.Collect(again.Tasks()), 1, "its task goes on")
				fresh := read(t, again, at(3)).Offers
				require.Len(t, fresh, 1)
				_, err = again.Accept(at(3), launch(fresh[0].ID, 10))
				require.NoError(t, err)
				require.NoError(t, again.Release(at(3), tasks...))
				require.NoError(t, m.Step(at(4)))
				require.NoError(t, cell.Check())
			})
		}
	}
}

// The same of one that itself has taken over, and waits for frameworks.
func TestMaster_LeavesItsSuccessorsSuccessorAlone(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	f := register(t, newMaster(t, cell, offers.Config{}), offers.Registration{Name: "f"})
	_, err := f.Accept(start, launch(read(t, f, start).Offers[0].ID, 10))
	require.NoError(t, err)
	second := newMaster(t, cell, offers.Config{})
	third := newMaster(t, cell, offers.Config{})
	again := register(t, third, offers.Registration{Name: "f"})
	require.ErrorIs(t, second.Step(at(3600)), offers.ErrFenced)
	require.Len(t, slices.Collect(again.Tasks()), 1, "its task goes on")
	require.NoError(t, again.Unregister(at(3600)))
}

// Optimistic offers are no claims that a successor could take back, neither are those
// that are left of a time in which the master was optimistic.
func TestAccept_OfAnOptimisticOfferOfAMasterThatWasReplaced(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{Terms: offers.Terms{Optimistic: true}})
	f := register(t, m, offers.Registration{Name: "f"})
	got := read(t, f, start).Offers
	require.NoError(t, f.Suppress(start))
	require.NoError(t, m.SetTerms(start, offers.Terms{}))
	newMaster(t, cell, offers.Config{})
	_, err := f.Accept(start, launch(got[0].ID, 10))
	require.ErrorIs(t, err, offers.ErrFenced)
	for st := range cell.Machines() {
		require.Equal(t, st.Capacity, st.Free)
	}
}

// No method of a handle works once a successor speaks for the framework.
func TestFramework_FencesEveryMethod(t *testing.T) {
	cell, machines := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	r := offers.Registration{Name: "f", Guaranteed: resources.Vector{10}}
	old := register(t, m, r)
	o := read(t, old, start).Offers[0]
	tasks, err := old.Accept(start, launch(o.ID, 1))
	require.NoError(t, err)
	asked, err := m.Vacate(start, machines[0], at(60))
	require.NoError(t, err)
	require.Equal(t, 1, asked)
	id, err := old.Request(start, offers.Request{Machines: 1, Each: resources.Vector{10}})
	require.NoError(t, err)
	r.Epoch++
	f := register(t, m, r)
	held, offered := f.Held()
	for name, call := range map[string]func() error{
		"accept":     func() error { _, err := old.Accept(start, launch(o.ID, 1)); return err },
		"decline":    func() error { return old.Decline(start, offers.Span{}, o.ID) },
		"disconnect": func() error { return old.Disconnect(start) },
		"news":       func() error { _, err := old.News(start); return err },
		"release":    func() error { return old.Release(start, tasks...) },
		"reply":      func() error { return old.Reply(start, machines[0], true) },
		"request": func() error {
			_, err := old.Request(start, offers.Request{Machines: 1, Each: resources.Vector{1}})
			return err
		},
		"revive":     func() error { return old.Revive(start) },
		"suppress":   func() error { return old.Suppress(start) },
		"unregister": func() error { return old.Unregister(start) },
		"withdraw":   func() error { return old.Withdraw(start, id) },
	} {
		require.ErrorIs(t, call(), offers.ErrFenced, name)
	}
	gotHeld, gotOffered := f.Held()
	require.Equal(t, held, gotHeld)
	require.Equal(t, offered, gotOffered)
	require.Len(t, read(t, f, start).Offers, 1, "it is offered the rest, as if nobody had spoken")
}

// After a takeover the inverse offers that the framework has not answered are told again.
func TestRegister_IsAskedAgainToLeave(t *testing.T) {
	cell, machines := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	r := offers.Registration{Name: "f"}
	f := register(t, m, r)
	tasks, err := f.Accept(start, launch(read(t, f, start).Offers[0].ID, 10))
	require.NoError(t, err)
	_, err = m.Vacate(start, machines[0], at(60))
	require.NoError(t, err)
	want := read(t, f, start).Leave
	require.Equal(t, []offers.Leave{{Machine: machines[0], By: at(60), Tasks: tasks}}, want)
	r.Epoch++
	f = register(t, m, r)
	require.Equal(t, want, read(t, f, start).Leave)
	require.NoError(t, f.Reply(start, machines[0], true))
	r.Epoch++
	f = register(t, m, r)
	require.Empty(t, read(t, f, start).Leave)
}

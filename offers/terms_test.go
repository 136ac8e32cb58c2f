package offers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

func TestTerms_OptimisticOffersEverythingToAll(t *testing.T) {
	cell, machines := newCell(t, 2, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{Terms: offers.Terms{Optimistic: true}})
	a := register(t, m, offers.Registration{Name: "a"})
	b := register(t, m, offers.Registration{Name: "b"})
	gotA, gotB := read(t, a, start).Offers, read(t, b, start).Offers
	require.Len(t, gotA, 2)
	require.Len(t, gotB, 2)
	for st := range cell.Machines() {
		require.Equal(t, st.Capacity, st.Free, "nothing is claimed")
	}
	held, offered := a.Held()
	require.Zero(t, held)
	require.Zero(t, offered)

	tasks, err := a.Accept(start, launch(gotA[0].ID, 7))
	require.NoError(t, err)
	held, _ = a.Held()
	require.Equal(t, resources.Vector{7}, held)
	_, err = b.Accept(start, launch(gotB[0].ID, 4), launch(gotB[1].ID, 4))
	require.ErrorIs(t, err, omega.ErrConflict)
	var item *omega.RefusalError
	require.ErrorAs(t, err, &item)
	require.Equal(t, machines[0], item.Machine)
	require.Equal(t, resources.Vector{3}, item.Free, "it says what there is")
	held, _ = b.Held()
	require.Zero(t, held, "all or nothing")

	gotB = read(t, b, start).Offers
	require.Len(t, gotB, 2, "what there is is offered anew")
	require.Equal(t, resources.Vector{3}, gotB[0].Room)
	_, err = b.Accept(start, offers.Launch{Offers: []offers.OfferID{gotB[0].ID}, Tasks: []offers.Task{
		{Need: resources.Vector{2}}, {Need: resources.Vector{1}},
	}})
	require.NoError(t, err)
	_, err = b.Accept(start, launch(gotB[1].ID, 11))
	require.ErrorIs(t, err, offers.ErrExceeds)

	// Room that becomes free is offered to all again, and unread offers are brought up to
	// date.
	require.NoError(t, a.Release(start, tasks...))
	register(t, m, offers.Registration{Name: "late"})
	_, err = b.Accept(start, launch(gotB[1].ID, 10))
	require.NoError(t, err)
	for _, f := range []*offers.Framework{a, b} {
		var room resources.Vector
		for _, o := range read(t, f, start).Offers {
			require.Equal(t, machines[0], o.Machine)
			room = o.Room
		}
		require.Equal(t, resources.Vector{7}, room)
	}
	require.NoError(t, cell.Check())
}

// A master that was replaced starts nothing any more, also where it keeps nothing.
func TestTerms_OptimisticMasterIsFenced(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	cfg := offers.Config{Terms: offers.Terms{Optimistic: true}}
	m := newMaster(t, cell, cfg)
	f := register(t, m, offers.Registration{Name: "f"})
	o := read(t, f, start).Offers[0].ID
	newMaster(t, cell, cfg)
	_, err := f.Accept(start, launch(o, 1))
	require.ErrorIs(t, err, offers.ErrFenced)
	for st := range cell.Machines() {
		require.Equal(t, st.Capacity, st.Free)
	}
}

// An offer that is gone before it was read is not told.
func TestTerms_OptimisticOffersVanishUnread(t *testing.T) {
	cell, _ := newCell(t, 2, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{Terms: offers.Terms{Optimistic: true}})
	a := register(t, m, offers.Registration{Name: "a"})
	b := register(t, m, offers.Registration{Name: "b"})
	got := read(t, a, start).Offers
	_, err := a.Accept(start, launch(got[0].ID, 10))
	require.NoError(t, err)
	news := read(t, b, start)
	require.Len(t, news.Offers, 1)
	require.Equal(t, got[1].Machine, news.Offers[0].Machine)
	require.Empty(t, news.Ended)
}

// All tasks of an optimistic launch start, or none.
func TestAccept_OptimisticLaunchIsAllOrNothing(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{Terms: offers.Terms{Optimistic: true}})
	a := register(t, m, offers.Registration{Name: "a"})
	b := register(t, m, offers.Registration{Name: "b"})
	gotA, gotB := read(t, a, start).Offers, read(t, b, start).Offers
	_, err := a.Accept(start, launch(gotA[0].ID, 7))
	require.NoError(t, err)
	_, err = b.Accept(start, offers.Launch{Offers: ids(gotB), Tasks: []offers.Task{
		{Need: resources.Vector{2}}, {Need: resources.Vector{2}},
	}})
	require.ErrorIs(t, err, omega.ErrConflict)
	require.Zero(t, keeps(b))
}

// Optimistic offers are declined and filtered like others, and renewed when they
// expire, without any blame.
func TestTerms_OptimisticOffersExpireAndAreFiltered(t *testing.T) {
	cell, _ := newCell(t, 2, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{Terms: offers.Terms{Optimistic: true}})
	f := register(t, m, offers.Registration{Name: "f"})
	got := read(t, f, start).Offers
	require.NoError(t, f.Decline(start, offers.For(time.Hour), got[0].ID))
	require.NoError(t, m.Step(at(1)))
	require.Empty(t, read(t, f, at(1)).Offers)
	require.NoError(t, m.Step(at(30)))
	news := read(t, f, at(30))
	require.Len(t, news.Ended, 1)
	require.Len(t, news.Offers, 1)
	require.Equal(t, got[1].Machine, news.Offers[0].Machine)
	require.NoError(t, f.Unregister(at(31)))
	require.NoError(t, cell.Check())
}

// Terms change while offers are out: no framework loses what it has.
func TestSetTerms_MovesTheBorder(t *testing.T) {
	cell, _ := newCell(t, 4, resources.Vector{10})
	optimist, err := cell.Register("optimist", omega.Limits{})
	require.NoError(t, err)
	half := offers.Terms{Machines: omega.Mask{0b0011}}
	require.NoError(t, optimist.Restrict(t.Context(), half.Rest(4)))
	m := newMaster(t, cell, offers.Config{Terms: half})
	f := register(t, m, offers.Registration{Name: "f"})
	got := read(t, f, start).Offers
	require.Len(t, got, 2)
	tasks, err := f.Accept(start, launch(got[0].ID, 10))
	require.NoError(t, err)
	free := func() (claimed int) {
		var tx omega.Txn
		for st := range cell.Machines() {
			tx.Claim(omega.Claim{Machine: st.ID, Need: resources.Vector{10}})
		}
		claimed, err := optimist.Commit(&tx)
		require.NoError(t, err)
		return claimed
	}
	require.Equal(t, 2, free(), "each has its half")

	// The border moves: only the last machine is offered.
	last := offers.Terms{Machines: omega.Mask{0b1000}}
	require.NoError(t, m.SetTerms(at(1), last))
	require.NoError(t, optimist.Restrict(t.Context(), last.Rest(4)))
	_, err = f.Accept(at(1), launch(got[1].ID, 10))
	require.NoError(t, err, "what it was offered is still its own")
	require.NoError(t, f.Release(at(1), tasks...))
	require.Empty(t, read(t, f, at(1)).Offers)
	require.Equal(t, 1, free(), "what it has left is for others")
	for a := range optimist.Allocations() {
		require.NoError(t, optimist.Release(a.ID))
	}
	require.NoError(t, m.Step(at(2)))
	require.Len(t, read(t, f, at(2)).Offers, 1)
	require.NoError(t, m.SetTerms(at(3), offers.Terms{}))
	require.Len(t, read(t, f, at(3)).Offers, 2, "and then all again")
	require.ErrorIs(t, m.SetTerms(at(3), offers.Terms{Percent: 101}), offers.ErrFraction)
	_, err = offers.New(cell, offers.Config{Terms: offers.Terms{Percent: -1}}, at(3))
	require.ErrorIs(t, err, offers.ErrFraction)
	require.NoError(t, cell.Check())
}

// Half of each machine is offered; what others hold does not count against it.
func TestTerms_OfferAPartOfEachMachine(t *testing.T) {
	cell, machines := newCell(t, 1, resources.Vector{10, 5})
	optimist, err := cell.Register("optimist", omega.Limits{})
	require.NoError(t, err)
	m := newMaster(t, cell, offers.Config{Terms: offers.Terms{Percent: 50}})
	f := register(t, m, offers.Registration{Name: "f"})
	got := read(t, f, start).Offers
	require.Len(t, got, 1)
	require.Equal(t, resources.Vector{5, 2}, got[0].Room)
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: machines[0], Need: resources.Vector{4, 1}})
	granted, err := optimist.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 1, granted)
	tasks, err := f.Accept(start, launch(got[0].ID, 3, 1))
	require.NoError(t, err)
	got = read(t, f, start).Offers
	require.Len(t, got, 1)
	require.Equal(t, resources.Vector{2, 1}, got[0].Room)
	require.NoError(t, m.SetTerms(start, offers.Terms{Percent: 60}))
	more := read(t, f, start).Offers
	require.Len(t, more, 1)
	require.Equal(t, resources.Vector{1, 1}, more[0].Room, "of the sixth, what is free")
	require.NoError(t, m.SetTerms(start, offers.Terms{Percent: 10}))
	require.NoError(t, f.Decline(start, offers.For(0), got[0].ID, more[0].ID))
	require.Empty(t, read(t, f, start).Offers)
	require.NoError(t, f.Release(start, tasks...))
	got = read(t, f, start).Offers
	require.Len(t, got, 1)
	require.Equal(t, resources.Vector{1}, got[0].Room)
	require.NoError(t, cell.Check())
}

func TestTerms_RestIsUnofferedRoom(t *testing.T) {
	terms := offers.Terms{Machines: omega.Mask{0b101, 1}}
	rest := terms.Rest(70)
	for n := range 70 {
		require.Equal(t, n != 0 && n != 2 && n != 64, rest.Has(locality.Node(n)), n)
	}
	require.False(t, rest.Has(70))
	all := offers.Terms{}
	require.False(t, all.Rest(3).Has(0), "nothing is left")
	require.NotNil(t, all.Rest(0), "a nil mask would be all machines")
	require.Empty(t, all.Rest(-1))
}

// Guarantees are kept within the terms.
func TestTerms_BoundRevocation(t *testing.T) {
	cell, machines := newCell(t, 2, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{Terms: offers.Terms{Percent: 50}, Grace: offers.For(time.Second)})
	low := register(t, m, offers.Registration{Name: "low"})
	for _, o := range read(t, low, start).Offers {
		_, err := low.Accept(start, offers.Launch{Offers: []offers.OfferID{o.ID}, Tasks: []offers.Task{
			{Need: resources.Vector{2}}, {Need: resources.Vector{3}},
		}})
		require.NoError(t, err)
	}
	owner := register(t, m, offers.Registration{Name: "owner", Guaranteed: resources.Vector{20}})
	_, err := owner.Request(start, offers.Request{Machines: 1, Each: resources.Vector{6}, Revoke: true})
	require.NoError(t, err)
	require.Empty(t, read(t, low, start).Revoked, "more than a half of a machine")
	require.NoError(t, m.SetTerms(start, offers.Terms{Percent: 60, Machines: omega.Mask{0b10}}))
	_, err = owner.Request(start, offers.Request{Machines: 1, Each: resources.Vector{6}, Revoke: true})
	require.NoError(t, err)
	for _, notice := range read(t, low, start).Revoked {
		require.Equal(t, machines[1], notice.Task.Machine)
	}
}

// One master changes from one kind to the other and back.
func TestSetTerms_TurnsOptimisticAndBack(t *testing.T) {
	cell, _ := newCell(t, 2, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	a := register(t, m, offers.Registration{Name: "a"})
	kept := read(t, a, start).Offers
	require.Len(t, kept, 2)
	b := register(t, m, offers.Registration{Name: "b"})
	require.NoError(t, m.SetTerms(start, offers.Terms{Optimistic: true}))
	require.NoError(t, a.Decline(start, offers.For(0), kept[1].ID))
	seen := read(t, b, start).Offers
	require.Len(t, seen, 1)
	require.Len(t, read(t, a, start).Offers, 1)
	require.NoError(t, m.SetTerms(start, offers.Terms{}))
	_, err := a.Accept(start, launch(kept[0].ID, 10))
	require.NoError(t, err)
	_, err = b.Accept(start, launch(seen[0].ID, 10))
	require.ErrorIs(t, err, omega.ErrConflict, "somebody has it as its own now")
	require.NoError(t, m.Step(at(60)))
	require.NoError(t, cell.Check())
}

func TestTimeBox_OneSchedulerAtATime(t *testing.T) {
	cell, machines := newCell(t, 1, resources.Vector{100})
	var schedulers []*omega.Scheduler
	for i := range 3 {
		s, err := cell.Register(fmt.Sprint(i), omega.Limits{})
		require.NoError(t, err)
		schedulers = append(schedulers, s)
	}
	who := func() (can []int) {
		for i, s := range schedulers {
			var tx omega.Txn
			tx.Claim(omega.Claim{Machine: machines[0], Need: resources.Vector{1}})
			granted, err := s.Commit(&tx)
			require.NoError(t, err)
			if granted > 0 {
				can = append(can, i)
			} else {
				require.ErrorIs(t, tx.Err(0), omega.ErrForbidden)
			}
		}
		return can
	}
	b, err := offers.NewTimeBox(start, 10*time.Second, nil, schedulers...)
	require.NoError(t, err)
	require.Equal(t, []int{0}, who())
	holder, until := b.Step(at(9.999))
	require.Same(t, schedulers[0], holder)
	require.Equal(t, at(10), until)
	holder, _ = b.Step(at(10))
	require.Same(t, schedulers[1], holder)
	require.Equal(t, []int{1}, who())
	require.False(t, b.Yield(at(11), schedulers[0]), "it is not its own")
	require.True(t, b.Yield(at(11), schedulers[1]))
	require.Equal(t, []int{2}, who())
	_, until = b.Step(at(11))
	require.Equal(t, at(21), until)
	b.Step(at(30))
	require.Equal(t, []int{0}, who())
	require.NoError(t, b.Open())
	require.Equal(t, []int{0, 1, 2}, who())
	for _, late := range []float64{30, 40, 100} { // it restricts no scheduler any more
		holder, until = b.Step(at(late))
		require.Nil(t, holder)
		require.Zero(t, until)
		for _, s := range schedulers {
			require.False(t, b.Yield(at(late), s), "it is nobody's")
		}
		require.Equal(t, []int{0, 1, 2}, who())
	}
	again, err := offers.NewTimeBox(at(100), time.Second, nil, schedulers...)
	require.NoError(t, err)
	require.NoError(t, b.Open())
	require.Equal(t, []int{0}, who(), "the next box is another one's affair")
	require.NoError(t, again.Open())

	_, err = offers.NewTimeBox(start, 0, nil, schedulers...)
	require.ErrorIs(t, err, offers.ErrSpan)
	_, err = offers.NewTimeBox(start, time.Second, nil)
	require.ErrorIs(t, err, offers.ErrEmpty)
	_, err = offers.NewTimeBox(start, time.Second, nil, nil)
	require.ErrorIs(t, err, offers.ErrEmpty)
	require.Equal(t, []int{0, 1, 2}, who(), "and nothing has changed")
}

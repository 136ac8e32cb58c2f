package offers_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

func TestMaster_OffersAllThatIsFreeToOneAtATime(t *testing.T) {
	cell, machines := newCell(t, 2, resources.Vector{10, 100})
	optimist, err := cell.Register("optimist", omega.Limits{})
	require.NoError(t, err)
	m := newMaster(t, cell, offers.Config{})
	a := register(t, m, offers.Registration{Name: "a"})
	got := read(t, a, start).Offers
	b := register(t, m, offers.Registration{Name: "b"})
	require.Len(t, got, 2, "it was alone when it came")
	require.Equal(t, machines[0], got[0].Machine)
	require.Equal(t, resources.Vector{10, 100}, got[0].Room)
	require.Equal(t, at(30), got[0].Deadline)
	require.True(t, got[0].Ready.IsZero())
	require.Empty(t, read(t, a, start).Offers, "each is told once")
	require.Empty(t, read(t, b, start).Offers)
	held, offered := a.Held()
	require.Equal(t, resources.Vector{20, 200}, held, "what is offered is charged")
	require.Equal(t, held, offered)

	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: machines[0], Need: resources.Vector{1}})
	granted, err := optimist.Commit(&tx)
	require.NoError(t, err)
	require.Zero(t, granted, "to others, what is offered is taken")

	tasks, err := a.Accept(start, launch(got[0].ID, 4, 40))
	require.NoError(t, err)
	require.Len(t, tasks, 1)
	rest := read(t, b, start).Offers
	require.Len(t, rest, 1, "the rest goes to others at once")
	require.Equal(t, resources.Vector{6, 60}, rest[0].Room)
	require.NoError(t, b.Decline(start, offers.Span{}, rest[0].ID))
	require.NoError(t, a.Release(start, tasks...))
	got = read(t, b, start).Offers
	require.Len(t, got, 1, "and so does what has ended, which is more than was refused")
	require.Equal(t, resources.Vector{10, 100}, got[0].Room)
	require.NoError(t, cell.Check())
}

// What others leave or take is seen by the next Step.
func TestStep_SeesForeignChanges(t *testing.T) {
	cell, machines := newCell(t, 1, resources.Vector{10})
	optimist, err := cell.Register("optimist", omega.Limits{})
	require.NoError(t, err)
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: machines[0], Need: resources.Vector{10}})
	_, err = optimist.Commit(&tx)
	require.NoError(t, err)
	task, _ := tx.Allocation(0)

	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f"})
	require.Empty(t, read(t, f, start).Offers)
	require.NoError(t, optimist.Release(task))
	added, err := cell.Add(omega.Machine{Name: "new", Capacity: resources.Vector{5}})
	require.NoError(t, err)
	require.NoError(t, m.Step(at(1)))
	got := read(t, f, at(1)).Offers
	require.Len(t, got, 2)

	// Machines that go take their offers along.
	_, err = cell.Remove(added)
	require.NoError(t, err)
	_, err = f.Accept(at(1), launch(got[1].ID, 1))
	require.ErrorIs(t, err, offers.ErrRescinded)
	_, err = cell.Remove(machines[0])
	require.NoError(t, err)
	require.NoError(t, m.Step(at(2)))
	require.Equal(t, []offers.Ended{
		{Offer: got[1].ID, Reason: offers.ErrRescinded},
		{Offer: got[0].ID, Reason: offers.ErrRescinded},
	}, read(t, f, at(2)).Ended)
	held, _ := f.Held()
	require.Zero(t, held)

	// A machine that takes a removed one's number is another one.
	again, err := cell.Add(omega.Machine{Name: "again", Capacity: resources.Vector{7}})
	require.NoError(t, err)
	require.NoError(t, m.Step(at(3)))
	got = read(t, f, at(3)).Offers
	require.Len(t, got, 1)
	require.Equal(t, again, got[0].Machine)
	require.NoError(t, cell.Check())
}

// F06: an offer can be accepted until just before its deadline, and its room is
// offered again within a tick.
func TestAccept_AtTheDeadlineItHasExpired(t *testing.T) {
	const timeout = 30 * time.Second
	tests := map[string]struct {
		after time.Duration
		err   error
	}{
		"a moment before": {timeout - 1, nil},
		"then":            {timeout, offers.ErrExpired},
		"a moment later":  {timeout + 1, offers.ErrExpired},
	}
	for name, test := range tests {
		for _, step := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				cell, _ := newCell(t, 1, resources.Vector{10})
				m := newMaster(t, cell, offers.Config{Timeout: offers.For(timeout)})
				f := register(t, m, offers.Registration{Name: "f"})
				other := register(t, m, offers.Registration{Name: "other"})
				o := read(t, f, start).Offers[0].ID
				now := start.Add(test.after)
				if step {
					require.NoError(t, m.Step(now))
				}
				tasks, err := f.Accept(now, launch(o, 10))
				require.ErrorIs(t, err, test.err)
				require.NoError(t, m.Step(now))
				usage, err := cell.Usage(accountOf(cell, "f"))
				require.NoError(t, err)
				if test.err == nil {
					require.Len(t, tasks, 1)
					require.Equal(t, resources.Vector{10}, usage)
					require.Empty(t, read(t, other, now).Offers)
					return
				}
				require.Zero(t, usage)
				require.Len(t, read(t, other, now).Offers, 1)
				require.Equal(t, []offers.Ended{{Offer: o, Reason: offers.ErrExpired}}, read(t, f, now).Ended)
				_, err = f.Accept(now, launch(o, 10))
				require.ErrorIs(t, err, offers.ErrExpired, "it stays so")
				require.NoError(t, cell.Check())
			})
		}
	}
}

// F06: an accept races the expiry. Its tasks run, or its room is free; never both.
func TestAccept_RacesTheExpiry(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{Interval: offers.For(1)})
	f := register(t, m, offers.Registration{Name: "f"})
	now := start
	for range 1000 {
		require.NoError(t, f.Revive(now))
		require.NoError(t, m.Step(now))
		got := read(t, f, now).Offers
		require.Len(t, got, 1)
		deadline := got[0].Deadline
		var both sync.WaitGroup
		var stepped error
		both.Go(func() { stepped = m.Step(deadline) })
		tasks, err := f.Accept(deadline.Add(-1), launch(got[0].ID, 10))
		both.Wait()
		require.NoError(t, stepped)
		usage, _ := cell.Usage(accountOf(cell, "f"))
		_, offered := f.Held()
		if err == nil {
			require.Equal(t, resources.Vector{10}, usage)
			require.Zero(t, offered)
			require.NoError(t, f.Release(deadline, tasks...))
		} else {
			require.ErrorIs(t, err, offers.ErrExpired)
			require.Equal(t, offered, usage)
		}
		now = deadline.Add(10 * time.Second) // filters are over
	}
	require.NoError(t, cell.Check())
}

func TestMaster_NeverIsNoTimeout(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{Timeout: offers.Never()})
	f := register(t, m, offers.Registration{Name: "f"})
	_, due := m.Next()
	require.False(t, due)
	require.NoError(t, m.Step(start.AddDate(100, 0, 0)))
	got := read(t, f, start.AddDate(100, 0, 0)).Offers
	require.Len(t, got, 1)
	require.True(t, got[0].Deadline.IsZero())
}

// OF-P3: tasks take their part, and the rest is another framework's at once; this
// one's only if it did not ask to be spared.
func TestAccept_PartOfAnOffer(t *testing.T) {
	for name, filter := range map[string]bool{"not filtered": false, "filtered": true} {
		t.Run(name, func(t *testing.T) {
			cell, _ := newCell(t, 1, resources.Vector{4, 4096})
			m := newMaster(t, cell, offers.Config{})
			f := register(t, m, offers.Registration{Name: "f"})
			o := read(t, f, start).Offers[0].ID
			_, err := f.Accept(start, offers.Launch{
				Offers: []offers.OfferID{o},
				Tasks:  []offers.Task{{Need: resources.Vector{2, 1024}}, {Need: resources.Vector{1, 2048}}},
				Filter: filter,
			})
			require.NoError(t, err)
			var held resources.Vector
			for a := range f.Tasks() {
				held = held.Add(a.Need)
			}
			require.Equal(t, resources.Vector{3, 3072}, held)
			got := read(t, f, start).Offers
			if !filter {
				require.Len(t, got, 1)
				require.Equal(t, resources.Vector{1, 1024}, got[0].Room)
				return
			}
			require.Empty(t, got)
			other := register(t, m, offers.Registration{Name: "other"})
			got = read(t, other, start).Offers
			require.Len(t, got, 1, "others may get it")
			require.Equal(t, resources.Vector{1, 1024}, got[0].Room)
		})
	}
}

// Room that becomes free on a machine joins what its framework has not read of.
func TestMaster_MergesUnreadOffers(t *testing.T) {
	cell, machines := newCell(t, 1, resources.Vector{10})
	optimist, err := cell.Register("optimist", omega.Limits{})
	require.NoError(t, err)
	var tx omega.Txn
	for range 3 {
		tx.Claim(omega.Claim{Machine: machines[0], Need: resources.Vector{3}})
	}
	_, err = optimist.Commit(&tx)
	require.NoError(t, err)
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f", Outstanding: 1})
	for i := range 3 {
		task, _ := tx.Allocation(i)
		require.NoError(t, optimist.Release(task))
		require.NoError(t, m.Step(start))
		if i == 1 {
			got := read(t, f, start).Offers
			require.Len(t, got, 1)
			require.Equal(t, resources.Vector{7}, got[0].Room)
		}
	}
	got := read(t, f, start)
	require.Empty(t, got.Ended)
	require.Len(t, got.Offers, 1, "what it has read of stays as it is")
	require.Equal(t, resources.Vector{3}, got.Offers[0].Room)
	held, offered := f.Held()
	require.Equal(t, resources.Vector{10}, held)
	require.Equal(t, held, offered)
}

func TestAccept_CombinesOffersOfAMachine(t *testing.T) {
	cell, machines := newCell(t, 2, resources.Vector{10})
	optimist, err := cell.Register("optimist", omega.Limits{})
	require.NoError(t, err)
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: machines[0], Need: resources.Vector{6}})
	_, err = optimist.Commit(&tx)
	require.NoError(t, err)
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f", Outstanding: 1})
	first := read(t, f, start).Offers
	require.Len(t, first, 2)
	task, _ := tx.Allocation(0)
	require.NoError(t, optimist.Release(task))
	require.NoError(t, m.Step(at(1)))
	second := read(t, f, at(1)).Offers
	require.Len(t, second, 1)

	both := []offers.OfferID{first[0].ID, second[0].ID}
	eight := []offers.Task{{Need: resources.Vector{8}}}
	_, err = f.Accept(at(1), offers.Launch{Offers: []offers.OfferID{first[0].ID, first[1].ID}, Tasks: eight})
	require.ErrorIs(t, err, offers.ErrMachine)
	_, err = f.Accept(at(1), launch(first[0].ID, 8))
	require.ErrorIs(t, err, offers.ErrExceeds)
	tasks, err := f.Accept(at(1), offers.Launch{Offers: both, Tasks: eight}, launch(first[1].ID, 10))
	require.NoError(t, err)
	require.Len(t, tasks, 2)
	require.Equal(t, machines[0].Node(), tasks[0].Node())
	require.Equal(t, machines[1].Node(), tasks[1].Node())
	require.NoError(t, cell.Check())
}

func TestAccept_RejectsInvalidArguments(t *testing.T) {
	cell, _ := newCell(t, 3, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	other := register(t, m, offers.Registration{Name: "other", Outstanding: 0.1})
	f := register(t, m, offers.Registration{Name: "f"})
	foreign := read(t, other, start).Offers
	require.Len(t, foreign, 1)
	mine := read(t, f, start).Offers
	require.Len(t, mine, 2)
	require.NoError(t, f.Suppress(start))
	require.NoError(t, other.Suppress(start))
	require.NoError(t, f.Decline(start, offers.Span{}, mine[1].ID))
	good := mine[0].ID

	one := []offers.Task{{Need: resources.Vector{1}}}
	tests := map[string]struct {
		launches []offers.Launch
		err      error
	}{
		"nothing":           {nil, offers.ErrEmpty},
		"no offer":          {[]offers.Launch{{Tasks: one}}, offers.ErrEmpty},
		"no task":           {[]offers.Launch{{Offers: []offers.OfferID{good}}}, offers.ErrEmpty},
		"a task of nothing": {[]offers.Launch{launch(good)}, offers.ErrEmpty},
		"a negative task":   {[]offers.Launch{launch(good, -1)}, resources.ErrQuantity},
		"too large a task":  {[]offers.Launch{launch(good, 11)}, offers.ErrExceeds},
		"another kind":      {[]offers.Launch{launch(good, 1, 1)}, offers.ErrExceeds},
		"sums that overflow": {[]offers.Launch{{Offers: []offers.OfferID{good}, Tasks: []offers.Task{
			{Need: resources.Vector{resources.MaxQuantity}}, {Need: resources.Vector{resources.MaxQuantity}},
		}}}, offers.ErrExceeds},
		"unknown":         {[]offers.Launch{launch(offers.OfferID{}, 1)}, offers.ErrUnknown},
		"foreign":         {[]offers.Launch{launch(good, 1), launch(foreign[0].ID, 1)}, offers.ErrForeign},
		"declined":        {[]offers.Launch{launch(good, 1), launch(mine[1].ID, 1)}, offers.ErrDeclined},
		"twice":           {[]offers.Launch{launch(good, 1), launch(good, 1)}, offers.ErrUsed},
		"twice in one":    {[]offers.Launch{{Offers: []offers.OfferID{good, good}, Tasks: one}}, offers.ErrUsed},
		"negative refuse": {[]offers.Launch{{Offers: []offers.OfferID{good}, Tasks: one, Refuse: offers.For(-1)}}, offers.ErrSpan},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before, _ := f.Held()
			tasks, err := f.Accept(start, test.launches...)
			require.ErrorIs(t, err, test.err)
			require.Empty(t, tasks)
			after, offered := f.Held()
			require.Equal(t, before, after)
			require.Equal(t, resources.Vector{10}, offered, "what is valid stays")
		})
	}
	_, err := f.Accept(start, launch(good, 1), launch(mine[1].ID, 1))
	var offer *offers.OfferError
	require.ErrorAs(t, err, &offer)
	require.Equal(t, mine[1].ID, offer.Offer)
	require.EqualError(t, err, `offers: framework "f": offer 0.3: was declined`)

	_, err = f.Accept(start, launch(good, 1))
	require.NoError(t, err)
	_, err = f.Accept(start, launch(good, 1))
	require.ErrorIs(t, err, offers.ErrUsed)
	require.NoError(t, f.Unregister(start))
	_, err = f.Accept(start, launch(good, 1))
	require.ErrorIs(t, err, offers.ErrUnregistered)
	require.NoError(t, other.Unregister(start))
	for st := range cell.Machines() {
		require.Equal(t, st.Capacity, st.Free, "nothing is left behind")
	}
}

// An ID is remembered for a while after its offer has ended, and never means
// another one.
func TestOfferID_IsNotReused(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{1})
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f"})
	seen := make(map[offers.OfferID]bool)
	var first offers.OfferID
	for i := range 3000 {
		got := read(t, f, start).Offers
		require.Len(t, got, 1)
		require.False(t, seen[got[0].ID])
		seen[got[0].ID] = true
		if i == 0 {
			first = got[0].ID
		}
		tasks, err := f.Accept(start, launch(got[0].ID, 1))
		require.NoError(t, err)
		require.NoError(t, f.Release(start, tasks...))
		_, err = f.Accept(start, launch(first, 1))
		if i < 1000 {
			require.ErrorIs(t, err, offers.ErrUsed)
		} else if i > 2000 {
			require.ErrorIs(t, err, offers.ErrUnknown)
		}
	}
}

// An offer is of the precedence of its framework: only a scheduler with a higher one
// preempts it.
func TestOffer_IsOfThePrecedenceOfItsFramework(t *testing.T) {
	cell, machines := newCell(t, 1, resources.Vector{4})
	m := newMaster(t, cell, offers.Config{})
	require.Len(t, read(t, register(t, m, offers.Registration{Name: "f", Precedence: 5}), start).Offers, 1)
	_, may := cell.Victims(machines[0], resources.Vector{4}, 5)
	require.False(t, may)
	_, may = cell.Victims(machines[0], resources.Vector{4}, 6)
	require.True(t, may)
}

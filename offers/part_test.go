package offers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// half returns terms that leave a half of each machine to schedulers without a master.
func half(optimistic bool) offers.Config {
	return offers.Config{
		Terms: offers.Terms{Percent: 50, Optimistic: optimistic}, Grace: offers.For(10 * time.Second),
	}
}

// The first framework to accept has what is offered of a machine, though there is more
// room.
func TestAccept_OptimisticStaysWithinThePartThatIsOffered(t *testing.T) {
	cell, machines := newCell(t, 2, resources.Vector{10})
	m := newMaster(t, cell, half(true))
	a := register(t, m, offers.Registration{Name: "a"})
	b := register(t, m, offers.Registration{Name: "b"})
	toA, toB := read(t, a, start).Offers, read(t, b, start).Offers
	require.Len(t, toB, 2)
	_, err := a.Accept(start, launch(toA[0].ID, 3))
	require.NoError(t, err)
	_, err = b.Accept(start, launch(toB[1].ID, 1), launch(toB[0].ID, 5))
	var item *omega.RefusalError
	require.ErrorAs(t, err, &item)
	require.ErrorIs(t, err, omega.ErrConflict)
	require.ErrorContains(t, err, "50% of each machine")
	require.Equal(t, machines[0], item.Machine)
	require.Equal(t, resources.Vector{5}, item.Need)
	require.Equal(t, resources.Vector{2}, item.Free)

	again := read(t, b, start)
	require.Len(t, again.Ended, 2)
	require.Len(t, again.Offers, 2, "what there is")
	for _, o := range again.Offers {
		_, err = b.Accept(start, launch(o.ID, o.Room[0]))
		require.NoError(t, err)
	}
	usage, err := cell.Usage(accountOf(cell, "b"))
	require.NoError(t, err)
	require.Equal(t, resources.Vector{7}, usage)
	for st := range cell.Machines() {
		require.EqualValues(t, 5, st.Free[0])
	}
}

// A framework may have room that is kept for it even if less is offered since then. It
// may not have room that was merely shown to it.
func TestAccept_KeptOffersOutliveTheTermsOptimisticOnesDoNot(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{Terms: offers.Terms{Percent: 60}})
	f := register(t, m, offers.Registration{Name: "f", Outstanding: 1})
	kept := read(t, f, start).Offers
	require.Len(t, kept, 1)
	require.NoError(t, m.SetTerms(start, offers.Terms{Percent: 80, Optimistic: true}))
	shown := read(t, f, start).Offers
	require.Len(t, shown, 1)
	require.Equal(t, resources.Vector{2}, shown[0].Room)
	require.NoError(t, m.SetTerms(start, half(true).Terms))
	_, err := f.Accept(start, offers.Launch{
		Offers: ids(append(kept, shown...)), Tasks: []offers.Task{{Need: resources.Vector{7}}},
	})
	require.ErrorIs(t, err, omega.ErrConflict)
	_, err = f.Accept(start, launch(kept[0].ID, 6))
	require.NoError(t, err)
}

// fullHalf is a machine of which a holds the half that is offered, and others the
// rest; b is guaranteed a half and asks for it.
func fullHalf(t *testing.T, cfg offers.Config) (m *offers.Master, cell *omega.Cell, a, b *offers.Framework, release func()) {
	t.Helper()
	cell, machines := newCell(t, 1, resources.Vector{10})
	m = newMaster(t, cell, cfg)
	a = register(t, m, offers.Registration{Name: "a"})
	o := read(t, a, start).Offers[0]
	_, err := a.Accept(start, offers.Launch{Offers: []offers.OfferID{o.ID}, Tasks: []offers.Task{
		{Need: resources.Vector{1}}, {Need: resources.Vector{4}},
	}})
	require.NoError(t, err)
	hog, err := cell.Register("hog", omega.Limits{})
	require.NoError(t, err)
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: machines[0], Need: resources.Vector{5}})
	granted, err := hog.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 1, granted)
	b = register(t, m, offers.Registration{Name: "b", Guaranteed: resources.Vector{5}})
	return m, cell, a, b, func() {
		id, _ := tx.Allocation(0)
		require.NoError(t, hog.Release(id))
	}
}

// What others leave on a machine is theirs: it does not spare frameworks that hold the
// part that is offered.
func TestRequest_RevokesWithinThePartThatIsOffered(t *testing.T) {
	tests := map[string]struct {
		before bool // others leave before it asks
		ends   bool // frameworks that are told end their tasks before they have to
		lost   int
	}{
		"others leave after":             {lost: 2},
		"others leave after, tasks end":  {ends: true},
		"others leave before":            {before: true, lost: 2},
		"others leave before, tasks end": {before: true, ends: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m, cell, a, b, release := fullHalf(t, half(false))
			if tt.before {
				release()
			}
			_, err := b.Request(start, offers.Request{Machines: 1, Each: resources.Vector{5}, Revoke: true})
			require.NoError(t, err)
			told := read(t, a, start).Revoked
			require.Len(t, told, 2)
			if !tt.before {
				release()
			}
			require.NoError(t, m.Step(at(1)))
			require.Empty(t, read(t, b, at(1)).Answers, "there is room, but not its own")
			if tt.ends {
				require.NoError(t, a.Release(at(2), told[0].Task.ID, told[1].Task.ID))
			}
			require.NoError(t, m.Step(at(10)))
			answers := read(t, b, at(10)).Answers
			require.Len(t, answers, 1)
			require.NoError(t, answers[0].Reason)
			require.NoError(t, m.Step(at(11)))
			require.Len(t, read(t, a, at(11)).Tasks, tt.lost)
			for st := range cell.Machines() {
				require.EqualValues(t, 5, st.Free[0])
			}
		})
	}
}

// If less is offered meanwhile than what is asked for, no victim has to leave for it.
func TestRequest_RevokesNothingForMoreThanIsOffered(t *testing.T) {
	m, _, a, b, _ := fullHalf(t, half(false))
	_, err := b.Request(start, offers.Request{Machines: 1, Each: resources.Vector{5}, Revoke: true})
	require.NoError(t, err)
	require.Len(t, read(t, a, start).Revoked, 2)
	require.NoError(t, m.SetTerms(at(1), offers.Terms{Percent: 40}))
	require.NoError(t, m.Step(at(10)))
	news := read(t, a, at(10))
	require.Empty(t, news.Tasks)
	require.Len(t, news.Spared, 2)
	require.Empty(t, read(t, b, at(10)).Answers)
}

// A revocation on a machine that is not offered any more under other terms begins
// elsewhere. So does one that was not possible so far. Neither waits for the next step.
func TestSetTerms_MovesRevocationsAtOnce(t *testing.T) {
	cell, machines := newCell(t, 2, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	low := register(t, m, offers.Registration{Name: "low"})
	for _, o := range read(t, low, start).Offers {
		_, err := low.Accept(start, launch(o.ID, 10))
		require.NoError(t, err)
	}
	owner := register(t, m, offers.Registration{Name: "owner", Guaranteed: resources.Vector{10}})
	_, err := owner.Request(start, offers.Request{Machines: 1, Each: resources.Vector{10}, Revoke: true})
	require.NoError(t, err)
	was := read(t, low, start).Revoked[0].Task
	for _, only := range []omega.MachineID{machines[1], machines[0], machines[1]} {
		require.NoError(t, m.SetTerms(start, offers.Terms{Machines: omega.Mask{1 << only.Node()}}))
		if only == was.Machine {
			require.Empty(t, read(t, low, start).Revoked)
			continue
		}
		news := read(t, low, start)
		require.Equal(t, []omega.Allocation{was}, news.Spared)
		require.Len(t, news.Revoked, 1)
		was = news.Revoked[0].Task
		require.Equal(t, only, was.Machine)
	}
}

// Of several optimistic offers the error names the one on which it failed.
func TestAccept_NamesTheOfferOfAConflict(t *testing.T) {
	part := func(m *offers.Master) error { return m.SetTerms(start, offers.Terms{Percent: 50, Optimistic: true}) }
	tests := map[string]struct {
		cfg  offers.Config
		long bool
		then func(*offers.Master) error
		err  error
	}{
		"room":       {err: omega.ErrConflict},
		"part":       {then: part, err: omega.ErrConflict},
		"long tasks": {cfg: offers.Config{LongOnMachine: 50}, long: true, err: offers.ErrExceeds},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cell, _ := newCell(t, 3, resources.Vector{10})
			tt.cfg.Terms.Optimistic = true
			m := newMaster(t, cell, tt.cfg)
			f, g := register(t, m, offers.Registration{Name: "f"}), register(t, m, offers.Registration{Name: "g"})
			mine, others := read(t, f, start).Offers, read(t, g, start).Offers
			require.Len(t, mine, 3)
			start1 := func(o offers.Offer, need int64) offers.Launch {
				return offers.Launch{Offers: []offers.OfferID{o.ID}, Tasks: []offers.Task{{Need: resources.Vector{need}, Long: tt.long}}}
			}
			_, err := g.Accept(start, start1(others[1], 3))
			require.NoError(t, err)
			if tt.then != nil {
				require.NoError(t, tt.then(m))
			}
			need := map[string]int64{"room": 8, "part": 4, "long tasks": 4}[name]
			_, err = f.Accept(start, start1(mine[0], 4), start1(mine[1], need), start1(mine[2], 4))
			require.ErrorIs(t, err, tt.err)
			var of *offers.OfferError
			require.ErrorAs(t, err, &of)
			require.Equal(t, mine[1].ID, of.Offer)
			require.Equal(t, "f", of.Framework)
			require.Len(t, read(t, f, start).Offers, 3, "what there is is offered anew")
		})
	}
}

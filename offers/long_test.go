package offers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/resources"
)

// long starts one long task on offers of a machine.
func long(need int64, of ...offers.Offer) offers.Launch {
	return offers.Launch{Offers: ids(of), Tasks: []offers.Task{{Need: resources.Vector{need}, Long: true}}}
}

func TestOffer_LongOfOneMachineAddsUp(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{LongOnMachine: 50})
	f := register(t, m, offers.Registration{Name: "f", Outstanding: 1})
	got := read(t, f, start).Offers
	require.Equal(t, resources.Vector{5}, got[0].Long)
	tasks, err := f.Accept(start, launch(got[0].ID, 6))
	require.NoError(t, err)
	rest := read(t, f, start).Offers
	require.Equal(t, resources.Vector{4}, rest[0].Long, "all of it")
	require.NoError(t, f.Release(start, tasks...))
	more := read(t, f, start).Offers
	require.Equal(t, resources.Vector{6}, more[0].Room)
	require.Equal(t, resources.Vector{1}, more[0].Long, "the other one keeps four of five")
	_, err = f.Accept(start, long(6, rest[0], more[0]))
	require.ErrorIs(t, err, offers.ErrExceeds)
	_, err = f.Accept(start, long(5, rest[0], more[0]))
	require.NoError(t, err)
}

// Long of an offer is kept from others, which may try when it is not used, or is used
// elsewhere by the same accept.
func TestOffer_LongIsKept(t *testing.T) {
	cell, machines := newCell(t, 2, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{LongInCell: 50})
	a := register(t, m, offers.Registration{Name: "a"})
	gotA := read(t, a, start).Offers
	b := register(t, m, offers.Registration{Name: "b"})
	gotB := read(t, b, start).Offers
	require.Len(t, gotA, 2)
	require.Equal(t, resources.Vector{10}, gotA[0].Long)
	require.Zero(t, gotA[1].Long)
	require.NoError(t, a.Decline(start, offers.For(0), gotA[1].ID))
	gotB = append(gotB, read(t, b, start).Offers...)
	require.Len(t, gotB, 1)
	require.Zero(t, gotB[0].Long)
	_, err := b.Accept(start, long(1, gotB[0]))
	require.ErrorIs(t, err, offers.ErrExceeds)
	require.ErrorContains(t, err, "others are offered kind0=10, may have 50% of the cell: kind0=10")
	tasks, err := a.Accept(start, launch(gotA[0].ID, 10))
	require.NoError(t, err)
	ended, err := b.Accept(start, long(10, gotB[0]))
	require.NoError(t, err, "what was kept for others is not any more")

	require.NoError(t, b.Suppress(start))
	require.NoError(t, b.Release(start, ended...))
	require.NoError(t, a.Release(start, tasks...))
	gotA = read(t, a, start).Offers
	require.Len(t, gotA, 2)
	require.Equal(t, resources.Vector{10}, gotA[0].Long)
	_, err = cell.Remove(gotA[1].Machine)
	require.NoError(t, err)
	require.NoError(t, m.Step(start))
	_, err = a.Accept(start, long(10, gotA[0]))
	require.NoError(t, err, "what was promised is, although half of the cell has gone")
	require.Contains(t, machines, gotA[0].Machine)
}

func TestAccept_LongTasksCountTogether(t *testing.T) {
	cell, _ := newCell(t, 3, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{LongInCell: 50})
	f := register(t, m, offers.Registration{Name: "f", Outstanding: 1})
	got := read(t, f, start).Offers
	require.Equal(t, resources.Vector{5}, got[1].Long)
	require.Zero(t, got[2].Long)
	_, err := f.Accept(start, long(10, got[0]), long(6, got[2]))
	require.ErrorIs(t, err, offers.ErrExceeds)
	require.NoError(t, f.Decline(start, offers.For(0), got[2].ID))
	_, err = cell.Remove(got[2].Machine)
	require.NoError(t, err)
	require.NoError(t, m.Step(start))
	_, err = f.Accept(start, long(6, got[0]), long(9, got[1]))
	require.NoError(t, err, "together they have what they were promised")
}

// Optimistic offers keep nothing. A framework that comes too late is told what there is.
func TestAccept_LongTasksOnOptimisticOffersMayComeTooLate(t *testing.T) {
	cell, _ := newCell(t, 2, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{LongInCell: 50, Terms: offers.Terms{Optimistic: true}})
	a := register(t, m, offers.Registration{Name: "a"})
	b := register(t, m, offers.Registration{Name: "b"})
	gotA, gotB := read(t, a, start).Offers, read(t, b, start).Offers
	require.Equal(t, resources.Vector{10}, gotB[0].Long)
	require.Zero(t, gotB[1].Long, "as much in sum")
	_, err := a.Accept(start, long(5, gotA[0]))
	require.NoError(t, err)
	_, err = b.Accept(start, long(1, gotB[1]))
	require.NoError(t, err, "there is more than it says")
	fresh := read(t, b, start).Offers
	require.Len(t, fresh, 1, "what b has left on the second machine")
	require.Zero(t, fresh[0].Long)
	_, err = b.Accept(start, long(6, gotB[0]))
	require.ErrorIs(t, err, offers.ErrExceeds)
	news := read(t, b, start)
	require.Equal(t, []offers.Ended{{Offer: gotB[0].ID, Reason: offers.ErrRescinded}}, news.Ended)
	require.Len(t, news.Offers, 1)
	require.Equal(t, resources.Vector{4}, news.Offers[0].Long)
}

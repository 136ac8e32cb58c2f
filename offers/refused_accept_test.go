package offers_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/resources"
)

// A revocation begins on a machine while an accept of an offer there is on the way. The
// accept is refused, so the offer ends, and its room answers the request.
func TestAccept_RefusedOnAMachineKeptForARevocation(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m, all := newSlow(t, cell, offers.Config{Grace: offers.For(30e9)})
	f := register(t, m, offers.Registration{Name: "f", Outstanding: 1})
	g := register(t, m, offers.Registration{Name: "g", Guaranteed: resources.Vector{4}, Suppressed: true})
	require.NoError(t, m.Step(start))
	_, err := f.Accept(start, launch(read(t, f, start).Offers[0].ID, 4))
	require.NoError(t, err)
	require.NoError(t, m.Step(start))
	rest := read(t, f, start).Offers
	require.Len(t, rest, 1)
	require.Equal(t, resources.Vector{6}, rest[0].Room)

	all["offers/f"] = &hooks{before: func(context.Context) error {
		all["offers/f"].before = nil
		_, err := g.Request(at(1), offers.Request{Machines: 1, Each: resources.Vector{4}, Revoke: true})
		return errors.Join(errLine, err, m.Step(at(1)))
	}}
	_, err = f.Accept(start, launch(rest[0].ID, 6))
	require.ErrorIs(t, err, errLine)
	news := read(t, f, at(1))
	require.Len(t, news.Revoked, 1, "its task is to leave: the room of an accept on the way does not count")
	require.Equal(t, []offers.Ended{{Offer: rest[0].ID, Reason: offers.ErrRescinded}}, news.Ended)
	require.Equal(t, int64(4), used(cell)[0], "the room is free at once")

	require.NoError(t, m.Step(at(2)))
	require.Len(t, read(t, g, at(2)).Answers, 1, "without waiting for the grace")
	require.Len(t, read(t, f, at(2)).Spared, 1)
	require.NoError(t, cell.Check())
}

// An offer that answers a request that revokes stays where a revocation for another
// framework begins while its accept is on the way.
func TestAccept_RefusedOfAnAssuredOfferStays(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m, all := newSlow(t, cell, offers.Config{Grace: offers.For(30e9)})
	h := register(t, m, offers.Registration{Name: "h", Outstanding: 1})
	f := register(t, m, offers.Registration{Name: "f", Guaranteed: resources.Vector{6}, Suppressed: true})
	g := register(t, m, offers.Registration{Name: "g", Guaranteed: resources.Vector{4}, Suppressed: true})
	require.NoError(t, m.Step(start))
	_, err := h.Accept(start, launch(read(t, h, start).Offers[0].ID, 4))
	require.NoError(t, err)
	require.NoError(t, h.Suppress(start))
	_, err = f.Request(start, offers.Request{Machines: 1, Each: resources.Vector{6}, Revoke: true})
	require.NoError(t, err)
	require.NoError(t, m.Step(start))
	answers := read(t, f, start).Answers
	require.Len(t, answers, 1)

	all["offers/f"] = &hooks{before: func(context.Context) error {
		all["offers/f"].before = nil
		_, err := g.Request(at(1), offers.Request{Machines: 1, Each: resources.Vector{4}, Revoke: true})
		return errors.Join(errLine, err, m.Step(at(1)))
	}}
	_, err = f.Accept(start, launch(answers[0].Offers[0].ID, 6))
	require.ErrorIs(t, err, errLine)
	require.Len(t, read(t, h, at(1)).Revoked, 1)
	require.Empty(t, read(t, f, at(1)).Ended)
	_, err = f.Accept(at(1), launch(answers[0].Offers[0].ID, 6))
	require.NoError(t, err)
}

// A standby with another account takes over while an accept is on the way. The accept is
// refused: its room is free at once, for the frameworks of the account before too.
func TestAccept_RefusedAfterTheAccountHasChanged(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m, all := newSlow(t, cell, offers.Config{})
	shared := accountOf(cell, "shared")
	f := register(t, m, offers.Registration{Name: "f", Account: shared, Outstanding: 1})
	g := register(t, m, offers.Registration{Name: "g", Account: shared, Outstanding: 1, Suppressed: true})
	require.NoError(t, m.Step(start))
	mine := read(t, f, start).Offers
	require.Len(t, mine, 1)

	all["offers/f"] = &hooks{before: func(context.Context) error {
		all["offers/f"].before = nil
		_, err := m.Register(at(1), offers.Registration{
			Name: "f", Epoch: 1, Account: accountOf(cell, "other"), Outstanding: 1, Suppressed: true,
		})
		held, _ := g.Held()
		require.Equal(t, resources.Vector{10}, held, "the accept has no outcome yet")
		return err
	}}
	_, err := f.Accept(start, launch(mine[0].ID, 4))
	require.ErrorIs(t, err, offers.ErrFenced)
	require.Zero(t, used(cell))
	held, _ := g.Held()
	require.Zero(t, held, "the account is charged for nothing")

	require.NoError(t, g.Revive(at(1)))
	require.NoError(t, m.Step(at(2)))
	require.Len(t, read(t, g, at(2)).Offers, 1)
}

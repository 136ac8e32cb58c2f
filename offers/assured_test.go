package offers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/resources"
)

// A guarantee does not take away an offer that another framework was made within its own
// guarantee, while a third framework holds more than its own.
func TestRequest_TakesNoOfferThatIsGuaranteed(t *testing.T) {
	for machines, capacity := range map[int]int64{2: 4, 1: 8} {
		cell, _ := newCell(t, machines, resources.Vector{capacity})
		m := newMaster(t, cell, offers.Config{Grace: offers.For(10 * time.Second)})
		greedy := register(t, m, offers.Registration{Name: "greedy"})
		four := offers.Task{Need: resources.Vector{4}}
		for _, o := range read(t, greedy, start).Offers {
			l := launch(o.ID, 4)
			if capacity == 8 {
				l.Tasks = append(l.Tasks, four)
			}
			_, err := greedy.Accept(start, l)
			require.NoError(t, err)
		}
		a := register(t, m, offers.Registration{Name: "a", Guaranteed: resources.Vector{4}})
		b := register(t, m, offers.Registration{Name: "b", Guaranteed: resources.Vector{4}})
		want := offers.Request{Machines: 1, Each: resources.Vector{4}, Revoke: true}
		_, err := a.Request(start, want)
		require.NoError(t, err)
		require.NoError(t, m.Step(at(10)))
		got := read(t, a, at(10)).Answers
		require.Len(t, got, 1)
		_, err = b.Request(at(11), want)
		require.NoError(t, err)
		require.Empty(t, read(t, a, at(11)).Ended, "it is guaranteed that")
		require.NoError(t, m.Step(at(21)))
		require.Len(t, read(t, b, at(21)).Answers, 1)
		_, err = a.Accept(at(21), launch(got[0].Offers[0].ID, 4))
		require.NoError(t, err)
	}
}

// An answer beyond the guarantee of its framework, which has taken other room meanwhile,
// makes room for another framework's guarantee. Its tasks alone are within its guarantee,
// so no task would have to leave.
func TestRequest_TakesOffersBeyondAGuarantee(t *testing.T) {
	cell, machines := newCell(t, 2, resources.Vector{4})
	require.NoError(t, cell.SetCapacity(machines[1], resources.Vector{8}))
	m := newMaster(t, cell, offers.Config{Timeout: offers.Never()})
	a := register(t, m, offers.Registration{Name: "a", Guaranteed: resources.Vector{4}, Minimum: resources.Vector{5}})
	large := read(t, a, start).Offers
	require.Len(t, large, 1)
	require.NoError(t, a.Decline(start, offers.For(time.Second), large[0].ID))
	four := resources.Vector{4}
	_, err := a.Request(start, offers.Request{Machines: 1, Each: four, Revoke: true})
	require.NoError(t, err)
	answer := read(t, a, start).Answers[0].Offers[0]
	require.Equal(t, machines[0], answer.Machine)
	require.NoError(t, m.Step(at(2)))
	large = read(t, a, at(2)).Offers
	require.Len(t, large, 1)
	_, err = a.Accept(at(2), launch(large[0].ID, 4))
	require.NoError(t, err)

	b, err := m.Register(at(2), offers.Registration{Name: "b", Guaranteed: resources.Vector{8}, Minimum: resources.Vector{5}})
	require.NoError(t, err)
	_, err = b.Request(at(2), offers.Request{Machines: 2, Each: four, Revoke: true})
	require.NoError(t, err)
	require.Equal(t, answer.ID, read(t, a, at(2)).Ended[0].Offer)
	require.Len(t, read(t, b, at(2)).Answers, 1)
}

// No victim has to leave for a framework that has declined such room again and again,
// until its back-off ends.
func TestRequest_BackedOffFrameworkRevokesNothing(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{4})
	m := newMaster(t, cell, offers.Config{Grace: offers.For(10 * time.Second)})
	owner := register(t, m, offers.Registration{Name: "owner", Guaranteed: resources.Vector{4}, Minimum: resources.Vector{5}})
	low := register(t, m, offers.Registration{Name: "low"})
	asks := func(now time.Time) {
		got := read(t, low, now).Offers
		require.Len(t, got, 1)
		_, err := low.Accept(now, launch(got[0].ID, 4))
		require.NoError(t, err)
		_, err = owner.Request(now, offers.Request{Machines: 1, Each: resources.Vector{4}, Revoke: true})
		require.NoError(t, err)
	}
	for s := 0.0; s < 20; s += 10 {
		asks(at(s))
		require.Len(t, read(t, low, at(s)).Revoked, 1)
		require.NoError(t, m.Step(at(s+10)))
		got := read(t, owner, at(s+10)).Answers
		require.Len(t, got, 1)
		require.Zero(t, keeps(low))
		require.NoError(t, owner.Decline(at(s+10), offers.For(0), ids(got[0].Offers)...))
	}
	asks(at(20))
	require.Empty(t, read(t, low, at(20)).Revoked)
	require.NoError(t, m.Step(at(21)))
	require.Len(t, read(t, low, at(21)).Revoked, 1)
}

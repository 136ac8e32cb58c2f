package gate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf/gate"
	"github.com/cellsched/cellsched/resources"
)

// Room that is returned while a scheduler looks may be the room that it misses.
func TestGate_AReturnDuringAMissWakesTheSeat(t *testing.T) {
	_, seats := newGate(t, resources.Vector{100}, 2)
	rich, poor := seats[0], seats[1]
	require.True(t, ask(t, rich, resources.Vector{5}, clock(0)))
	require.True(t, ask(t, poor, resources.Vector{50}, clock(0)))
	require.NoError(t, rich.Return(resources.Vector{1}))
	_, err := poor.Miss(resources.Vector{50}, clock(0))
	require.NoError(t, err)
	require.False(t, ask(t, rich, resources.Vector{1}, clock(0)))
}

// Only a seat with less is woken, and only by a return that it has not seen.
func TestGate_WakesOnlyPoorerSeats(t *testing.T) {
	_, seats := newGate(t, resources.Vector{100}, 3)
	a, b, c := seats[0], seats[1], seats[2]
	take := func(s *gate.Seat, n int64) {
		require.True(t, ask(t, s, resources.Vector{n}, clock(0)))
		s.Keep()
		s.Rest()
	}
	park := func(s *gate.Seat) {
		require.True(t, ask(t, s, resources.Vector{50}, clock(0)))
		miss(t, s, resources.Vector{50}, clock(0))
	}
	take(a, 10)
	take(b, 20)
	take(c, 30)
	park(b)
	require.NoError(t, c.Return(resources.Vector{1}))
	park(a) // has seen it
	require.True(t, ask(t, a, resources.Vector{1}, clock(0)), "b has more, and is left parked")
	miss(t, a, resources.Vector{1}, clock(0))
	require.False(t, ask(t, c, resources.Vector{1}, clock(0)), "b has less, and is woken")
	park(b)
	require.True(t, ask(t, c, resources.Vector{1}, clock(0)), "a had seen all returns")
}

// A seat waits from its question until it misses or rests; one that has missed waits
// again once another asks after something was returned.
func TestSeat_Waits(t *testing.T) {
	require.False(t, (*gate.Seat)(nil).Waits())
	g, err := gate.New(resources.Vector{4}, time.Second)
	require.NoError(t, err)
	poor, err := g.Join(1)
	require.NoError(t, err)
	rich, err := g.Join(1)
	require.NoError(t, err)
	now, one := time.Unix(0, 0), resources.Vector{1}
	ask := func(s *gate.Seat) bool {
		yes, err := s.Ask(one, now)
		require.NoError(t, err)
		return yes
	}
	require.False(t, poor.Waits())
	require.True(t, ask(rich))
	rich.Keep()
	require.True(t, ask(rich))
	rich.Keep()
	require.True(t, ask(poor))
	require.True(t, poor.Waits())
	_, err = poor.Miss(one, now)
	require.NoError(t, err)
	require.False(t, poor.Waits())
	require.NoError(t, rich.Return(one))
	require.False(t, ask(rich), "the poorer one goes first")
	require.True(t, poor.Waits())
	poor.Rest()
	require.False(t, poor.Waits())
}

package gate_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/drf/gate"
	"github.com/cellsched/cellsched/resources"
)

func newGate(t testing.TB, total resources.Vector, seats int) (*gate.Gate, []*gate.Seat) {
	t.Helper()
	g, err := gate.New(total, time.Second)
	require.NoError(t, err)
	var all []*gate.Seat
	for range seats {
		s, err := g.Join(1)
		require.NoError(t, err)
		all = append(all, s)
	}
	return g, all
}

// clock is a time to tell a gate.
func clock(ms int64) time.Time { return time.UnixMilli(1_000_000 + ms) }

func ask(t testing.TB, s *gate.Seat, need resources.Vector, now time.Time) bool {
	t.Helper()
	yes, err := s.Ask(need, now)
	require.NoError(t, err)
	return yes
}

func miss(t testing.TB, s *gate.Seat, need resources.Vector, now time.Time) (passed int) {
	t.Helper()
	passed, err := s.Miss(need, now)
	require.NoError(t, err)
	return passed
}

func TestGate_LetsThePoorestWaitingSeatTake(t *testing.T) {
	_, seats := newGate(t, resources.Vector{100, 10}, 3)
	a, b, c := seats[0], seats[1], seats[2]
	require.True(t, ask(t, a, resources.Vector{10}, clock(0)), "no other seat waits")
	require.True(t, ask(t, a, resources.Vector{10}, clock(0)))
	require.True(t, ask(t, b, resources.Vector{0, 1}, clock(0)), "it has less")
	require.False(t, ask(t, a, resources.Vector{10}, clock(0)), "b has 0.1, a has 0.2")
	require.True(t, ask(t, b, resources.Vector{0, 1}, clock(0)))
	require.True(t, ask(t, a, resources.Vector{10}, clock(0)), "equal shares may both take")
	require.Equal(t, resources.Vector{30}, a.Usage())
	require.InDelta(t, 0.3, a.Share(), 1e-15)

	require.True(t, ask(t, c, resources.Vector{1}, clock(0)))
	require.False(t, ask(t, b, resources.Vector{0, 1}, clock(0)), "now c waits")
	c.Rest()
	require.True(t, ask(t, b, resources.Vector{0, 1}, clock(0)), "and does not any more")
}

func TestGate_ParkedSeatDoesNotBlock(t *testing.T) {
	_, seats := newGate(t, resources.Vector{100}, 2)
	rich, poor := seats[0], seats[1]
	one := resources.Vector{1}
	require.True(t, ask(t, rich, one, clock(0)))
	require.True(t, ask(t, poor, resources.Vector{50}, clock(0)))
	for i := range 5 {
		passed, err := poor.Miss(resources.Vector{50}, clock(0))
		require.NoError(t, err)
		require.Equal(t, i, passed)
		require.Zero(t, poor.Usage())
		require.True(t, ask(t, rich, one, clock(0)), "poor is parked")
		rich.Keep()
		require.True(t, ask(t, poor, resources.Vector{50}, clock(0)))
	}
	poor.Keep()
	require.NoError(t, poor.Return(resources.Vector{50}))
	require.True(t, ask(t, poor, resources.Vector{50}, clock(0)))
	passed, err := poor.Miss(resources.Vector{50}, clock(0))
	require.NoError(t, err)
	require.Zero(t, passed, "the count began anew when it kept something")

	require.NoError(t, rich.Return(one))
	require.False(t, ask(t, rich, one, clock(1)), "the room is for poor, if it is enough")
	require.False(t, ask(t, rich, one, clock(1001)))
	require.True(t, ask(t, rich, one, clock(1002)), "but it has not looked for a second")
}

func TestGate_ADeadSeatBlocksForThePatience(t *testing.T) {
	_, seats := newGate(t, resources.Vector{100}, 3)
	for _, s := range seats {
		require.True(t, ask(t, s, resources.Vector{1}, clock(0)))
	}
	require.True(t, ask(t, seats[0], resources.Vector{1}, clock(0)))
	require.False(t, ask(t, seats[0], resources.Vector{1}, clock(1000)))
	require.True(t, ask(t, seats[1], resources.Vector{1}, clock(1000)))
	require.False(t, ask(t, seats[0], resources.Vector{5}, clock(1000)))
	require.True(t, ask(t, seats[0], resources.Vector{5}, clock(1001)), "seats 2 is dead")
	require.True(t, ask(t, seats[2], resources.Vector{1}, clock(1001)), "it was only slow")

	seats[1].Leave()
	seats[1].Leave() // not a second time
	_, err := seats[1].Ask(resources.Vector{1}, clock(0))
	require.ErrorIs(t, err, drf.ErrUser)
	_, err = seats[1].Miss(resources.Vector{1}, clock(0))
	require.ErrorIs(t, err, drf.ErrUser)
	seats[1].Rest()
	_, err = seats[1].Ask(resources.Vector{1}, clock(0))
	require.ErrorIs(t, err, drf.ErrUser)
	require.NoError(t, seats[1].Return(resources.Vector{2}), "what it held ends all the same")
}

// Returns of a scheduler that has left wake parked seats.
func TestGate_CountsReturnsOfDepartedSeats(t *testing.T) {
	_, seats := newGate(t, resources.Vector{100}, 3)
	gone, rich, poor := seats[0], seats[1], seats[2]
	require.True(t, ask(t, gone, resources.Vector{5}, clock(0)))
	require.NoError(t, gone.Return(resources.Vector{1}))
	gone.Leave()
	require.True(t, ask(t, rich, resources.Vector{5}, clock(0)))
	require.True(t, ask(t, poor, resources.Vector{50}, clock(0)))
	_, err := poor.Miss(resources.Vector{50}, clock(0))
	require.NoError(t, err)
	require.True(t, ask(t, rich, resources.Vector{5}, clock(0)))
	require.NoError(t, gone.Return(resources.Vector{4}))
	require.False(t, ask(t, rich, resources.Vector{5}, clock(0)))
}

// Each seat that died has others refused for the patience, once.
func TestGate_TheDeadAreWaitedForOnceEach(t *testing.T) {
	const dead = 10
	_, seats := newGate(t, resources.Vector{1000}, dead+1)
	for i, s := range seats[:dead] {
		require.True(t, ask(t, s, resources.Vector{int64(10 * (i + 1))}, clock(0)))
		s.Keep()
		s.Rest()
	}
	for _, s := range seats[:dead] {
		require.True(t, ask(t, s, resources.Vector{500}, clock(0)))
		miss(t, s, resources.Vector{500}, clock(0))
	}
	now := int64(0)
	for range 200 { // the one left passes them all
		require.NoError(t, seats[0].Return(resources.Vector{}))
		for !ask(t, seats[dead], resources.Vector{1}, clock(now)) {
			now++
		}
		seats[dead].Keep()
	}
	require.EqualValues(t, dead*1001, now)
}

func TestGate_TotalsMayChange(t *testing.T) {
	g, seats := newGate(t, resources.Vector{100, 100}, 2)
	a, b := seats[0], seats[1]
	require.True(t, ask(t, a, resources.Vector{20, 0}, clock(0)))
	require.True(t, ask(t, b, resources.Vector{0, 10}, clock(0)))
	require.False(t, ask(t, a, resources.Vector{1}, clock(0)), "0.2 of the first kind, to 0.1 of the second")
	require.ErrorIs(t, g.SetTotal(resources.Vector{}), drf.ErrEmpty)
	require.InDelta(t, 0.2, a.Share(), 1e-15)
	require.NoError(t, g.SetTotal(resources.Vector{400, 100}))
	require.InDelta(t, 0.05, a.Share(), 1e-15)
	require.True(t, ask(t, a, resources.Vector{1}, clock(0)))
	require.False(t, ask(t, b, resources.Vector{0, 1}, clock(0)))
}

func TestGate_BadInputChangesNothing(t *testing.T) {
	none, err := gate.New(resources.Vector{}, time.Second)
	require.ErrorIs(t, err, drf.ErrEmpty)
	require.Nil(t, none)
	_, err = gate.New(resources.Vector{-1}, time.Second)
	require.ErrorIs(t, err, resources.ErrQuantity)
	_, err = gate.New(resources.Vector{1}, 0)
	require.ErrorIs(t, err, drf.ErrPatience)
	g, seats := newGate(t, resources.Vector{100, 100}, 1)
	for _, w := range []float64{0, -1, math.NaN(), math.Inf(1), 2e6, 5e-7} {
		_, err := g.Join(w)
		require.ErrorIs(t, err, drf.ErrWeight)
	}
	require.ErrorIs(t, g.SetTotal(resources.Vector{}), drf.ErrEmpty)
	s := seats[0]
	require.True(t, ask(t, s, resources.Vector{2, 3}, clock(0)))
	_, err = s.Ask(resources.Vector{}, clock(0))
	require.ErrorIs(t, err, drf.ErrEmpty)
	_, err = s.Ask(resources.Vector{-1}, clock(0))
	require.ErrorIs(t, err, resources.ErrQuantity)
	_, err = s.Ask(resources.Vector{1, resources.MaxQuantity}, clock(0))
	require.ErrorIs(t, err, resources.ErrQuantity)
	require.ErrorIs(t, s.Return(resources.Vector{2, 4}), drf.ErrHeld)
	require.ErrorIs(t, s.Return(resources.Vector{-2}), resources.ErrQuantity)
	_, err = s.Miss(resources.Vector{3}, clock(0))
	require.ErrorIs(t, err, drf.ErrHeld)
	require.ErrorContains(t, err, "miss kind0=3,")
	require.ErrorContains(t, s.Undo(resources.Vector{3}), "undo kind0=3,")
	require.Equal(t, resources.Vector{2, 3}, s.Usage())

	// A question that is refused does not count.
	other, err := g.Join(1)
	require.NoError(t, err)
	s.Rest()
	require.True(t, ask(t, other, resources.Vector{50}, clock(0)))
	_, err = s.Ask(resources.Vector{resources.MaxQuantity}, clock(0))
	require.ErrorIs(t, err, resources.ErrQuantity)
	require.True(t, ask(t, other, resources.Vector{1}, clock(0)), "s rests")

	s.Leave()
	_, err = s.Ask(resources.Vector{1}, clock(0))
	require.ErrorContains(t, err, "ask:")
	_, err = s.Miss(resources.Vector{1}, clock(0))
	require.ErrorContains(t, err, "miss:")
}

func TestGate_UndoGivesBackAndGoesOnWaiting(t *testing.T) {
	_, seats := newGate(t, resources.Vector{100}, 2)
	rich, poor := seats[0], seats[1]
	require.True(t, ask(t, rich, resources.Vector{20}, clock(0)))
	require.True(t, ask(t, poor, resources.Vector{10}, clock(0)))
	require.NoError(t, poor.Undo(resources.Vector{10}))
	require.Zero(t, poor.Usage())
	require.False(t, ask(t, rich, resources.Vector{1}, clock(0)))

	// Undo is no return, which would wake a parked seat.
	require.True(t, ask(t, poor, resources.Vector{10}, clock(0)))
	miss(t, poor, resources.Vector{10}, clock(0))
	require.True(t, ask(t, rich, resources.Vector{1}, clock(0)))
	require.NoError(t, rich.Undo(resources.Vector{1}))
	require.True(t, ask(t, rich, resources.Vector{1}, clock(0)))
}

// Passed counts the tasks that others began since a seat first missed, seats that
// have left included, and nothing else.
func TestGate_MissCountsTasksOfOtherSeats(t *testing.T) {
	g, seats := newGate(t, resources.Vector{1000}, 2)
	a, b := seats[0], seats[1]
	one, many := resources.Vector{1}, resources.Vector{900}
	missed := func() int {
		require.True(t, ask(t, a, many, clock(0)))
		return miss(t, a, many, clock(0))
	}
	require.True(t, ask(t, b, one, clock(0)))
	b.Keep()
	require.Zero(t, missed(), "b began before")
	for range 3 { // b takes nothing
		require.True(t, ask(t, b, one, clock(0)))
		miss(t, b, one, clock(0))
		require.True(t, ask(t, b, one, clock(0)))
		require.NoError(t, b.Undo(one))
		require.Zero(t, missed())
	}
	for i := range 20 {
		c, err := g.Join(1)
		require.NoError(t, err)
		require.True(t, ask(t, c, one, clock(0)))
		c.Keep()
		c.Leave()
		require.Equal(t, i+1, missed())
	}
	a.Rest() // it gives that up
	require.True(t, ask(t, b, one, clock(0)))
	b.Keep()
	require.Zero(t, missed())
	require.True(t, ask(t, b, one, clock(0)))
	b.Keep()
	require.Equal(t, 1, missed())
	require.True(t, ask(t, a, one, clock(0)))
	a.Keep()
	require.Zero(t, missed())
}

// The sum of returns never is one of another time: not even when a seat leaves
// that had made some, and just as many are made after.
func TestGate_LeavingUndoesNoReturns(t *testing.T) {
	_, seats := newGate(t, resources.Vector{100}, 3)
	gone, rich, poor := seats[0], seats[1], seats[2]
	require.True(t, ask(t, gone, resources.Vector{5}, clock(0)))
	require.NoError(t, gone.Return(resources.Vector{1}))
	require.True(t, ask(t, rich, resources.Vector{5}, clock(0)))
	require.True(t, ask(t, poor, resources.Vector{50}, clock(0)))
	miss(t, poor, resources.Vector{50}, clock(0))
	gone.Leave()
	require.True(t, ask(t, rich, resources.Vector{5}, clock(0)), "nothing is returned by leaving")
	require.NoError(t, rich.Return(resources.Vector{5}))
	require.False(t, ask(t, rich, resources.Vector{5}, clock(0)))
}

package gate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf/gate"
	"github.com/cellsched/cellsched/resources"
)

// insomniac is a gate of two seats. Rich has 0.05. Poor misses a large amount again
// and again, 10 ms after a return that wakes it.
type insomniac struct {
	gate       *gate.Gate
	rich, poor *gate.Seat
	now        int64 // milliseconds
}

func newInsomniac(t *testing.T, misses int) *insomniac {
	t.Helper()
	g, seats := newGate(t, resources.Vector{100}, 2)
	c := &insomniac{gate: g, rich: seats[0], poor: seats[1]}
	for range 5 {
		require.True(t, ask(t, c.rich, resources.Vector{1}, clock(0)))
		c.rich.Keep()
	}
	require.True(t, ask(t, c.poor, resources.Vector{50}, clock(0)))
	miss(t, c.poor, resources.Vector{50}, clock(0))
	for range misses {
		c.wakeAndMiss(t)
	}
	return c
}

// refused has rich end one task, ask for another, and says whether it is refused.
func (c *insomniac) refused(t *testing.T) bool {
	t.Helper()
	require.NoError(t, c.rich.Return(resources.Vector{1}))
	yes := ask(t, c.rich, resources.Vector{1}, clock(c.now))
	if yes {
		c.rich.Keep()
	}
	return !yes
}

func (c *insomniac) wakeAndMiss(t *testing.T) {
	t.Helper()
	for !c.refused(t) {
		c.now++
	}
	c.now += 10
	require.True(t, ask(t, c.poor, resources.Vector{50}, clock(c.now)))
	miss(t, c.poor, resources.Vector{50}, clock(c.now))
	require.True(t, ask(t, c.rich, resources.Vector{1}, clock(c.now)))
	c.rich.Keep()
}

func TestGate_ASeatThatMissesTooOftenSleeps(t *testing.T) {
	c := newInsomniac(t, 42) // 420 ms, of 10 each: for 10·(42-32)
	for range 99 {
		c.now++
		require.False(t, c.refused(t))
		// It may try, and holds no other seat back.
		require.True(t, ask(t, c.poor, resources.Vector{1}, clock(c.now)))
		require.False(t, c.refused(t))
		miss(t, c.poor, resources.Vector{1}, clock(c.now))
	}
	c.now++
	begin := c.now
	c.wakeAndMiss(t)
	require.Equal(t, begin+10, c.now)
	c.now += 109 // for 10·(43-32)
	require.False(t, c.refused(t))
	c.now++
	require.True(t, c.refused(t))

	// A seat that has not called is waited for as long as the patience is.
	c.now += 5000
	require.False(t, c.refused(t))
	require.True(t, ask(t, c.poor, resources.Vector{50}, clock(c.now)))
	miss(t, c.poor, resources.Vector{50}, clock(c.now))
	require.True(t, c.refused(t), "1.43 s is not 32 times as long as 1 s")
}

func TestGate_RestingDoesNotWake(t *testing.T) {
	c := newInsomniac(t, 42)
	c.poor.Rest()
	require.False(t, c.refused(t))
	c.now++
	require.True(t, ask(t, c.poor, resources.Vector{1}, clock(c.now)))
	require.False(t, c.refused(t), "it is parked still")
	c.now += 99
	require.True(t, c.refused(t), "and can be woken")
}

func TestGate_KeepingSomethingWakes(t *testing.T) {
	c := newInsomniac(t, 42)
	c.now++
	require.True(t, ask(t, c.poor, resources.Vector{1}, clock(c.now)))
	require.True(t, ask(t, c.rich, resources.Vector{1}, clock(c.now)))
	require.NoError(t, c.rich.Undo(resources.Vector{1}))
	c.poor.Keep()
	require.False(t, ask(t, c.rich, resources.Vector{1}, clock(c.now)), "poor waits")
	c.poor.Rest()
	require.True(t, ask(t, c.poor, resources.Vector{1}, clock(c.now)))
	require.NoError(t, c.poor.Undo(resources.Vector{1}))
	require.False(t, ask(t, c.rich, resources.Vector{1}, clock(c.now)), "and again")
	require.True(t, ask(t, c.poor, resources.Vector{50}, clock(c.now)))
	miss(t, c.poor, resources.Vector{50}, clock(c.now))
	for range 32 { // all begins anew
		c.wakeAndMiss(t)
	}
	require.True(t, c.refused(t))
}

// A task as large has just ended: room for one of the kind.
func TestGate_ItsOwnReturnEndsASeatsSleep(t *testing.T) {
	c := newInsomniac(t, 0)
	require.True(t, ask(t, c.poor, resources.Vector{1}, clock(0)))
	c.poor.Keep()
	require.True(t, ask(t, c.poor, resources.Vector{50}, clock(0)))
	miss(t, c.poor, resources.Vector{50}, clock(0))
	for range 42 {
		c.wakeAndMiss(t)
	}
	c.now++
	require.False(t, c.refused(t))
	require.NoError(t, c.poor.Return(resources.Vector{1}))
	require.True(t, c.refused(t))

	c.now++
	require.True(t, ask(t, c.poor, resources.Vector{50}, clock(c.now)))
	miss(t, c.poor, resources.Vector{50}, clock(c.now))
	require.False(t, c.refused(t), "once")
}

package flow_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// The task after one that is not wanted any more has a machine kept for a patience of its
// own, though it be the same machine.
func TestPatience_BeginsAnewForTheNext(t *testing.T) {
	y := newYard(t, one, resources.Vector{4}, resources.Vector{4})
	y.patience, y.still = 10*time.Second, true
	y.begin(t)
	y.addJob(t, "a", 0, 99)
	for range 8 {
		y.add(t, "a", one)
	}
	y.round(t)
	first, next := y.add(t, "a", resources.Vector{4}), y.add(t, "a", resources.Vector{4})
	kept := func(n name) string {
		y.round(t)
		e, err := y.s.Explain(n)
		require.NoError(t, err)
		y.pass(t, time.Second)
		return e.Kept
	}
	for range 10 {
		require.Empty(t, kept(first))
	}
	on := kept(first)
	require.NotEmpty(t, on)
	for range 7 {
		require.Equal(t, on, kept(first))
	}
	y.done(t, first)
	for i := range 10 {
		require.Equal(t, on, kept(next), "after %d s", i)
	}
	require.NotEqual(t, on, kept(next))
}

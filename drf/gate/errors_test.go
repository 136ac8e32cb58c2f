package gate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/drf/gate"
	"github.com/cellsched/cellsched/resources"
)

// An error names the package once, the amount that was refused by its kinds, and the
// amount that was expected.
func TestErrors_NameTheValue(t *testing.T) {
	g, err := gate.New(resources.Vector{10}, time.Second)
	require.NoError(t, err)
	s, err := g.Join(1)
	require.NoError(t, err)

	_, err = g.Join(0)
	require.EqualError(t, err, "gate: join: weight 0, want 1e-06 to 1e+06: invalid weight")
	require.ErrorIs(t, err, drf.ErrWeight)
	_, err = gate.New(resources.Vector{1}, 0)
	require.EqualError(t, err, "gate: patience of 0s, want more than 0: invalid patience")
	require.ErrorIs(t, err, drf.ErrPatience)
	_, err = s.Ask(resources.Vector{}, time.Unix(1, 0))
	require.EqualError(t, err, "gate: ask: amount 0, want some of at least one kind: empty amount")
	require.ErrorIs(t, err, drf.ErrEmpty)
	err = s.Return(resources.Vector{0, 2})
	require.EqualError(t, err, "gate: return kind1=2, but the seat holds kind1=0: usage mismatch")
	require.ErrorIs(t, err, drf.ErrHeld)
}

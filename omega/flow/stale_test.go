package flow_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// A round plans nothing if its store fails to show the cell. The next one does.
func TestRound_PlansNothingWithoutAViewOfTheCell(t *testing.T) {
	y, store := slowYard(t, one, one)
	y.addJob(t, "a", 0, 9)
	y.round(t)
	a := y.add(t, "a", one, 0)
	broken := errors.New("broken")
	store.refresh = func(context.Context) error { return broken }
	r, err := y.s.Round(t.Context(), y.now)
	require.ErrorIs(t, err, broken)
	require.Empty(t, r.Start)
	require.Equal(t, 1, r.Waiting)
	store.refresh = nil
	require.Equal(t, []name{a}, starts(y.round(t)))
}

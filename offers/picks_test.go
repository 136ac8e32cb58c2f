package offers_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Room that was picked for a framework is picked anew where a request is in doubt meanwhile.
// The framework is charged for it once.
func TestStep_PicksAgainAfterARequestInDoubt(t *testing.T) {
	cell, _ := newCell(t, 3, resources.Vector{10})
	m, all := newSlow(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f"})
	_, err := f.Request(start, offers.Request{Machines: 2, Each: resources.Vector{6}})
	require.NoError(t, err)
	all["offers"] = &hooks{before: func(context.Context) error { return omega.ErrOutcome }}
	require.ErrorIs(t, m.Step(start), omega.ErrOutcome)
	all["offers"].before = nil
	for i := range 3 {
		require.NoError(t, m.Step(at(float64(i))))
		held, _ := f.Held()
		usage, err := cell.Usage(accountOf(cell, "f"))
		require.NoError(t, err)
		require.Equal(t, usage, held)
	}
	news := read(t, f, at(3))
	require.Len(t, news.Answers, 1)
	require.Len(t, news.Offers, 3, "the rest of each machine")
}

package loop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

// A machine is reserved at precedence 0. A job of precedence 5 takes that room, and one of
// precedence 0 does not, with a ranking of its own, too.
func TestPlaceOrPreempt_TakesRoomReservedAtALowerPrecedence(t *testing.T) {
	own := func(j *loop.Job[string]) omega.Ranking {
		r := omega.RankBelow(j.Precedence)
		r.Of = func(omega.Allocation, resources.Vector) (int, bool) { return 0, false }
		return r
	}
	for name, ranks := range map[string]func(*loop.Job[string]) omega.Ranking{"by precedence": nil, "one of its own": own} {
		t.Run(name, func(t *testing.T) {
			cell := newCell(t, 4)
			r := newRig(t, cell, loop.Config[string]{Place: loop.PlaceOrPreempt(omega.NextFit(), time.Minute, ranks)})
			m, _ := cell.Machine("m0")
			tx := omega.Txn{Now: epoch}
			at := tx.Reserve(epoch.Add(time.Hour), omega.Claim{Machine: m, Need: resources.Vector{4}})
			_, err := register(t, cell, "other").Commit(&tx)
			require.NoError(t, err)
			_, err = tx.Reservation(at)
			require.NoError(t, err)

			r.submit(t, epoch, job("low", 1, 1))
			high := job("high", 1, 2)
			high.Precedence = 5
			r.submit(t, epoch, high)
			r.settle(t, epoch)
			require.Empty(t, r.held["low"])
			require.Len(t, r.held["high"], 1)
			require.NoError(t, cell.Check())
		})
	}
}

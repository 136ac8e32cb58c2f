package journal_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal/journaltest"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// A scheduler loop and a pool run on a cell with a journal as they do in memory, also where
// the store leaves outcomes unknown.
func TestCell_ServesALoopAndAPool(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			sim := journaltest.NewSim(journaltest.Faults{Lost: 0.1, Unknown: 0.1, Delay: 5 * time.Millisecond}, rand.New(rand.NewPCG(seed, 1)))
			cell := open(t, sim.Client(), first(4))
			s, err := cell.Take(t.Context(), "loop", omega.Limits{})
			require.NoError(t, err)
			ctx, cancel := context.WithCancelCause(t.Context())
			finished := errors.New("finished")
			done := 0
			l, err := loop.New(loop.Config[int]{
				Store: omega.Local{Scheduler: s},
				Observe: func(e loop.Event[int]) {
					for _, a := range e.Allocations {
						if err := s.Release(a); err != nil {
							t.Error(err)
						}
					}
					if e.Kind == loop.Complete {
						if done++; done == 6 {
							cancel(finished)
						}
					}
				},
			})
			require.NoError(t, err)
			for i := range 6 {
				_, err := l.Submit(time.Now(), loop.Job[int]{Key: i, Need: resources.Vector{10}, Tasks: 3, Gang: i%2 == 0})
				require.NoError(t, err)
			}
			require.ErrorIs(t, l.Run(ctx), finished)

			p, err := pool.New(pool.Config{Cell: cell.Cell})
			require.NoError(t, err)
			for range 20 {
				lease, err := p.Acquire(t.Context(), "tenant", resources.Vector{30})
				require.NoError(t, err)
				require.NoError(t, lease.Release())
			}
			require.NoError(t, p.Close(t.Context()))
			for m := range cell.Machines() {
				require.Zero(t, m.Live)
			}
			require.NoError(t, cell.Close(t.Context()))
		})
	}
}

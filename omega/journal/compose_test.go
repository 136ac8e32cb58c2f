package journal_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/flow"
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

// Offers are made, declined and accepted on a cell with a journal also where the store leaves
// outcomes unknown. Nothing stays claimed once the frameworks have ended.
func TestCell_ServesOffers(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			sim := journaltest.NewSim(journaltest.Faults{Lost: 0.1, Unknown: 0.1, Delay: 5 * time.Millisecond}, rand.New(rand.NewPCG(seed, 1)))
			cell := open(t, sim.Client(), first(4))
			m, err := offers.New(cell.Cell, offers.Config{}, time.Now())
			require.NoError(t, err)
			rng := rand.New(rand.NewPCG(seed, 2))
			frameworks, running := make([]*offers.Framework, 3), make([][]omega.AllocationID, 3)
			for i := range frameworks {
				frameworks[i], err = m.Register(time.Now(), offers.Registration{Name: string(rune('a' + i))})
				require.NoError(t, err)
			}
			launched := 0
			for range 60 {
				require.NoError(t, m.Step(time.Now()))
				i := rng.IntN(len(frameworks))
				f := frameworks[i]
				news, err := f.News(time.Now())
				require.NoError(t, err)
				for _, o := range news.Offers {
					if rng.IntN(2) == 0 {
						require.NoError(t, f.Decline(time.Now(), offers.Span{}, o.ID))
						continue
					}
					ids, err := f.Accept(time.Now(), offers.Launch{Offers: []offers.OfferID{o.ID}, Tasks: []offers.Task{{Need: resources.Vector{1 + rng.Int64N(9)}}}})
					if err == nil {
						running[i], launched = append(running[i], ids...), launched+1
					}
				}
				if n := len(running[i]); n > 0 && rng.IntN(2) == 0 {
					require.NoError(t, f.Release(time.Now(), running[i][n-1]))
					running[i] = running[i][:n-1]
				}
				time.Sleep(time.Second)
			}
			require.Positive(t, launched)
			for _, f := range frameworks {
				require.NoError(t, f.Unregister(time.Now()))
			}
			for range 10 {
				require.NoError(t, m.Step(time.Now()))
				time.Sleep(time.Second)
			}
			for st := range cell.Machines() {
				require.Zero(t, st.Live, "seed %d", seed)
			}
			require.NoError(t, cell.Check())
			require.NoError(t, cell.Close(t.Context()))
		})
	}
}

// While the store is stalled a pool's TryAcquire and Stats answer, and so does a flow scheduler.
func TestCell_HoldsUpNoPoolOrFlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newGated()
		pass := func(n int) {
			for range n {
				store.leave <- nil
			}
		}
		cell := open(t, store, first(2))
		pass(1)
		s, err := cell.Take(t.Context(), "flow", omega.Limits{})
		require.NoError(t, err)
		tasks, err := flow.New[string](flow.Config[string]{
			Cell: cell.Cell, Scheduler: s, Slot: resources.Vector{10},
			Arcs: func(arcs []quincy.Arc, _ string, state quincy.State, now int64) []quincy.Arc {
				return quincy.DataCosts{Wait: 1, Unscheduled: 100}.Arcs(arcs, nil, state, now)
			},
		})
		require.NoError(t, err)
		require.NoError(t, tasks.AddJob("j", 0, 4))
		require.NoError(t, tasks.Add("t", flow.Task[string]{Job: "j", Need: resources.Vector{1}}, time.Now()))
		go pass(2)
		p, err := pool.New(pool.Config{Cell: cell.Cell})
		require.NoError(t, err)
		acquired := make(chan error, 1)
		go func() {
			lease, err := p.Acquire(t.Context(), "tenant", resources.Vector{3})
			if err == nil {
				err = lease.Release()
			}
			acquired <- err
		}()
		rounded := make(chan error, 1)
		go func() {
			_, err := tasks.Round(t.Context(), time.Now())
			rounded <- err
		}()
		synctest.Wait()
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			_, _ = p.TryAcquire("tenant", resources.Vector{1})
			_ = p.Stats()
			_ = tasks.WriteDOT(io.Discard)
			if err := tasks.Add("u", flow.Task[string]{Job: "j", Need: resources.Vector{1}}, time.Now()); err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(time.Second) // TryAcquire waits for the committer for a few milliseconds
		synctest.Wait()
		select {
		case <-answered:
		default:
			require.Fail(t, "a call waits for the store")
		}
		require.Empty(t, rounded, "the store is stalled")
		require.Empty(t, acquired, "the store is stalled")
		ctx, cancel := context.WithCancel(t.Context())
		var passing sync.WaitGroup
		passing.Go(func() {
			for {
				select {
				case store.leave <- nil:
				case <-ctx.Done():
					return
				}
			}
		})
		require.NoError(t, <-rounded)
		require.NoError(t, <-acquired)
		require.NoError(t, p.Close(t.Context()))
		require.NoError(t, cell.Close(t.Context()))
		cancel()
		passing.Wait()
	})
}

package pool_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
)

// refill has the other scheduler hold all room of a machine, in units that it uses for a
// second each. Each unit that ends is claimed again in the same step. It counts the units.
func (s *shared) refill(ctx context.Context) (used *atomic.Int64, done chan struct{}) {
	used, done = new(atomic.Int64), make(chan struct{})
	state, _ := s.cell.State(s.ids[0])
	units := make([]omega.AllocationID, state.Capacity[0])
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i = (i + 1) % len(units) {
			var tx omega.Txn
			if units[i] != (omega.AllocationID{}) {
				tx.Release(units[i])
			}
			n := tx.Claim(omega.Claim{Machine: s.ids[0], Need: v(1)})
			if granted, err := s.other.Commit(&tx); err != nil || granted == 1 {
				used.Add(1)
			}
			units[i], _ = tx.Allocation(n)
			time.Sleep(time.Second / time.Duration(len(units)))
		}
		for _, a := range units {
			_ = s.other.Release(a)
		}
	}()
	return used, done
}

func TestCell_StartsALargeRequestBesideASchedulerThatRefills(t *testing.T) {
	for _, need := range []int64{1, 3, 4} {
		for _, chunk := range []int{1, 16} {
			synctest.Test(t, func(t *testing.T) {
				s := share(t, pool.Config{Chunk: chunk, Patience: time.Second}, 4)
				ctx, stop := context.WithCancel(t.Context())
				used, done := s.refill(ctx)
				time.Sleep(5 * time.Second)
				start := time.Now()
				l, err := s.pool.Acquire(t.Context(), "a", v(need))
				require.NoError(t, err)
				require.LessOrEqual(t, time.Since(start), 2500*time.Millisecond, "its patience and the length of an allocation")
				release(t, l)

				// The other one goes on, and nothing is kept in vain.
				time.Sleep(5 * time.Second)
				before := used.Load()
				time.Sleep(10 * time.Second)
				require.InDelta(t, 40, used.Load()-before, 2)
				reader, err := s.cell.Register("reader", omega.Limits{})
				require.NoError(t, err)
				reader.Snapshot().Refresh(time.Now())
				for r := range reader.Snapshot().Reservations() {
					require.Fail(t, "reserved in vain", r)
				}
				stop()
				<-done
			})
		}
	}
}

func TestCell_PutsTogetherWhatIsKeptAndWhatIsReserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, pool.Config{Chunk: 1, Patience: time.Second}, 4)
		held := acquire(t, s.pool, "b", 1)
		ctx, stop := context.WithCancel(t.Context())
		_, done := s.refill(ctx)
		time.Sleep(5 * time.Second)
		got := queue(t, s.pool, "a", v(4))
		time.Sleep(10 * time.Second)
		require.Empty(t, got)
		start := time.Now()
		release(t, held)
		release(t, <-got)
		require.Equal(t, start, time.Now(), "the release was all that it waited for")
		stop()
		<-done
	})
}

// Allocations of the other scheduler last longer than a reservation, end one after the other,
// and it claims all room that is free. The request is served all the same.
func TestCell_ServesALargeRequestHoweverLongAllocationsLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const length, units = 10 * time.Hour, 4
		s := share(t, pool.Config{Patience: time.Second}, units)
		var held []omega.AllocationID // of the other scheduler, the oldest first
		var begun []time.Time
		fill := func(most int) {
			tx := omega.Txn{Now: time.Now()}
			for range most {
				tx.Claim(omega.Claim{Machine: s.ids[0], Need: v(1)})
			}
			_, err := s.other.Commit(&tx)
			require.NoError(t, err)
			for n := range most {
				if id, ok := tx.Allocation(n); ok {
					held, begun = append(held, id), append(begun, time.Now())
				}
			}
		}
		for range units {
			fill(1)
			time.Sleep(length / units)
		}
		got, start := queue(t, s.pool, "a", v(units)), time.Now()
		for len(got) == 0 && time.Since(start) < 40*length {
			if len(held) > 0 && time.Since(begun[0]) >= length {
				require.NoError(t, s.other.Release(held[0]))
				held, begun = held[1:], begun[1:]
			}
			fill(units)
			time.Sleep(length / units)
			synctest.Wait()
		}
		require.LessOrEqual(t, time.Since(start), 5*16*time.Hour)
		release(t, <-got)
	})
}

package pool_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
)

// reserve has the other scheduler reserve a need on the first machine, and returns when its
// claim that names the reservation is granted.
func (s *shared) reserve(t *testing.T, need int64, within time.Duration) {
	t.Helper()
	var tx omega.Txn
	claim := omega.Claim{Machine: s.ids[0], Need: v(need)}
	tx.Now = time.Now()
	tx.Reserve(time.Now().Add(time.Hour), claim)
	_, err := s.other.Commit(&tx)
	require.NoError(t, err)
	claim.Reservation, err = tx.Reservation(0)
	require.NoError(t, err)
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		tx.Reset()
		n := tx.Claim(claim)
		granted, err := s.other.Commit(&tx)
		require.NoError(t, err)
		if granted == 1 {
			id, _ := tx.Allocation(n)
			time.Sleep(time.Second)
			require.NoError(t, s.other.Release(id))
			return
		}
		require.LessOrEqual(t, time.Since(start), within, tx.Err(n))
	}
}

// busy has tenants acquire leases of a second each, one after the other, until the returned
// function is called. More requests wait than there is room for.
func (s *shared) busy(t *testing.T, requests int) (used func() int, stop func()) {
	t.Helper()
	leases, end, done := make(chan bool, 1<<16), make(chan struct{}), make(chan struct{})
	for i := range requests {
		go func() {
			defer func() { done <- struct{}{} }()
			time.Sleep(time.Duration(i) * 100 * time.Millisecond)
			for {
				l, err := s.pool.Acquire(t.Context(), string(rune('a'+i%3)), v(1))
				if err != nil {
					return // the test is over
				}
				leases <- true
				time.Sleep(time.Second)
				if err := l.Release(); err != nil {
					t.Error(err)
				}
				select {
				case <-end:
					return
				default:
				}
			}
		}()
	}
	return func() int { return len(leases) }, func() {
		close(end)
		for range requests {
			<-done
		}
	}
}

// The leases of a busy pool follow one another in its blocks. Room that another scheduler
// has reserved on the machine goes back to the cell all the same.
func TestCell_LeavesRoomForTheReservationsOfOthers(t *testing.T) {
	for _, need := range []int64{1, 3, 4} {
		for _, chunk := range []int{1, 4, 16} {
			synctest.Test(t, func(t *testing.T) {
				s := share(t, pool.Config{Chunk: chunk}, 4)
				used, stop := s.busy(t, 12)
				time.Sleep(5 * time.Second)
				s.reserve(t, need, 1100*time.Millisecond)

				// All room is the pool's again.
				time.Sleep(5 * time.Second)
				before := used()
				time.Sleep(10 * time.Second)
				require.InDelta(t, 40, used()-before, 4)
				stop()
			})
		}
	}
}

// A guarantee takes room back from leases of the pool, and none that another scheduler has
// reserved: what preempted leases leave there goes to the cell.
func TestCell_LeavesRoomForReservationsOfOthersDespiteAGuarantee(t *testing.T) {
	for _, need := range []int64{1, 4} {
		for _, chunk := range []int{1, 16} {
			synctest.Test(t, func(t *testing.T) {
				s := share(t, pool.Config{Chunk: chunk, Tenants: map[string]pool.Settings{"g": {Guarantee: v(4)}}}, 4)
				_, stop := s.busy(t, 12)
				time.Sleep(5 * time.Second)
				served := make(chan struct{})
				for range 8 {
					go func() {
						defer func() { served <- struct{}{} }()
						time.Sleep(100 * time.Millisecond) // the room is reserved
						l, err := s.pool.Acquire(t.Context(), "g", v(1))
						if err != nil {
							t.Error(err)
							return
						}
						time.Sleep(5 * time.Second)
						if err := l.Release(); err != nil {
							t.Error(err)
						}
					}()
				}
				s.reserve(t, need, 1100*time.Millisecond)
				for range 8 {
					<-served // the guarantee holds afterwards
				}
				stop()
			})
		}
	}
}

// A request for which the pool keeps a machine waits for a reservation there that was begun
// before its own.
func TestCell_KeepsNoRoomAheadOfAnEarlierReservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, pool.Config{Chunk: 1, Patience: 100 * time.Millisecond}, 4)
		_, stop := s.busy(t, 12)
		time.Sleep(5 * time.Second)
		got := queue(t, s.pool, "large", v(4))
		s.reserve(t, 3, 1100*time.Millisecond)
		start := time.Now()
		release(t, <-got)
		require.LessOrEqual(t, time.Since(start), 3*time.Second)
		stop()
	})
}

// A block may be granted in the place of allocations that have not stopped yet. Where the
// request is gone by then the block goes back, as any other.
func TestCell_GivesBackABlockThatIsReadyTooLate(t *testing.T) {
	for _, chunk := range []int{1, 16} {
		synctest.Test(t, func(t *testing.T) {
			s := share(t, pool.Config{Chunk: chunk}, 4)
			var tx omega.Txn
			victim := tx.Claim(omega.Claim{Machine: s.ids[0], Need: v(4)})
			_, err := s.other.Commit(&tx)
			require.NoError(t, err)
			held, ok := tx.Allocation(victim)
			require.True(t, ok)
			third, err := s.cell.Register("third", omega.Limits{Highest: 9})
			require.NoError(t, err)
			tx.Reset()
			tx.Now, tx.Grace = time.Now(), 10*time.Second
			n := tx.Claim(omega.Claim{Machine: s.ids[0], Need: v(4), Precedence: 9, Victims: []omega.AllocationID{held}})
			_, err = third.Commit(&tx)
			require.NoError(t, err)
			id, ok := tx.Allocation(n)
			require.True(t, ok)
			require.NoError(t, third.Release(id))

			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err = s.pool.Acquire(ctx, "a", v(3))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			time.Sleep(9 * time.Second)
			require.NoError(t, s.other.Release(held))
			time.Sleep(3 * time.Second)
			require.Zero(t, s.own.Usage())
		})
	}
}

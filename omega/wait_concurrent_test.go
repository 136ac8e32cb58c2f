package omega_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// A scheduler that waits for room gets it in the end, however releases, claims and
// cancellations fall: no wake-up is lost, and no token.
func TestWait_LosesNoWakeUp(t *testing.T) {
	const workers, machines = 8, 3
	rounds := 2_000
	if testing.Short() {
		rounds /= 10
	}
	cell, ids := newCell(t, machines, resources.Vector{4})
	var wg sync.WaitGroup
	for i := range workers {
		s := register(t, cell, fmt.Sprint(i))
		rng := rand.New(rand.NewPCG(11, uint64(i)))
		wg.Go(func() {
			snap, tx := s.Snapshot(), &omega.Txn{}
			for range rounds {
				need := resources.Vector{1 + rng.Int64N(4)}
				var a omega.AllocationID
				for placed := false; !placed; {
					if m, ok := snap.Find(omega.Query{Need: need}, omega.NextFit()); ok {
						tx.Reset()
						tx.Claim(omega.Claim{Machine: m, Need: need})
						if _, err := s.Commit(tx); err != nil {
							panic(err)
						}
						a, placed = tx.Allocation(0)
						continue
					}
					if rng.IntN(8) == 0 { // gives up at once, with or without the token
						ctx, cancel := context.WithCancel(context.Background())
						cancel()
						_ = s.Wait(ctx, need)
						continue
					}
					if err := s.Wait(context.Background(), need); err != nil {
						panic(err)
					}
				}
				if err := s.Release(a); err != nil {
					panic(err)
				}
			}
			s.Pass()
		})
	}
	wg.Wait() // it would hang
	require.NoError(t, cell.Check())
	for _, m := range ids {
		require.EqualValues(t, 4, free(t, cell, m))
	}
}

// A scheduler that is woken and then replaced does not keep the room from others.
func TestWait_WakeTokenOutlivesItsHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, ids := newCell(t, 1, resources.Vector{10})
		holder := register(t, cell, "holder")
		a := held(t, holder, ids[0], 0, resources.Vector{10})[0]
		old, next := register(t, cell, "old"), register(t, cell, "next")
		ended := make(chan error, 2)
		for _, s := range []*omega.Scheduler{old, next} {
			s.Snapshot()
			go func() { ended <- s.Wait(t.Context(), resources.Vector{3}) }()
			synctest.Wait()
		}
		require.NoError(t, holder.Release(a))
		synctest.Wait()
		require.NoError(t, <-ended, "the first has the token")
		_, err := cell.Replace("old")
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, <-ended, "and the second is not forgotten")
		require.ErrorIs(t, old.Wait(t.Context(), resources.Vector{3}), omega.ErrSuperseded)
	})
}

// An operation that changes nothing wakes no scheduler; a change that may make a
// machine good enough does.
func TestWait_IsWokenByWhatMatters(t *testing.T) {
	type stage struct {
		cell   *omega.Cell
		ids    []omega.MachineID // the first is full, the second draining
		holder *omega.Scheduler
		full   omega.AllocationID
		s      *omega.Scheduler
	}
	for name, change := range map[string]func(st *stage) error{
		"a release":         func(st *stage) error { return st.holder.Release(st.full) },
		"a higher capacity": func(st *stage) error { return st.cell.SetCapacity(st.ids[0], resources.Vector{20}) },
		"a machine resumed": func(st *stage) error { return st.cell.Resume(st.ids[1]) },
		"a machine added": func(st *stage) error {
			_, err := st.cell.Add(omega.Machine{Name: "new", Capacity: resources.Vector{10}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := &stage{}
				st.cell, st.ids = newCell(t, 2, resources.Vector{10})
				st.holder, st.s = register(t, st.cell, "holder"), register(t, st.cell, "s")
				st.full = held(t, st.holder, st.ids[0], 0, resources.Vector{10})[0]
				require.NoError(t, st.cell.Drain(st.ids[1]))
				st.s.Snapshot()
				woken := make(chan error, 1)
				go func() { woken <- st.s.Wait(t.Context(), resources.Vector{5}) }()
				synctest.Wait()
				st.cell.Cut() // swaps every word, and changes nothing
				require.Zero(t, commit(t, st.holder, &omega.Txn{}, claim(st.ids[1], 1)))
				require.NoError(t, st.cell.SetAttributes(st.ids[0], map[string]string{"disk": "ssd"}))
				synctest.Wait()
				require.Empty(t, woken)
				require.NoError(t, change(st))
				synctest.Wait()
				require.Len(t, woken, 1)
				require.NoError(t, <-woken)
			})
		})
	}
}

func TestWait_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, ids := newCell(t, 1, resources.Vector{2})
		s := register(t, cell, "s")
		held(t, register(t, cell, "holder"), ids[0], 0, resources.Vector{1})
		s.Snapshot()
		cause := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, cause)
		defer cancel()
		start := time.Now()
		require.ErrorIs(t, s.Wait(ctx, resources.Vector{2}), cause)
		require.Equal(t, time.Hour, time.Since(start))
		require.ErrorIs(t, s.Wait(ctx, resources.Vector{2}), cause)
	})
}

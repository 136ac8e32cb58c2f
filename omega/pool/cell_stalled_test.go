package pool_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
)

// hooks is a store with calls in the midst of refreshes and commits. It applies no
// transaction twice.
type hooks struct {
	omega.Local
	refresh, before, after func(context.Context) error
	applied                bool
	granted                int
	on                     atomic.Bool
}

func (h *hooks) call(ctx context.Context, fn func(context.Context) error) error {
	if fn == nil || !h.on.Load() {
		return nil
	}
	return fn(ctx)
}

func (h *hooks) Refresh(ctx context.Context, now time.Time, visit func(omega.MachineState)) (*omega.Snapshot, error) {
	if err := h.call(ctx, h.refresh); err != nil {
		return nil, err
	}
	return h.Local.Refresh(ctx, now, visit)
}

func (h *hooks) Commit(ctx context.Context, tx *omega.Txn) (granted int, err error) {
	if !h.applied {
		if err := h.call(ctx, h.before); err != nil {
			return 0, err
		}
		if h.granted, err = h.Local.Commit(ctx, tx); err != nil {
			return 0, err
		}
		h.applied = true
	}
	if err := h.call(ctx, h.after); err != nil {
		return 0, err
	}
	h.applied = false
	return h.granted, nil
}

var errLine = errors.New("line is down")

// stalls are the places where a store hangs until a gate opens.
var stalls = map[string]func(h *hooks, gate <-chan struct{}){
	"in a refresh":          func(h *hooks, gate <-chan struct{}) { h.refresh = until(gate) },
	"before it has applied": func(h *hooks, gate <-chan struct{}) { h.before = until(gate) },
	"after it has applied":  func(h *hooks, gate <-chan struct{}) { h.after = until(gate) },
}

func until(gate <-chan struct{}) func(context.Context) error {
	return func(context.Context) error { <-gate; return nil }
}

// While the store hangs, all calls answer: those that need no room of the cell as always,
// TryAcquire after a millisecond, and a request as long as its context.
func TestCell_CallsAnswerWhileTheStoreStalls(t *testing.T) {
	for name, stall := range stalls {
		for _, chunk := range []int{1, 4} {
			t.Run(fmt.Sprint(name, "/chunk=", chunk), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h, gate := &hooks{}, make(chan struct{})
					stall(h, gate)
					s := share(t, pool.Config{Chunk: chunk, Store: h}, 32)
					held := acquire(t, s.pool, "a", 2)
					small := acquire(t, s.pool, "a", 1)
					synctest.Wait()
					h.on.Store(true)

					began := time.Now()
					_, ok := s.pool.TryAcquire("b", v(30)) // no block has as much
					require.False(t, ok)
					require.LessOrEqual(t, time.Since(began), time.Millisecond)
					time.Sleep(time.Second)
					began = time.Now()
					for range 3 {
						_, ok = s.pool.TryAcquire("c", v(30))
						require.False(t, ok)
					}
					require.Zero(t, time.Since(began), "the pool knows that the store is slow")
					got := queue(t, s.pool, "a", v(28))
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					began = time.Now()
					_, err := s.pool.Acquire(ctx, "d", v(20))
					require.ErrorIs(t, err, context.DeadlineExceeded)
					require.Equal(t, time.Minute, time.Since(began))

					began = time.Now()
					stats := s.pool.Stats()
					require.Equal(t, 2, stats.Leases)
					require.Equal(t, 1, stats.Waiting)
					require.Len(t, s.pool.Waiters(), 1)
					require.Empty(t, s.pool.Overdue())
					_, err = s.pool.Tenant("e", pool.Settings{Weight: 2, Priority: 1})
					require.NoError(t, err)
					release(t, small)
					_, ok = s.pool.TryAcquire("e", v(40))
					require.False(t, ok, "no machine has as much")
					require.NoError(t, held.Resize(v(1)))
					require.Zero(t, time.Since(began))

					close(gate)
					release(t, arrived(got), held)
				})
			})
		}
	}
}

// A store that fails for a while loses nothing: the pool asks again, also for the outcome
// of a commit that it may have applied.
func TestCell_AsksAStoreThatFailsAgain(t *testing.T) {
	fails := func(err error) func(context.Context) error {
		n := 0
		return func(context.Context) error {
			if n++; n%4 == 0 {
				return nil
			}
			return err
		}
	}
	for name, set := range map[string]func(h *hooks){
		"a refresh":                func(h *hooks) { h.refresh = fails(errLine) },
		"a commit":                 func(h *hooks) { h.before = fails(errLine) },
		"a commit of a lost reply": func(h *hooks) { h.after = fails(fmt.Errorf("%w: %w", omega.ErrOutcome, errLine)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &hooks{}
				set(h)
				s := share(t, pool.Config{Chunk: 2, Store: h, Patience: time.Second}, 8, 8)
				h.on.Store(true)
				for round := range 5 {
					var leases []pool.Lease
					for range 4 {
						l, err := s.pool.Acquire(t.Context(), "a", v(1+int64(round)%2))
						require.NoError(t, err)
						leases = append(leases, l)
					}
					large := queue(t, s.pool, "b", v(8)) // for which the pool reserves
					other, err := s.claim(1, 0, 1)
					time.Sleep(5 * time.Second)
					release(t, leases...)
					if err == nil {
						require.NoError(t, s.other.Release(other))
					}
					time.Sleep(5 * time.Second)
					release(t, arrived(large))
					require.NoError(t, s.cell.Check())
				}
			})
		})
	}
}

func TestNew_RefusesAStoreWithoutACell(t *testing.T) {
	_, err := pool.New(pool.Config{Store: &hooks{}})
	require.ErrorIs(t, err, pool.ErrConfig)
}

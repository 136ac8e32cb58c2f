package loop_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
)

// stalled is a store that hangs until its gate is open, or the context is done.
type stalled struct {
	omega.Local

	gate                      chan struct{}
	refreshes, before, commit bool // where it hangs
	applied                   bool
	granted                   int
}

func (s *stalled) wait(ctx context.Context, hangs bool) error {
	if !hangs {
		return nil
	}
	select {
	case <-s.gate:
		return nil
	case <-ctx.Done():
		return errors.Join(omega.ErrOutcome, context.Cause(ctx))
	}
}

func (s *stalled) Refresh(ctx context.Context, now time.Time, visit func(omega.MachineState)) (*omega.Snapshot, error) {
	if err := s.wait(ctx, s.refreshes); err != nil {
		return nil, err
	}
	return s.Local.Refresh(ctx, now, visit)
}

func (s *stalled) Commit(ctx context.Context, tx *omega.Txn) (granted int, err error) {
	if !s.applied {
		if err := s.wait(ctx, s.before); err != nil {
			return 0, err
		}
		if s.granted, err = s.Local.Commit(ctx, tx); err != nil {
			return 0, err
		}
		s.applied = true
	}
	if err := s.wait(ctx, s.commit); err != nil {
		return 0, err
	}
	s.applied = false
	return s.granted, nil
}

// While a step waits for its store, all other methods answer. What they were told is for
// the next step, and a context that ends leaves the same transaction to be asked for again.
func TestStep_OthersGoOnWhileTheStoreStalls(t *testing.T) {
	tests := map[string]func(s *stalled){
		"in a refresh":             func(s *stalled) { s.refreshes = true },
		"in a commit, not applied": func(s *stalled) { s.before = true },
		"in a commit, applied":     func(s *stalled) { s.commit = true },
	}
	for name, stall := range tests {
		for _, ends := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cell := newCell(t, 8)
					store := &stalled{Local: omega.Local{Scheduler: register(t, cell, "stalled")}, gate: make(chan struct{})}
					stall(store)
					r := newRig(t, cell, loop.Config[string]{Store: store, MinDelay: time.Second})
					r.submit(t, epoch, job("j", 3, 1))
					ctx, cancel := context.WithCancelCause(t.Context())
					defer cancel(nil)
					done := make(chan error)
					go func() {
						_, _, err := r.Step(ctx, epoch)
						done <- err
					}()
					synctest.Wait()

					_, _, err := r.Step(ctx, epoch)
					require.ErrorIs(t, err, loop.ErrBusy)
					k := r.submit(t, epoch, job("k", 1, 1))
					r.Cancel(k)
					r.submit(t, epoch, job("l", 1, 1))
					r.Recheck()
					stats := r.Stats()
					require.Equal(t, uint64(3), stats.Submitted)
					require.Equal(t, 3, stats.Pending)
					require.Zero(t, stats.Placed)

					if ends {
						cancel(errStore)
						if err := <-done; err != nil { // of a refresh, else the loop says so by an event
							require.ErrorIs(t, err, errStore)
						}
						close(store.gate)
					} else {
						close(store.gate)
						require.NoError(t, <-done)
					}
					r.settle(t, epoch)
					r.settle(t, at(1))
					stats = r.Stats()
					require.Equal(t, uint64(4), stats.Placed)
					require.Equal(t, uint64(1), stats.Cancelled)
					require.Zero(t, stats.Pending)
					require.Equal(t, int64(4), store.Scheduler.Usage()[0])
					require.NoError(t, cell.Check())
				})
			})
		}
	}
}

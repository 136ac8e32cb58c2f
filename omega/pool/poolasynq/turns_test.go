package poolasynq_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/servertest"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/pool/poolasynq"
	"github.com/cellsched/cellsched/resources"
)

// A tenant with a few tasks takes turns with one that came first with many. Between two of
// its tasks one of the other runs.
func TestHandler_TakesTurnsWithATenantThatFloods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const flood, few = 100, 5
		p := servertest.Slots(t, 1)
		held, ok := p.TryAcquire("holder", resources.Vector{1})
		require.True(t, ok)
		m, err := poolasynq.New(poolasynq.Config{Pool: p, Ask: tenantOf, Workers: 1000})
		require.NoError(t, err)
		var order []string // one slot: one task at a time
		h := m.Handler(asynq.HandlerFunc(func(_ context.Context, task *asynq.Task) error {
			order = append(order, task.Type())
			return nil
		}))
		var tasks sync.WaitGroup
		for i := range flood + few {
			tenant := "flood"
			if i >= flood {
				tenant = "few"
			}
			tasks.Go(func() {
				if err := h.ProcessTask(t.Context(), asynq.NewTask(tenant, nil)); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		require.NoError(t, held.Release())
		tasks.Wait()
		require.Len(t, order, flood+few)
		left, before := few, 0
		for _, tenant := range order {
			if tenant == "few" {
				left--
			} else if left > 0 {
				before++
			}
		}
		require.LessOrEqual(t, before, few+1, "tasks of the flood before the last of the few")
	})
}

// A handler that says what becomes of its task is believed, also after it was preempted.
func TestHandler_ReturnsTheLastWordOfAPreemptedHandler(t *testing.T) {
	for _, word := range []error{asynq.SkipRetry, asynq.RevokeTask} {
		t.Run(word.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := servertest.Slots(t, 1)
				owner, err := p.Tenant("owner", pool.Settings{Guarantee: resources.Vector{1}})
				require.NoError(t, err)
				granted := make(chan error)
				m := middleware(t, p, 0)
				own := fmt.Errorf("mine: %w", word)
				h := m.Handler(asynq.HandlerFunc(func(ctx context.Context, _ *asynq.Task) error {
					go func() {
						granted <- owner.Do(t.Context(), resources.Vector{1}, func(context.Context, pool.Lease) error { return nil })
					}()
					<-ctx.Done()
					return own
				}))
				err = h.ProcessTask(t.Context(), asynq.NewTask("a", nil))
				require.NoError(t, <-granted)
				require.Equal(t, own, err)
				require.True(t, m.IsFailure(err))
			})
		})
	}
}

func TestHandler_FailsWithoutNew(t *testing.T) {
	for _, m := range []*poolasynq.Middleware{nil, {}} {
		h := m.Handler(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { return nil }))
		err := h.ProcessTask(t.Context(), asynq.NewTask("a", nil))
		require.ErrorIs(t, err, pool.ErrConfig)
		require.EqualError(t, err, "poolasynq: the Middleware is not from New: pool: invalid configuration")
	}
}

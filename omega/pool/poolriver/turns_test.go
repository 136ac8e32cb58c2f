package poolriver_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/servertest"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/pool/poolriver"
	"github.com/cellsched/cellsched/resources"
)

// A tenant with a few jobs takes turns with one that came first with many. Between two of
// its jobs one of the other runs.
func TestWork_TakesTurnsWithATenantThatFloods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const flood, few = 100, 5
		p := servertest.Slots(t, 1)
		held, ok := p.TryAcquire("holder", resources.Vector{1})
		require.True(t, ok)
		m, err := poolriver.New(poolriver.Config{Pool: p, Ask: tenantOf, Workers: 1000})
		require.NoError(t, err)
		var order []string // one slot: one job at a time
		var jobs sync.WaitGroup
		for i := range flood + few {
			tenant := "flood"
			if i >= flood {
				tenant = "few"
			}
			jobs.Go(func() {
				err := m.Work(t.Context(), &rivertype.JobRow{Metadata: []byte(`{"tenant": "` + tenant + `"}`)}, func(context.Context) error {
					order = append(order, tenant)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		require.NoError(t, held.Release())
		jobs.Wait()
		require.Len(t, order, flood+few)
		left, before := few, 0
		for _, tenant := range order {
			if tenant == "few" {
				left--
			} else if left > 0 {
				before++
			}
		}
		require.LessOrEqual(t, before, few+1, "jobs of the flood before the last of the few")
	})
}

// A worker that says what becomes of its job is believed, also after it was preempted.
func TestWork_ReturnsTheLastWordOfAPreemptedWorker(t *testing.T) {
	for name, word := range map[string]error{
		"cancel": river.JobCancel(errors.New("never again")),
		"snooze": river.JobSnooze(time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := servertest.Slots(t, 1)
				owner, err := p.Tenant("owner", pool.Settings{Guarantee: resources.Vector{1}})
				require.NoError(t, err)
				granted := make(chan error)
				job := &rivertype.JobRow{Metadata: []byte(`{"tenant": "a"}`)}
				err = middleware(t, p, time.Minute).Work(t.Context(), job, func(ctx context.Context) error {
					go func() {
						granted <- owner.Do(t.Context(), resources.Vector{1}, func(context.Context, pool.Lease) error { return nil })
					}()
					<-ctx.Done()
					return word
				})
				require.NoError(t, <-granted)
				require.Equal(t, word, err)
			})
		})
	}
}

// Each River queue has workers of its own, so a flood in one leaves those of another.
func TestWork_CountsTheWorkersOfEachQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := servertest.Slots(t, 1)
		held, ok := p.TryAcquire("holder", resources.Vector{1})
		require.True(t, ok)
		m, err := poolriver.New(poolriver.Config{Pool: p, Ask: tenantOf, Workers: 3})
		require.NoError(t, err)
		ended := make(chan error, 3)
		work := func(queue, tenant string) {
			go func() {
				job := &rivertype.JobRow{Queue: queue, Metadata: []byte(`{"tenant": "` + tenant + `"}`)}
				ended <- m.Work(t.Context(), job, func(context.Context) error { return nil })
			}()
			synctest.Wait()
			time.Sleep(time.Nanosecond) // for what does not wait
			synctest.Wait()
		}
		work("first", "a")
		work("first", "b")  // with a worker left
		work("second", "c") // as the first in its queue
		require.NoError(t, held.Release())
		for range 3 {
			require.NoError(t, <-ended)
		}
	})
}

func TestWork_FailsWithoutNew(t *testing.T) {
	for _, m := range []*poolriver.Middleware{nil, {}} {
		err := m.Work(t.Context(), &rivertype.JobRow{}, func(context.Context) error { return nil })
		require.ErrorIs(t, err, pool.ErrConfig)
		require.EqualError(t, err, "poolriver: the Middleware is not from New: pool: invalid configuration")
	}
}

package pool_test

import (
	"context"
	"io"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
)

func TestSubscribe_TellsWhatHappensAndDropsWhatDoesNotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(2))
		s, small := p.Subscribe(100), p.Subscribe(1)
		tenant(t, p, "owed", pool.Settings{Guarantee: v(1)})
		l := acquire(t, p, "a", 2)
		_, ok := p.TryAcquire("b", v(1))
		require.False(t, ok)
		got := queue(t, p, "owed", v(1))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := p.Acquire(ctx, "c", v(1))
		require.Error(t, err)
		release(t, l)
		release(t, arrived(got))
		s.Close()
		s.Close()
		type short struct {
			kind    pool.EventKind
			tenant  string
			machine string
			waited  time.Duration
		}
		var events []short
		for e := range s.Events() {
			events = append(events, short{e.Kind, e.Tenant, e.Machine, e.Waited})
			require.Equal(t, e.Kind == pool.Refused, e.Err != nil)
		}
		require.Equal(t, []short{
			{pool.Granted, "a", "m0", 0},
			{pool.Refused, "b", "", 0},
			{pool.Preempted, "a", "m0", 0},
			{pool.Refused, "c", "", 0},
			{pool.Released, "a", "m0", 0},
			{pool.Granted, "owed", "m0", time.Second},
			{pool.Released, "owed", "m0", 0},
		}, events)
		require.EqualValues(t, len(events)-1, small.Dropped())
		small.Close()
		for _, n := range p.Stats().Tenants {
			if n.Name == "owed" {
				require.EqualValues(t, 1, n.Waits[20], "one second is between 2^19 and 2^20 microseconds")
				require.Equal(t, time.Second, n.Waited)
			}
		}
	})
}

// Tasks that wait when the context of their group ends are told of as refused, with
// the cause.
func TestSubscribe_TellsOfTheTasksOfAGroupThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(1))
		l := acquire(t, p, "a", 1)
		s := p.Subscribe(100)
		ctx, cancel := context.WithCancelCause(t.Context())
		g, _ := tenant(t, p, "b").Group(ctx)
		for range 2 {
			require.NoError(t, g.Go(v(1), func(context.Context, pool.Lease) error { return nil }))
		}
		cancel(io.ErrClosedPipe)
		synctest.Wait()
		require.Error(t, g.Wait())
		release(t, l)
		s.Close()
		refused := 0
		for e := range s.Events() {
			if e.Kind == pool.Refused {
				refused++
				require.Equal(t, "b", e.Tenant)
				require.ErrorIs(t, e.Err, io.ErrClosedPipe)
			}
		}
		require.Equal(t, 2, refused)
	})
}

// An event tells the wait of its own request, also while the record of a request that
// has given up is used again.
func TestSubscribe_TellsTheWaitOfNoOtherRequest(t *testing.T) {
	p := newPool(t, oneMachine(2))
	s := p.Subscribe(10_000)
	for range 100 {
		held := acquire(t, p, "holder", 1)
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() { _, _ = p.Acquire(ctx, "waits", v(2)) })
		for p.Stats().Waiting == 0 {
			runtime.Gosched()
		}
		done.Go(func() {
			for range 20 {
				if l, ok := p.TryAcquire("tries", v(1)); ok {
					_ = l.Release()
				}
			}
		})
		cancel()
		done.Wait()
		release(t, held)
	}
	s.Close()
	for e := range s.Events() {
		if e.Kind == pool.Granted {
			require.Zero(t, e.Waited, "%+v", e)
		}
	}
}

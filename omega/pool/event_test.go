package pool_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/observe"
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
			kind    observe.Kind
			tenant  string
			machine string
			waited  time.Duration
		}
		var events []short
		for e := range s.Events() {
			events = append(events, short{e.Kind, e.Tenant, e.Machine, e.Waited})
			require.Equal(t, e.Kind == observe.Refused, e.Err != nil)
		}
		require.Equal(t, []short{
			{observe.Granted, "a", "m0", 0},
			{observe.Refused, "b", "", 0},
			{observe.Preempted, "a", "m0", 0},
			{observe.Refused, "c", "", 0},
			{observe.Released, "a", "m0", 0},
			{observe.Granted, "owed", "m0", time.Second},
			{observe.Released, "owed", "m0", 0},
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

// Events of a request that waited tell its label, also on a stream that two pools share.
func TestSubscribe_TellsLabelsAndSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stream observe.Stream
		events := stream.Subscribe(100)
		for _, maximum := range []time.Duration{0, time.Second} {
			config := oneMachine(1)
			config.Events = &stream
			p := newPool(t, config)
			held := acquire(t, p, "holder", 1)
			done := make(chan error, 1)
			waits := tenant(t, p, "waits")
			go func() {
				leases, err := waits.Request(t.Context(), pool.Request{Needs: needs(1), Label: "nightly", MaxWait: maximum})
				for _, l := range leases {
					_ = l.Release()
				}
				done <- err
			}()
			time.Sleep(2 * time.Second)
			release(t, held)
			require.Equal(t, maximum > 0, <-done != nil)
		}
		events.Close()
		var told []string
		for e := range events.Events() {
			require.Equal(t, "pool", e.Source)
			require.False(t, e.At.IsZero())
			told = append(told, fmt.Sprintf("%v %s %q %v", e.Kind, e.Tenant, e.Label, e.Waited))
		}
		require.Equal(t, []string{
			`granted holder "" 0s`, `released holder "" 0s`, `granted waits "nightly" 2s`, `released waits "" 0s`,
			`granted holder "" 0s`, `refused waits "nightly" 0s`, `released holder "" 0s`,
		}, told)
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
			if e.Kind == observe.Refused {
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
		if e.Kind == observe.Granted {
			require.Zero(t, e.Waited, "%+v", e)
		}
	}
}

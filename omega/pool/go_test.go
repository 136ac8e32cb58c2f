package pool_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
)

func TestGo_RunsAsManyTasksAsThereIsRoomForInFairOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(4))
		a, b := tenant(t, p, "a", pool.Settings{Weight: 3}), tenant(t, p, "b")
		var now, most, ran [2]atomic.Int64
		for range 120 {
			for i, n := range []*pool.Tenant{a, b} {
				require.NoError(t, n.Go(t.Context(), v(1), func(ctx context.Context, l pool.Lease) error {
					most[i].Store(max(most[i].Load(), now[i].Add(1)))
					time.Sleep(time.Second)
					now[i].Add(-1)
					ran[i].Add(1)
					return ctx.Err()
				}))
			}
		}
		goroutines := runtime.NumGoroutine()
		require.Less(t, goroutines, 40, "tasks that wait have no goroutine")
		time.Sleep(20*time.Second + time.Millisecond)
		require.EqualValues(t, 80, ran[0].Load()+ran[1].Load())
		require.InDelta(t, 60, ran[0].Load(), 3, "by weight")
		require.NoError(t, p.Shutdown(t.Context()))
		require.EqualValues(t, 240, ran[0].Load()+ran[1].Load(), "all were drained")
		require.ErrorIs(t, a.Go(t.Context(), v(1), func(context.Context, pool.Lease) error { return nil }), pool.ErrClosed)
	})
}

func TestGo_ErrorsAndPanicsReachShutdownAndTheHook(t *testing.T) {
	boom, told := errors.New("boom"), atomic.Int64{}
	p := newPool(t, pool.Config{Machines: machines(1), OnError: func(*pool.Tenant, error) { told.Add(1) }})
	n := tenant(t, p, "a")
	require.NoError(t, n.Go(t.Context(), v(1), func(context.Context, pool.Lease) error { return boom }))
	require.NoError(t, n.Go(t.Context(), v(1), func(context.Context, pool.Lease) error { panic("oops") }))
	require.NoError(t, n.Go(t.Context(), v(1), func(_ context.Context, l pool.Lease) error { return l.Release() }))
	err := p.Shutdown(t.Context())
	require.ErrorIs(t, err, boom)
	var panicked *pool.PanicError
	require.ErrorAs(t, err, &panicked)
	require.Equal(t, "oops", panicked.Value)
	require.Contains(t, string(panicked.Stack), "go_test.go")
	require.EqualValues(t, 2, told.Load())
	require.EqualValues(t, 2, p.Stats().Tenants[0].Failed)
	require.Equal(t, v(1, 1), p.Stats().Free)
	require.Error(t, n.Go(t.Context(), v(1), nil))
}

func TestGo_DropsTasksThatAreOverBeforeTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(1))
		n := tenant(t, p, "a", pool.Settings{MaxWait: time.Minute})
		held := acquire(t, p, "x", 1)
		never := func(context.Context, pool.Lease) error { t.Error("it ran"); return nil }
		g, _ := n.Group(t.Context())
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		g2, _ := n.Group(ctx)
		require.NoError(t, g.Go(v(1), never))
		require.NoError(t, g2.Go(v(1), never))
		cancel(enough)
		time.Sleep(2 * time.Minute)
		release(t, held)
		require.ErrorIs(t, g.Wait(), pool.ErrWait)
		require.ErrorIs(t, g2.Wait(), enough)
		require.Zero(t, p.Stats().Waiting)
		require.NoError(t, p.Close(t.Context()))
	})
}

func TestGroup_TheFirstErrorEndsTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(2))
		g, ctx := tenant(t, p, "a").Group(t.Context())
		boom := errors.New("boom")
		require.NoError(t, g.Go(v(1), func(ctx context.Context, _ pool.Lease) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}))
		require.NoError(t, g.Go(v(1), func(context.Context, pool.Lease) error {
			time.Sleep(time.Second)
			return boom
		}))
		for range 10 {
			require.NoError(t, g.Go(v(1), func(context.Context, pool.Lease) error { t.Error("it ran"); return nil }))
		}
		require.Equal(t, boom, g.Wait())
		require.ErrorIs(t, context.Cause(ctx), boom)

		g, ctx = tenant(t, p, "a").Group(t.Context())
		require.NoError(t, g.Go(v(1), func(context.Context, pool.Lease) error { panic(boom) }))
		require.PanicsWithError(t, "", func() { defer relabel(); _ = g.Wait() })
		require.ErrorIs(t, context.Cause(ctx), boom)
		require.NoError(t, p.Close(t.Context()))
	})
}

// A context that is made after the end of a shutdown has ended, too.
func TestShutdown_EndsContextsThatAreMadeLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(1), Grace: time.Minute})
		l := acquire(t, p, "late", 1)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		done := make(chan error)
		go func() { done <- p.Shutdown(ctx) }()
		synctest.Wait()
		require.ErrorIs(t, context.Cause(l.Context()), pool.ErrClosed)
		release(t, l)
		require.ErrorIs(t, <-done, context.Canceled)
	})
}

// relabel replaces a panic, which has a stack in its text, by an empty error.
func relabel() {
	if v := recover(); v != nil {
		panic(errors.New(""))
	}
}

func TestShutdown_CancelsWhatRunsAndReportsWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(2), Grace: time.Minute})
		stubborn := acquire(t, p, "stubborn", 1)
		n := tenant(t, p, "a")
		var cause error
		require.NoError(t, n.Go(t.Context(), v(1), func(ctx context.Context, _ pool.Lease) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return nil
		}))
		waits := make(chan error, 1)
		go func() {
			_, err := n.Acquire(context.Background(), v(1))
			waits <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		err := p.Shutdown(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, pool.ErrClosed)
		require.ErrorContains(t, err, `"stubborn" holds`)
		require.Equal(t, time.Second+time.Minute, time.Since(start))
		require.ErrorIs(t, cause, pool.ErrClosed)
		require.ErrorIs(t, <-waits, pool.ErrClosed)
		release(t, stubborn)
		require.NoError(t, p.Close(t.Context()))
	})
}

// Each task that has room runs, however long the others do.
func TestGo_ATaskThatBlocksHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(100))
		n, end := tenant(t, p, "a"), make(chan struct{})
		var running, ran atomic.Int64
		for range 300 {
			require.NoError(t, n.Go(t.Context(), v(1), func(context.Context, pool.Lease) error {
				running.Add(1)
				<-end
				running.Add(-1)
				ran.Add(1)
				return nil
			}))
		}
		for left := int64(300); left > 0; left-- {
			synctest.Wait()
			require.Equal(t, min(left, 100), running.Load())
			end <- struct{}{}
		}
		require.NoError(t, p.Shutdown(t.Context()))
		require.EqualValues(t, 300, ran.Load())
	})
}

// A worker that ends a task takes the next, so short tasks share goroutines.
func TestGo_ShortTasksShareGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(2))
		n := tenant(t, p, "a")
		held := []pool.Lease{acquire(t, p, "b", 1), acquire(t, p, "b", 1)}
		seen := map[string]int{}
		for range 200 {
			require.NoError(t, n.Go(t.Context(), v(1), func(context.Context, pool.Lease) error {
				stack := make([]byte, 64)
				stack = stack[:runtime.Stack(stack, false)]
				id, _, _ := strings.Cut(string(stack), " [")
				seen[id]++ // one at a time: the other unit is held
				return nil
			}))
		}
		release(t, held[0])
		synctest.Wait()
		require.Len(t, seen, 1)
		release(t, held[1])
		require.NoError(t, p.Shutdown(t.Context()))
	})
}

// runtime.Goexit, which testing.T.FailNow calls, ends a goroutine of the pool. The
// task has failed then; its lease and the tasks behind it are not lost.
func TestGo_ATaskThatEndsItsGoroutineGivesItsLeaseBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(1))
		n, ran := tenant(t, p, "a"), false
		g, ctx := n.Group(t.Context())
		require.NoError(t, g.Go(v(1), func(context.Context, pool.Lease) error { runtime.Goexit(); return nil }))
		require.NoError(t, n.Go(t.Context(), v(1), func(context.Context, pool.Lease) error { ran = true; return nil }))
		require.ErrorContains(t, g.Wait(), "Goexit")
		require.ErrorContains(t, context.Cause(ctx), "Goexit")
		require.NoError(t, p.Shutdown(t.Context()))
		require.True(t, ran)
		require.Equal(t, v(1, 1), p.Stats().Free)
	})
}

// OnError may take its time: the room of the task that failed is in use meanwhile.
func TestGo_AReportThatBlocksHoldsUpNoTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told, ran := make(chan error), false
		p := newPool(t, pool.Config{Machines: machines(1), OnError: func(_ *pool.Tenant, err error) { told <- err }})
		n, boom := tenant(t, p, "a"), errors.New("boom")
		require.NoError(t, n.Go(t.Context(), v(1), func(context.Context, pool.Lease) error { return boom }))
		require.NoError(t, n.Go(t.Context(), v(1), func(context.Context, pool.Lease) error { ran = true; return nil }))
		synctest.Wait()
		require.True(t, ran)
		require.ErrorIs(t, <-told, boom)
		require.ErrorIs(t, p.Shutdown(t.Context()), boom)
	})
}

// A rate holds tasks back as it does requests, also while there is room for all.
func TestGo_KeepsToTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(100))
		n := tenant(t, p, "a", pool.Settings{Rate: 1, Burst: 2})
		start := time.Now()
		var began []time.Duration
		for range 5 {
			require.NoError(t, n.Go(t.Context(), v(1), func(context.Context, pool.Lease) error {
				began = append(began, time.Since(start).Round(time.Millisecond)) // one by one
				return nil
			}))
			synctest.Wait()
		}
		require.NoError(t, p.Shutdown(t.Context()))
		require.Equal(t, []time.Duration{0, 0, time.Second, 2 * time.Second, 3 * time.Second}, began)
	})
}

// A task that has given its lease back and does not return holds Shutdown and Close
// up no longer than their contexts, and the grace, say.
func TestShutdown_DoesNotWaitForTasksWithoutALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(1), Grace: 2 * time.Second})
		require.NoError(t, tenant(t, p, "a").Go(t.Context(), v(1), func(_ context.Context, l pool.Lease) error {
			release(t, l)
			time.Sleep(time.Hour)
			return nil
		}))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		err := p.Shutdown(ctx)
		require.Equal(t, 3*time.Second, time.Since(start))
		require.ErrorIs(t, err, pool.ErrClosed)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "1 tasks have released their leases, but not returned")
		require.ErrorContains(t, p.Close(ctx), "but not returned")
		require.NoError(t, p.Close(t.Context()))
		require.Equal(t, time.Hour, time.Since(start))
	})
}

func TestGo_RunsWhenAnAcquireFindsTheToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4)})
		tn := tenant(t, p, "t", pool.Settings{Rate: 1})
		ran := make(chan struct{}, 1)
		first, err := tn.Acquire(t.Context(), v(1))
		require.NoError(t, err)
		require.NoError(t, tn.Go(t.Context(), v(1), func(context.Context, pool.Lease) error {
			ran <- struct{}{}
			return nil
		}))
		time.Sleep(time.Second) // the timer of the rate fires later
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := tn.Acquire(ctx, v(1))
			ended <- err
		}()
		synctest.Wait()
		select {
		case <-ran:
		default:
			t.Fatal("the task has the token, and does not run")
		}
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		require.NoError(t, first.Release())
	})
}

package late_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cellsched/cellsched/delay/late"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRace_OneResultAndEachClaimReleasedOnce(t *testing.T) {
	for range 300 {
		var race late.Race[int]
		var wins, cancelled atomic.Int32
		released := make([]atomic.Int32, 8)
		begin := make(chan struct{})
		var attempts sync.WaitGroup
		for i := range released {
			ctx, entry, err := race.Enter(t.Context(), func() { released[i].Add(1) })
			require.NoError(t, err)
			attempts.Go(func() {
				<-begin
				if i == 7 { // never finishes by itself
					<-ctx.Done()
					if errors.Is(context.Cause(ctx), late.ErrLost) {
						cancelled.Add(1)
					}
					entry.Fail(context.Cause(ctx))
					return
				}
				for range 2 {
					if entry.Finish(i) {
						wins.Add(1)
					}
					entry.Fail(nil)
				}
			})
		}
		close(begin)
		value, err := race.Wait(t.Context())
		require.NoError(t, err)
		require.Less(t, value, 7)
		attempts.Wait()
		require.EqualValues(t, 1, wins.Load())
		require.EqualValues(t, 1, cancelled.Load())
		for i := range released {
			require.EqualValues(t, 1, released[i].Load(), "attempt %d", i)
		}
	}
}

func TestRace_ALoserHoldsItsClaimUntilItStops(t *testing.T) {
	var race late.Race[string]
	held := true
	ctx, slow, err := race.Enter(t.Context(), func() { held = false })
	require.NoError(t, err)
	_, fast, err := race.Enter(t.Context(), nil)
	require.NoError(t, err)
	require.True(t, fast.Finish("fast"))
	require.ErrorIs(t, context.Cause(ctx), late.ErrLost)
	require.True(t, held)
	require.False(t, slow.Finish("slow"))
	require.False(t, held)
	_, _, err = race.Enter(t.Context(), nil)
	require.ErrorIs(t, err, late.ErrOver)
	value, err := race.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "fast", value)
}

func TestRace_IsLostWhenAllHaveFailed(t *testing.T) {
	var race late.Race[int]
	disk, net := errors.New("disk"), errors.New("net")
	_, first, err := race.Enter(t.Context(), nil)
	require.NoError(t, err)
	_, second, err := race.Enter(t.Context(), nil)
	require.NoError(t, err)
	first.Fail(disk)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(net)
	_, err = race.Wait(ctx)
	require.Equal(t, net, err, "the second one runs")
	second.Fail(net)
	_, err = race.Wait(t.Context())
	require.ErrorIs(t, err, disk)
	require.ErrorIs(t, err, net)
}

// Of one attempt's calls the first one counts.
func TestRace_AnAttemptLeavesOnce(t *testing.T) {
	for range 300 {
		var race late.Race[int]
		var wins, released atomic.Int32
		ctx, entry, err := race.Enter(t.Context(), func() { released.Add(1) })
		require.NoError(t, err)
		failure := errors.New("disk")
		var calls sync.WaitGroup
		for i := range 4 {
			calls.Go(func() {
				if i == 0 {
					entry.Fail(failure)
				} else if entry.Finish(i) {
					wins.Add(1)
				}
			})
		}
		calls.Wait()
		require.EqualValues(t, 1, released.Load())
		require.ErrorIs(t, ctx.Err(), context.Canceled, "no attempt works on")
		if _, err := race.Wait(t.Context()); err != nil {
			require.ErrorIs(t, err, failure)
			require.Zero(t, wins.Load())
			continue
		}
		require.EqualValues(t, 1, wins.Load())
	}
}

func TestRace_RunTakesNoResultOfWorkThatFailed(t *testing.T) {
	var race late.Race[int]
	disk := errors.New("disk")
	won, err := race.Run(t.Context(), nil, func(context.Context) (int, error) { return 7, disk })
	require.Equal(t, disk, err)
	require.False(t, won)
	value, err := race.Wait(t.Context())
	require.ErrorIs(t, err, disk)
	require.Zero(t, value)
}

func TestRace_RunReleasesOnceInEachCase(t *testing.T) {
	released := 0
	release := func() { released++ }
	var race late.Race[int]
	_, err := race.Run(t.Context(), release, func(context.Context) (int, error) { panic("boom") })
	require.ErrorContains(t, err, "late: the work panicked: boom")
	require.Equal(t, 1, released)
	_, err = race.Run(t.Context(), release, nil)
	require.ErrorIs(t, err, late.ErrOver)
	require.Equal(t, 2, released)
	_, err = race.Wait(t.Context())
	require.ErrorContains(t, err, "boom")
}

func TestRace_WaitIsWokenByTheWinner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var race late.Race[string]
		start := time.Now()
		for name, takes := range map[string]time.Duration{"original": time.Hour, "copy": time.Minute} {
			go func() {
				won, err := race.Run(t.Context(), nil, func(ctx context.Context) (string, error) {
					select {
					case <-time.After(takes):
						return name, nil
					case <-ctx.Done():
						return "", context.Cause(ctx)
					}
				})
				if name == "copy" != won || won != (err == nil) {
					t.Errorf("%s: won %t, %v", name, won, err)
				}
			}()
		}
		synctest.Wait()
		value, err := race.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, "copy", value)
		require.Equal(t, time.Minute, time.Since(start))
	})
}

package pool_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

func TestNew_RefusesBadConfigurations(t *testing.T) {
	tests := map[string]struct {
		cfg  pool.Config
		text string
	}{
		"duplicate machine": {pool.Config{Machines: []omega.Machine{{Name: "a", Capacity: v(1)}, {Name: "a", Capacity: v(1)}}}, `"a"`},
		"negative capacity": {pool.Config{Machines: []omega.Machine{{Name: "a", Capacity: v(-1)}}}, "kind 0 is -1"},
		"nothing to share":  {pool.Config{Machines: []omega.Machine{{Name: "a"}}}, "Machines"},
		"too much to share": {pool.Config{Machines: machines(resources.MaxQuantity, 1)}, "2^62"},
		"negative wait":     {pool.Config{Machines: machines(1), Delay: delay.Policy{Waits: delay.Waits{-1}}}, "Delay"},
		"skips":             {pool.Config{Machines: machines(1), Delay: delay.Policy{Skips: 3}}, "3 skips"},
		"a learner":         {pool.Config{Machines: machines(1), Delay: delay.Policy{Learn: new(delay.Learner)}}, "a Learner"},
		"bad weight":        {pool.Config{Machines: machines(1), Weights: map[string]float64{"a": -1}}, "Weights"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := pool.New(test.cfg)
			require.ErrorIs(t, err, pool.ErrConfig)
			require.ErrorContains(t, err, test.text)
		})
	}
}

func TestClose_WaitsForLeasesAndRefusesTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4)})
		l := acquire(t, p, "a", 4)
		waited := make(chan error)
		go func() {
			_, err := p.Acquire(t.Context(), "b", v(1))
			waited <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, p.Close(ctx), context.DeadlineExceeded)
		require.ErrorIs(t, <-waited, pool.ErrClosed)
		_, err := p.Acquire(t.Context(), "b", v(1))
		require.ErrorIs(t, err, pool.ErrClosed)
		_, err = p.TryAcquire("b", v(1))
		require.ErrorIs(t, err, pool.ErrClosed)

		closed := make(chan error)
		go func() { closed <- p.Close(t.Context()) }()
		synctest.Wait()
		release(t, l)
		require.NoError(t, <-closed)
		require.NoError(t, p.Close(t.Context()))
	})
}

func TestDo_ReleasesAlsoOnPanic(t *testing.T) {
	p := newPool(t, pool.Config{Machines: machines(4)})
	require.PanicsWithValue(t, "boom", func() {
		_ = p.Do(t.Context(), "a", v(4), func(context.Context) error { panic("boom") })
	})
	failed := errors.New("failed")
	require.ErrorIs(t, p.Do(t.Context(), "a", v(4), func(context.Context) error { return failed }), failed)
	require.Equal(t, v(4, 4), p.Stats().Free)
}

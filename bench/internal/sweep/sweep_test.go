package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/sweep"
)

func name(_ context.Context, p *string, seed uint64) (string, error) {
	return fmt.Sprint(*p, seed), nil
}

func TestEach_IsInOrderHoweverManyAtATime(t *testing.T) {
	for _, parallel := range []int{0, 1, 3, 100} {
		var told [][2]int
		got, err := sweep.Each(t.Context(), sweep.Options{Seeds: 2, Parallel: parallel, Done: func(runs, all int) {
			told = append(told, [2]int{runs, all})
		}}, []string{"a", "b", "c"}, name)
		require.NoError(t, err)
		require.Equal(t, [][]string{{"a1", "a2"}, {"b1", "b2"}, {"c1", "c2"}}, got)
		require.Equal(t, [][2]int{{1, 6}, {2, 6}, {3, 6}, {4, 6}, {5, 6}, {6, 6}}, told)
	}
	got, err := sweep.Each(t.Context(), sweep.Options{}, []string{"a"}, name)
	require.NoError(t, err)
	require.Equal(t, [][]string{{"a1"}}, got)
	got, err = sweep.Each(t.Context(), sweep.Options{Seeds: 2}, nil, name)
	require.NoError(t, err)
	require.Empty(t, got)
}

// As many as allowed run at a time: each waits until the others are there.
func TestEach_RunsAsManyAtATimeAsAllowed(t *testing.T) {
	const most = 3
	var there atomic.Int64
	all := make(chan struct{})
	_, err := sweep.Each(t.Context(), sweep.Options{Seeds: most, Parallel: most}, []int{0}, func(ctx context.Context, _ *int, _ uint64) (int, error) {
		if there.Add(1) == most {
			close(all)
		}
		select {
		case <-all:
			return 0, nil
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	})
	require.NoError(t, err)
}

func TestEach_EndsWithTheFirstError(t *testing.T) {
	why := errors.New("no")
	runs := 0
	got, err := sweep.Each(t.Context(), sweep.Options{Seeds: 5}, []int{0, 1}, func(_ context.Context, p *int, seed uint64) (int, error) {
		runs++
		if *p == 0 && seed == 3 {
			return 0, why
		}
		return 0, nil
	})
	require.ErrorIs(t, err, why)
	require.Nil(t, got)
	require.Equal(t, 3, runs)
}

// Those that run are told of an error of another one, and theirs is not the
// first.
func TestEach_EndsTheOthers(t *testing.T) {
	why := errors.New("no")
	_, err := sweep.Each(t.Context(), sweep.Options{Seeds: 2, Parallel: 2}, []int{0}, func(ctx context.Context, _ *int, seed uint64) (int, error) {
		if seed == 1 {
			return 0, why
		}
		<-ctx.Done()
		return 0, errors.New("interrupted")
	})
	require.ErrorIs(t, err, why)
}

func TestEach_EndsWithTheContext(t *testing.T) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	runs := 0
	got, err := sweep.Each(ctx, sweep.Options{Seeds: 5}, []int{0}, func(context.Context, *int, uint64) (int, error) {
		if runs++; runs == 2 {
			cancel(why)
		}
		return 0, nil
	})
	require.ErrorIs(t, err, why)
	require.Nil(t, got)
	require.Equal(t, 2, runs)
}

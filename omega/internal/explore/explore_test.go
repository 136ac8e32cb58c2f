//go:build explore

package explore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/internal/atomics"
	"github.com/cellsched/cellsched/omega/internal/explore"
)

// lostUpdate has two threads that add one by a load and a store.
func lostUpdate(r *explore.Run) {
	var sum atomics.Int64
	for _, name := range []string{"a", "b"} {
		r.Go(name, func() { sum.Store(sum.Load() + 1) })
	}
	r.Check(func() error {
		if n := sum.Load(); n != 2 {
			return fmt.Errorf("sum is %d", n)
		}
		return nil
	})
}

func TestExplore_FindsALostUpdate(t *testing.T) {
	_, err := explore.Explore(explore.Config{}, lostUpdate)
	require.NoError(t, err, "without preemptions they run one after the other")

	_, err = explore.Explore(explore.Config{Preemptions: 3}, lostUpdate)
	var f *explore.ScheduleError
	require.ErrorAs(t, err, &f)
	require.ErrorContains(t, err, "sum is 1")
	require.Equal(t, 1, f.Preemptions)
	var did []string
	for _, s := range f.Trace {
		did = append(did, s.Thread+" "+s.Op)
	}
	require.Equal(t, []string{"a load", "b load", "b store", "a store"}, did)
	require.Equal(t, "a", f.Trace[1].Preempts)
	require.Equal(t, "int64 #1", f.Trace[0].Object)
	require.Equal(t, "explore/explore_test.go", f.Trace[0].File)
	require.Equal(t, "explore.Schedule{1: 1}", f.Schedule.String())
	require.Contains(t, err.Error(), "  a  is preempted")

	again := explore.Replay(explore.Config{}, f.Schedule, lostUpdate)
	require.ErrorAs(t, again, &f)
	require.ErrorContains(t, again, "sum is 1")
	require.NoError(t, explore.Replay(explore.Config{}, nil, lostUpdate))
}

// Two threads of n steps each can be merged in "2n over n" orders. At most one
// preemption leaves 2n of them: n-1 places in either thread, after which the other runs
// to its end, and two orders without a preemption.
func TestExplore_RunsEveryScheduleOnce(t *testing.T) {
	const steps = 4
	for preemptions, want := range map[int]int{0: 2, 1: 2 * steps, 100: 70} {
		seen := make(map[string]bool)
		runs := 0
		res, err := explore.Explore(explore.Config{Preemptions: preemptions, Repetitive: true}, func(r *explore.Run) {
			var word atomics.Int64
			var order strings.Builder
			for _, name := range []string{"a", "b"} {
				r.Go(name, func() {
					for range steps {
						word.Add(1)
						order.WriteString(name)
					}
				})
			}
			r.Check(func() error {
				runs++
				seen[order.String()] = true
				return nil
			})
		})
		require.NoError(t, err)
		require.Len(t, seen, want, preemptions)
		require.Equal(t, res.Runs, runs)
		require.Equal(t, 2*steps, res.Steps)
		require.Equal(t, preemptions != 100, res.Bounded)
	}
}

func TestExplore_EndsAtTheLimitOfRuns(t *testing.T) {
	res, err := explore.Explore(explore.Config{Preemptions: 100, Runs: 3}, func(r *explore.Run) {
		var word atomics.Int64
		for _, name := range []string{"a", "b"} {
			r.Go(name, func() { word.Add(1); word.Add(1) })
		}
	})
	require.NoError(t, err)
	require.Equal(t, explore.Result{Runs: 3, Steps: 4, Threads: 2, Bounded: true}, res)
}

func TestExplore_ReportsAPanic(t *testing.T) {
	_, err := explore.Explore(explore.Config{Preemptions: 1}, func(r *explore.Run) {
		var p atomics.Pointer[int]
		p.Store(new(int))
		r.Go("reader", func() {
			if p.Load() != nil {
				*p.Load() = 1
			}
		})
		r.Go("writer", func() { p.Store(nil) })
	})
	require.ErrorContains(t, err, "thread reader panics: runtime error: invalid memory address")
	require.ErrorContains(t, err, "TestExplore_ReportsAPanic", "where it was")
	require.ErrorContains(t, err, "reader  is preempted")
}

func TestExplore_ReportsALivelock(t *testing.T) {
	_, err := explore.Explore(explore.Config{Steps: 50}, func(r *explore.Run) {
		var flag atomics.Bool
		r.Go("waiter", func() {
			for !flag.Load() {
			}
		})
		r.Go("setter", func() { flag.Store(true) })
	})
	require.ErrorIs(t, err, explore.ErrLivelock)
}

func TestExplore_ReportsADeadlock(t *testing.T) {
	both := func(first, second *atomics.Mutex) func() {
		return func() {
			first.Lock()
			defer first.Unlock()
			second.Lock()
			defer second.Unlock()
		}
	}
	_, err := explore.Explore(explore.Config{Preemptions: 1}, func(r *explore.Run) {
		var m, n atomics.Mutex
		r.Go("a", both(&m, &n))
		r.Go("b", both(&n, &m))
	})
	require.ErrorIs(t, err, explore.ErrDeadlock)
	require.ErrorContains(t, err, "a: lock Mutex; b: lock Mutex")
}

func TestExplore_RefusesWhatDoesNotRepeat(t *testing.T) {
	tests := map[string]struct{ threads, steps func(run int) int }{
		"a thread more with every run": {
			threads: func(run int) int { return run },
			steps:   func(int) int { return 2 },
		},
		"a step less with every run": {
			threads: func(int) int { return 1 },
			steps:   func(run int) int { return 9 - run },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			runs := 0
			_, err := explore.Explore(explore.Config{Preemptions: 1}, func(r *explore.Run) {
				runs++
				steps := tt.steps(runs)
				var word atomics.Int64
				r.Go("first", func() {
					for range steps {
						word.Add(1)
					}
				})
				for n := range tt.threads(runs) {
					r.Go(fmt.Sprint(n), func() { word.Add(1) })
				}
			})
			require.ErrorIs(t, err, explore.ErrNotRepeatable)
		})
	}
}

// What a mutex guards is no place to be disturbed.
func TestMutex_Excludes(t *testing.T) {
	res, err := explore.Explore(explore.Config{Preemptions: 100}, func(r *explore.Run) {
		var m atomics.Mutex
		var sum atomics.Int64
		for _, name := range []string{"a", "b", "c"} {
			r.Go(name, func() {
				m.Lock()
				defer m.Unlock()
				sum.Store(sum.Load() + 1)
			})
		}
		r.Check(func() error {
			if n := sum.Load(); n != 3 {
				return fmt.Errorf("sum is %d", n)
			}
			return nil
		})
	})
	require.NoError(t, err)
	require.False(t, res.Bounded)
}

// A waiting thread goes on when the event happens or when it gives up. Where both are
// so it may be either.
func TestEvent_HappensOrNot(t *testing.T) {
	seen := make(map[string]bool)
	_, err := explore.Explore(explore.Config{Preemptions: 2}, func(r *explore.Run) {
		ctx, cancel := context.WithCancel(t.Context())
		e := atomics.NewEvent[int]()
		var cancelled, got atomics.Bool
		r.Go("waiter", func() {
			v, ok := e.Wait(ctx)
			got.Store(ok)
			seen[fmt.Sprint(v, ok, cancelled.Load())] = true
		})
		r.Go("firer", func() { e.Fire(7) })
		r.Go("canceller", func() {
			cancelled.Store(true)
			cancel()
		})
		r.Check(func() error {
			if _, ok := e.Wait(ctx); ok == got.Load() {
				return errors.New("it happened twice, or never")
			}
			return nil
		})
	})
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"7 true false": true, "7 true true": true, "0 false true": true}, seen)
}

// Where an event has happened and its context is done, which of the two Wait
// reports is chance, and explored; so is being preempted just before.
func TestEvent_WaitChoosesAmongBoth(t *testing.T) {
	seen := make(map[string]bool)
	_, err := explore.Explore(explore.Config{Preemptions: 1}, func(r *explore.Run) {
		ctx, cancel := context.WithCancel(t.Context())
		e := atomics.NewEvent[int]()
		e.Fire(7)
		var own atomics.Bool
		r.Go("waiter", func() {
			own.Store(true)
			early := ctx.Err() != nil
			v, ok := e.Wait(ctx)
			seen[fmt.Sprint(early, ctx.Err() != nil, v, ok)] = true
		})
		r.Go("canceller", cancel)
	})
	require.NoError(t, err)
	require.Equal(t, map[string]bool{
		"false false 7 true": true,
		"false true 7 true":  true, "false true 0 false": true,
		"true true 7 true": true, "true true 0 false": true,
	}, seen)
}

func TestEvent_ThatNeverHappensIsADeadlock(t *testing.T) {
	_, err := explore.Explore(explore.Config{}, func(r *explore.Run) {
		e := atomics.NewEvent[int]()
		r.Go("waiter", func() { e.Wait(t.Context()) })
	})
	require.ErrorIs(t, err, explore.ErrDeadlock)
	require.ErrorContains(t, err, "waiter: wait chan int")
}

// A call that began after another had returned is stamped later, even though
// its thread was on its way before, and though they have nothing in common.
func TestRun_DoStampsTheFirstStep(t *testing.T) {
	apart := false
	_, err := explore.Explore(explore.Config{Preemptions: 2}, func(r *explore.Run) {
		var word, elsewhere atomics.Int64
		add := func() any { return word.Add(1) }
		r.Go("a", func() {
			r.Do("first", add)
			r.Do("second", add)
		})
		r.Go("b", func() { r.Do("other", func() any { return elsewhere.Add(1) }) })
		r.Check(func() error {
			h := slices.SortedFunc(slices.Values(r.History()), func(a, b explore.Operation) int { return int(a.Call - b.Call) })
			if len(h) == 3 && h[0].Input == "first" && h[1].Input == "other" {
				apart = apart || h[0].Return < h[1].Call && h[1].Return < h[2].Call
			}
			for _, op := range h {
				if op.Call >= op.Return {
					return fmt.Errorf("%+v", op)
				}
			}
			return nil
		})
	})
	require.NoError(t, err)
	require.True(t, apart)
}

//go:build explore

package explore_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/internal/atomics"
	"github.com/cellsched/cellsched/omega/internal/explore"
)

// outcomes runs a scenario and returns how often its threads saw what they saw.
func outcomes(t *testing.T, cfg explore.Config, scenario func(*explore.Run) (saw func() string)) (map[string]bool, explore.Result) {
	t.Helper()
	seen := make(map[string]bool)
	res, err := explore.Explore(cfg, func(r *explore.Run) {
		saw := scenario(r)
		r.Check(func() error {
			seen[saw()] = true
			return nil
		})
	})
	require.NoError(t, err)
	return seen, res
}

// program is a few threads of random operations on a few words. Some of the words may
// be used by one thread alone.
func program(seed uint64) func(*explore.Run) func() string {
	rng := rand.New(rand.NewPCG(seed, 0))
	type op struct {
		kind, word int
		value      int64
	}
	const words = 5
	threads := make([][]op, 2+rng.IntN(2))
	for i := range threads {
		for range 3 + rng.IntN(4) {
			threads[i] = append(threads[i], op{rng.IntN(6), rng.IntN(words), rng.Int64N(3)})
		}
	}
	return func(r *explore.Run) func() string {
		var shared [words]atomics.Int64
		var mutex atomics.Mutex
		got := make([][]int64, len(threads))
		for i, ops := range threads {
			r.Go(fmt.Sprint(i), func() {
				for _, op := range ops {
					w, v := &shared[op.word], op.value
					switch op.kind {
					case 0:
						w.Store(v)
					case 1:
						v = w.Add(v)
					case 2:
						if !w.CompareAndSwap(v, v+1) {
							v = -1
						}
					case 3:
						mutex.Lock()
						v = w.Swap(v)
						mutex.Unlock()
					default:
						v = w.Load()
					}
					got[i] = append(got[i], v)
				}
			})
		}
		return func() string {
			for i := range shared {
				got = append(got, []int64{shared[i].Load()})
			}
			return fmt.Sprint(got)
		}
	}
}

// Whatever the threads can see in some schedule they see in one of those that
// are left.
func TestExplore_LeavesOutOnlyEquivalentSchedules(t *testing.T) {
	left, all := 0, 0
	for preemptions := range 3 {
		for seed := range uint64(100) {
			cfg := explore.Config{Preemptions: preemptions}
			some, res := outcomes(t, cfg, program(seed))
			left += res.Runs
			cfg.Repetitive = true
			every, res := outcomes(t, cfg, program(seed))
			all += res.Runs
			require.Equal(t, every, some, "seed %d with %d preemptions", seed, preemptions)
		}
	}
	require.Less(t, left, all*9/10)
	t.Logf("%d runs of %d", left, all)
}

func TestExplore_LeavesOutNoOutcomeOfASwap(t *testing.T) {
	for name, threads := range scenarios {
		for f := none; f <= dirtyRead; f++ {
			saw := func(r *explore.Run) func() string {
				accesses(f, threads...)(r)
				return func() string {
					outputs := make(map[string][]any)
					for _, op := range r.History() {
						outputs[fmt.Sprint(op.Thread)] = append(outputs[fmt.Sprint(op.Thread)], op.Output)
					}
					return fmt.Sprint(outputs)
				}
			}
			cfg := explore.Config{Preemptions: 2}
			some, _ := outcomes(t, cfg, saw)
			cfg.Repetitive = true
			every, _ := outcomes(t, cfg, saw)
			require.Equal(t, every, some, "%s, fault %d", name, f)
		}
	}
}

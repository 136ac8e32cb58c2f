package loop_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
)

func TestDistribution_IsWithinItsErrorOfASortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d loop.Distribution
		all := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) time.Duration {
			digits := rapid.IntRange(0, 62).Draw(t, "bits")
			return time.Duration(rapid.Int64Range(0, 1<<digits).Draw(t, "duration"))
		}), 1, 100).Draw(t, "all")
		sum := 0.0
		for _, one := range all {
			d.Add(one)
			sum += float64(one)
		}
		slices.Sort(all)
		require.EqualValues(t, len(all), d.Count())
		require.Equal(t, all[len(all)-1], d.Max())
		mean := sum / float64(len(all))
		require.InDelta(t, mean, float64(d.Mean()), 0.5+1e-9*mean)
		for _, q := range []float64{0, 0.5, 0.9, 0.99, 1} {
			exact := all[max(0, int(math.Ceil(q*float64(len(all))))-1)]
			require.InDelta(t, float64(exact), float64(d.Quantile(q)), float64(exact)/32, "quantile %v", q)
		}
	})
}

func TestDistribution_OfNothingAndOfNegativeTimesIsZero(t *testing.T) {
	var d loop.Distribution
	require.Zero(t, d.Mean()+d.Max()+d.Quantile(0.5))
	d.Add(-time.Second)
	require.Zero(t, d.Mean()+d.Max()+d.Quantile(0.5))
	require.EqualValues(t, 1, d.Count())
	d.Add(math.MaxInt64)
	require.Equal(t, time.Duration(math.MaxInt64), d.Max())
	require.InEpsilon(t, float64(math.MaxInt64), float64(d.Quantile(1)), 1.0/32)
}

func TestStats_OfNothingAreZero(t *testing.T) {
	var s loop.Stats
	require.Zero(t, s.Busyness())
	require.Zero(t, s.ConflictFraction())
	s.Conflicts, s.Succeeded = 3, 1
	require.Equal(t, 3.0, s.ConflictFraction())
}

// observed is a store that calls a function before it refuses a job.
type observed struct {
	omega.Local
	during func()
	refuse bool // the next transaction
}

func (o *observed) Commit(ctx context.Context, tx *omega.Txn) (int, error) {
	if !o.refuse {
		return o.Local.Commit(ctx, tx)
	}
	o.during()
	return 0, omega.ErrLimit
}

// Other goroutines read statistics, submit, cancel and ask for a recheck while the
// loop steps. That is for the race detector: jobs are placed, find no room,
// conflict, park, expire, are cancelled and are preempted.
func TestLoop_IsSafeForConcurrentUse(t *testing.T) {
	cell := newCell(t, 8)
	store := &observed{Local: omega.Local{Scheduler: register(t, cell, "observed")}}
	r := newRig(t, cell, loop.Config[string]{Store: store, Think: func(job *loop.Job[string], _ int) time.Duration {
		store.refuse = job.Key == "refused"
		return 0
	}})
	high := register(t, cell, "high")
	claim(t, high, "m0", cell, 2)
	stop := make(chan struct{})
	var others sync.WaitGroup
	until := func(do func()) {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					do()
				}
			}
		})
	}
	store.during = func() { // in the midst of a step
		begun := make(chan struct{})
		others.Go(func() {
			close(begun)
			r.Stats()
		})
		<-begun
	}
	until(func() { r.Stats() })
	until(r.Recheck)
	until(r.Recheck)
	const rounds = 40
	for i := range rounds {
		now := at(float64(i))
		fits := fmt.Sprint("fits ", i)
		r.submit(t, now, job(fits, 2, 1))
		expires := job("expires", 1, 7)
		expires.Deadline = now
		r.submit(t, now, expires)
		r.submit(t, now, job("parks", 1, 9))
		r.submit(t, now, job("refused", 1, 1))
		cancelled := r.submit(t, now, job("no room", 1, 7))
		others.Go(func() {
			r.Cancel(cancelled)
		})
		for n := 0; len(r.held[fits]) < 2; n++ {
			require.Less(t, n, 100_000, "it is never placed")
			r.step(t, now)
		}
		victim := r.held[fits][0]
		taken := preempt(t, high, cell, now, victim)
		r.step(t, now)
		require.NoError(t, high.Release(taken))
		for _, a := range r.held[fits] {
			require.NoError(t, store.Scheduler.Release(a))
		}
		r.events, r.held = nil, map[string][]omega.AllocationID{}
	}
	close(stop)
	others.Wait()
	r.settle(t, at(rounds))
	stats := r.Stats()
	require.EqualValues(t, 5*rounds, stats.Submitted)
	require.EqualValues(t, rounds, stats.Abandoned)
	require.EqualValues(t, rounds, stats.Preempted)
	require.GreaterOrEqual(t, stats.Placed, uint64(2*rounds))
}

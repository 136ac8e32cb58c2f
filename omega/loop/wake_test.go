package loop_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

// A gang that waits for room is not woken for every hole.
func TestRun_WakesAGangWhenThereIsRoomForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell := newCell(t, 4, 4)
		other := register(t, cell, "other")
		var taken []omega.AllocationID
		for _, m := range []string{"m0", "m1"} {
			for range 4 {
				taken = append(taken, claim(t, other, m, cell, 1))
			}
		}
		s := register(t, cell, "s")
		looks := 0
		r := newRig(t, cell, loop.Config[string]{MinDelay: 24 * time.Hour, Store: sleeper{
			omega.Local{Scheduler: s}, func() { looks++ },
		}})
		stop := r.run(t)
		gang := job("gang", 3, 2)
		gang.Gang = true
		r.submit(t, time.Now(), gang)
		synctest.Wait()
		looks = 0
		for i, a := range taken[:7] {
			require.NoError(t, other.Release(a))
			synctest.Wait()
			require.Equal(t, i >= 5, len(r.held["gang"]) == 3, "%d released", i+1)
		}
		require.Equal(t, 1, looks, "when there was room for all")
		require.Equal(t, errStop, stop())
		require.NoError(t, cell.Check())
	})
}

// Jobs that need different kinds wait for either.
func TestRun_WakesJobsOfDifferentKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "m0", Capacity: resources.Vector{1, 1}}}})
		require.NoError(t, err)
		other := register(t, cell, "other")
		m0, _ := cell.Machine("m0")
		taken := make([]omega.AllocationID, 2)
		for k := range taken {
			var tx omega.Txn
			c := omega.Claim{Machine: m0}
			c.Need[k] = 1
			tx.Claim(c)
			_, err := other.Commit(&tx)
			require.NoError(t, err)
			taken[k], _ = tx.Allocation(0)
		}
		r := newRig(t, cell, loop.Config[string]{MinDelay: 24 * time.Hour})
		stop := r.run(t)
		start := time.Now()
		r.submit(t, start, job("a", 1, 1))
		r.submit(t, start, loop.Job[string]{Key: "b", Tasks: 1, Need: resources.Vector{0, 1}})
		time.Sleep(time.Minute)
		require.NoError(t, other.Release(taken[1]))
		require.Equal(t, map[string]time.Duration{"b": time.Minute}, seen(r, loop.Complete, start))
		time.Sleep(time.Minute)
		require.NoError(t, other.Release(taken[0]))
		require.Equal(t, map[string]time.Duration{"a": 2 * time.Minute, "b": time.Minute}, seen(r, loop.Complete, start))
		require.Equal(t, errStop, stop())
	})
}

// Of several that wait, the one that fits is woken, whichever came first.
func TestRun_WakesTheSmallestThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell := newCell(t, 4)
		other := register(t, cell, "other")
		var taken []omega.AllocationID
		for range 4 {
			taken = append(taken, claim(t, other, "m0", cell, 1))
		}
		r := newRig(t, cell, loop.Config[string]{MinDelay: 24 * time.Hour})
		stop := r.run(t)
		start := time.Now()
		gang := func(key string, tasks int, need int64) {
			j := job(key, tasks, need)
			j.Gang = true
			r.submit(t, start, j)
		}
		gang("four", 4, 1)
		gang("two", 2, 1)
		gang("large", 1, 4)
		gang("three", 3, 1)
		time.Sleep(time.Minute)
		require.NoError(t, other.Release(taken[0]))
		time.Sleep(time.Minute)
		require.NoError(t, other.Release(taken[1]))
		require.Equal(t, map[string]time.Duration{"two": 2 * time.Minute}, seen(r, loop.Complete, start))
		for _, a := range r.held["two"] {
			require.NoError(t, r.sched.Release(a))
		}
		time.Sleep(time.Minute)
		require.NoError(t, other.Release(taken[2]))
		require.Equal(t, 3*time.Minute, seen(r, loop.Complete, start)["three"])
		require.Equal(t, errStop, stop())
	})
}

// A job that is no gang is woken for one task, however many are left.
func TestRun_WakesAJobForEachTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell := newCell(t, 3)
		other := register(t, cell, "other")
		var taken []omega.AllocationID
		for range 3 {
			taken = append(taken, claim(t, other, "m0", cell, 1))
		}
		r := newRig(t, cell, loop.Config[string]{MinDelay: 24 * time.Hour})
		stop := r.run(t)
		r.submit(t, time.Now(), job("j", 5, 1))
		synctest.Wait()
		for i, a := range taken {
			require.NoError(t, other.Release(a))
			synctest.Wait()
			require.Len(t, r.held["j"], i+1)
		}
		require.Equal(t, errStop, stop())
	})
}

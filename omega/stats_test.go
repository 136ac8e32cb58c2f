package omega_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/resources"
)

func counts(name string, commits, granted uint64, refused ...observe.Refusal) observe.Counts {
	c := observe.Counts{Name: name, Commits: commits, Claims: granted, Granted: granted, Refused: refused}
	c.Counted.Commits, c.Counted.Retries, c.Counted.Victims = true, true, true
	for _, r := range refused {
		c.Claims += r.Count
	}
	return c
}

// granted has s granted a claim.
func granted(t *testing.T, s *omega.Scheduler, c omega.Claim) omega.AllocationID {
	t.Helper()
	var tx omega.Txn
	require.Equal(t, 1, commit(t, s, &tx, c))
	a, _ := tx.Allocation(0)
	return a
}

func TestSchedulerStats_CountsClaimsByTheirOutcome(t *testing.T) {
	cell, ids := newCell(t, 3, resources.Vector{4})
	first := register(t, cell, "one")
	limited, err := cell.Register("limited", omega.Limits{Held: &resources.Vector{2}})
	require.NoError(t, err)
	require.Equal(t, counts("one", 0, 0), first.Stats())

	send := func(s *omega.Scheduler, fill func(*omega.Txn)) *omega.Txn {
		tx := new(omega.Txn)
		fill(tx)
		_, err := s.Commit(tx)
		require.NoError(t, err)
		return tx
	}
	tx := send(first, func(tx *omega.Txn) { tx.Claim(claim(ids[0], 3)) })
	a, _ := tx.Allocation(0)
	require.Equal(t, counts("one", 1, 1), first.Stats(), "a claim that is granted")
	send(first, func(tx *omega.Txn) { tx.Claim(claim(ids[0], 3)) })
	require.Equal(t, counts("one", 2, 1, observe.Refusal{Reason: "conflict", Count: 1}), first.Stats())
	send(first, func(tx *omega.Txn) {
		tx.Claim(claim(ids[1], 1))
		tx.Claim(claim(ids[0], 2))
		tx.Claim(claim(ids[2], 1))
		tx.Release(a)
	})
	require.Equal(t, counts("one", 3, 4, observe.Refusal{Reason: "conflict", Count: 1}), first.Stats(), "releases are no claims, and come first")
	send(first, func(tx *omega.Txn) {
		tx.Gang = true
		tx.Claim(claim(ids[1], 1))
		tx.Claim(claim(ids[2], 4))
	})
	want := counts("one", 4, 4, observe.Refusal{Reason: "conflict", Count: 2}, observe.Refusal{Reason: "gang", Count: 1})
	require.Equal(t, want, first.Stats())
	send(first, func(tx *omega.Txn) { tx.Release(a) })
	want.Commits++
	require.Equal(t, want, first.Stats(), "a refused release is no claim")

	require.NoError(t, cell.Drain(ids[2]))
	send(limited, func(tx *omega.Txn) {
		tx.Claim(claim(ids[1], 2))
		tx.Claim(claim(ids[1], 1))
		tx.Claim(claim(ids[2], 1))
	})
	got := limited.Stats()
	require.EqualValues(t, 3, got.Claims)
	require.EqualValues(t, 1, got.Granted)
	var empty omega.Txn
	_, err = limited.Commit(&empty)
	require.ErrorIs(t, err, omega.ErrEmpty)
	require.Equal(t, got, limited.Stats(), "a transaction that fails is none")
	require.Equal(t, []observe.Counts{counts("", 0, 0), got, want}, cell.Stats())
}

func TestSchedulerStats_CountsPreemptions(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{4})
	low := register(t, cell, "low")
	high, err := cell.Register("high", omega.Limits{Highest: 1})
	require.NoError(t, err)
	var tx omega.Txn
	var victims []omega.AllocationID
	for range 2 {
		a := granted(t, low, claim(ids[0], 2))
		victims = append(victims, a)
	}
	tx.Reset()
	tx.Now, tx.Grace = time.Unix(1, 0), time.Second
	tx.Claim(omega.Claim{Machine: ids[0], Need: resources.Vector{4}, Precedence: 1, Victims: victims})
	n, err := high.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.EqualValues(t, 2, high.Stats().Victims)
	require.Zero(t, high.Stats().Preempted)
	require.Zero(t, low.Stats().Victims)
	require.EqualValues(t, 2, low.Stats().Preempted)

	next, err := cell.Replace("low")
	require.NoError(t, err)
	require.Zero(t, next.Stats().Preempted, "without its predecessor's")
	id, _ := tx.Allocation(0)
	require.NoError(t, high.Release(id))
	for _, a := range victims {
		require.NoError(t, next.Release(a))
	}
	last := granted(t, next, claim(ids[0], 4))
	tx.Reset()
	tx.Claim(omega.Claim{Machine: ids[0], Need: resources.Vector{4}, Precedence: 1, Victims: []omega.AllocationID{last}})
	_, err = high.Commit(&tx)
	require.NoError(t, err)
	require.EqualValues(t, 1, next.Stats().Preempted)
	require.EqualValues(t, 2, low.Stats().Preempted, "without its successor's")
	for _, one := range cell.Stats() {
		require.Equal(t, map[string]uint64{"low": 3}[one.Name], one.Preempted, one.Name)
	}
	require.NoError(t, next.Release(last))
	require.NoError(t, next.Leave())
	require.EqualValues(t, 3, cell.Stats()[0].Preempted, "that have left")
}

func TestCellStats_KeepsTheCountsOfSchedulersThatAreGone(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{8})
	s := register(t, cell, "s")
	a := granted(t, s, claim(ids[0], 1))
	next, err := cell.Replace("s")
	require.NoError(t, err)
	require.Equal(t, counts("s", 0, 0), next.Stats())
	require.Equal(t, []observe.Counts{counts("", 0, 0), counts("s", 1, 1)}, cell.Stats())
	b := granted(t, next, claim(ids[0], 1))
	require.Equal(t, counts("s", 2, 2), cell.Stats()[1])
	require.NoError(t, next.Release(a))
	require.NoError(t, next.Release(b))
	require.NoError(t, next.Leave())
	require.Equal(t, []observe.Counts{counts("", 2, 2)}, cell.Stats())
	again := register(t, cell, "s")
	require.Equal(t, counts("s", 0, 0), again.Stats())
}

// Readers see numbers that only rise, and all of them in the end.
func TestCellStats_MayBeReadWhileSchedulersCommit(t *testing.T) {
	const schedulers, commits = 3, 500
	cell, ids := newCell(t, 1, resources.Vector{2})
	var all sync.WaitGroup
	stop := make(chan struct{})
	all.Go(func() {
		var before observe.Counts
		for {
			var sum observe.Counts
			for _, c := range cell.Stats() {
				sum.Add(&c)
			}
			if sum.Commits < before.Commits || sum.Granted < before.Granted || sum.Claims < before.Claims {
				t.Errorf("%v after %v", sum, before)
				return
			}
			before = sum
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	var work sync.WaitGroup
	grants := make([]uint64, schedulers)
	for i := range schedulers {
		s := register(t, cell, string(rune('a'+i)))
		work.Go(func() {
			var tx omega.Txn
			for range commits {
				tx.Reset()
				tx.Claim(claim(ids[0], 1))
				n, err := s.Commit(&tx)
				if err != nil {
					t.Error(err)
					return
				}
				grants[i] += uint64(n)
				if a, ok := tx.Allocation(0); ok {
					if err := s.Release(a); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	work.Wait()
	close(stop)
	all.Wait()
	for i, c := range cell.Stats()[1:] {
		require.EqualValues(t, commits, c.Commits)
		require.EqualValues(t, commits, c.Claims)
		require.Equal(t, grants[i], c.Granted)
	}
}

func TestCellStats_CountsWaitingSchedulers(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{1})
	holder, waiter := register(t, cell, "holder"), register(t, cell, "waiter")
	a := granted(t, holder, claim(ids[0], 1))
	done := make(chan error, 1)
	go func() { done <- waiter.Wait(t.Context(), resources.Vector{1}) }()
	for waiter.Stats().Waiting == 0 {
		select {
		case err := <-done:
			require.NoError(t, err)
			t.Fatal("the wait is over")
		default:
		}
	}
	require.Equal(t, 1, cell.Stats()[2].Waiting)
	require.NoError(t, holder.Release(a))
	require.NoError(t, <-done)
	require.Zero(t, waiter.Stats().Waiting)
}

// Waited has the Waits that returned nil: of a Scheduler its own, of the cell those of
// predecessors and of schedulers that have left, too.
func TestStats_HasTheLengthsOfWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, ids := newCell(t, 1, resources.Vector{1})
		holder, waiter := register(t, cell, "holder"), register(t, cell, "waiter")
		waits := func(s *omega.Scheduler, length time.Duration) {
			a := granted(t, holder, claim(ids[0], 1))
			done := make(chan error, 1)
			go func() { done <- s.Wait(t.Context(), resources.Vector{1}) }()
			time.Sleep(length)
			require.NoError(t, holder.Release(a))
			require.NoError(t, <-done)
		}
		all := func(h observe.Histogram) (uint64, time.Duration) { return h.Count(), h.Sum }
		require.Equal(t, observe.Histogram{}, waiter.Stats().Waited)
		waits(waiter, time.Second)
		waits(waiter, time.Minute)
		held := granted(t, holder, claim(ids[0], 1))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		require.ErrorIs(t, waiter.Wait(ctx, resources.Vector{1}), context.DeadlineExceeded)
		require.NoError(t, holder.Release(held))
		var want observe.Histogram
		want.Add(time.Second)
		want.Add(time.Minute)
		require.Equal(t, want, waiter.Stats().Waited)

		next, err := cell.Replace("waiter")
		require.NoError(t, err)
		require.Equal(t, observe.Histogram{}, next.Stats().Waited)
		waits(next, time.Millisecond)
		n, sum := all(next.Stats().Waited)
		require.Equal(t, [...]any{uint64(1), time.Millisecond}, [...]any{n, sum})
		n, sum = all(cell.Stats()[2].Waited)
		require.Equal(t, [...]any{uint64(3), time.Minute + time.Second + time.Millisecond}, [...]any{n, sum})
		require.NoError(t, next.Leave())
		n, sum = all(cell.Stats()[0].Waited)
		require.Equal(t, [...]any{uint64(3), time.Minute + time.Second + time.Millisecond}, [...]any{n, sum})
	})
}

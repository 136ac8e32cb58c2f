package pool_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega/pool"
)

// A request for a whole machine, beside tenants that always wait with small ones,
// starts within a bound. Let P be the patience, L the longest task, n the number of
// tenants and H the time until a lease from before it ends. (1) It is first in the
// order, and P is over, after max(P, (n+1)*L): it begins beside the first tenant of the
// order, and each tenant, itself included, may be one task ahead of the others. (2) The
// next release reserves the machine, within L. (3) The leases from then end within
// L or H, and (4) those granted since, within L.
func TestPatience_BoundsTheWaitOfALargeRequest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := crowd{
			capacity: rapid.Int64Range(2, 10).Draw(rt, "capacity"),
			patience: rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, 5 * time.Second}).Draw(rt, "patience"),
			lengths:  rapid.SliceOfN(rapid.IntRange(1, 30), 1, 6).Draw(rt, "lengths of the tenants' tasks"),
		}
		c.needs = rapid.SliceOfN(rapid.Int64Range(1, max(1, c.capacity/2)), len(c.lengths), len(c.lengths)).Draw(rt, "needs")
		c.hold = rapid.IntRange(0, 300).Draw(rt, "hold")
		c.at = rapid.IntRange(0, 200).Draw(rt, "at")
		require.LessOrEqual(rt, c.wait(t), c.bound())
	})
}

// Three tenants lack room beside one with tasks of one unit, and have received less. A
// large request lacks room as they do, so it waits no longer than they.
func TestPatience_ALargeRequestBeginsBesideTenantsThatLackRoom(t *testing.T) {
	c := crowd{capacity: 10, patience: time.Second, lengths: []int{2, 1, 17, 25}, needs: []int64{3, 5, 3, 1}, hold: 7, at: 196}
	require.LessOrEqual(t, c.wait(t), c.bound())
}

// crowd is tenants that always wait, and a request for their whole machine. Times are in
// tenths of a second.
type crowd struct {
	capacity int64
	patience time.Duration
	lengths  []int // of the tenants' tasks
	needs    []int64
	hold     int // one unit is held for so long after the request
	at       int // the request
}

// bound is the longest wait of the request.
func (c crowd) bound() time.Duration {
	longest := tenths(slices.Max(c.lengths))
	turns := time.Duration(len(c.lengths)+1) * longest
	return max(max(c.patience, turns)+2*longest, tenths(c.hold)) + longest + c.patience/32
}

// wait runs the tenants and returns how long the request waits.
func (c crowd) wait(t *testing.T) (waited time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(c.capacity), Patience: c.patience})
		var loads []*load
		for i, length := range c.lengths {
			loads = append(loads, &load{tenant: tenant(t, p, fmt.Sprint(i)), need: v(c.needs[i]), length: tenths(length), workers: 12})
		}
		held := acquire(t, p, "held", 1)
		large := tenant(t, p, "large")
		var wg sync.WaitGroup
		wg.Go(func() { run(t, 90*time.Second, loads...) })
		wg.Go(func() {
			time.Sleep(tenths(c.at + c.hold))
			_ = held.Release()
		})
		wg.Go(func() {
			time.Sleep(tenths(c.at))
			start := time.Now()
			l, err := large.Acquire(context.Background(), v(c.capacity))
			if err != nil {
				t.Error(err)
				return
			}
			waited = time.Since(start)
			_ = l.Release()
		})
		wg.Wait()
	})
	return waited
}

func tenths(n int) time.Duration { return time.Duration(n) * 100 * time.Millisecond }

// One unit of ten is held for an hour. A request for five need not wait for it,
// beside a tenant that always has small tasks.
func TestPatience_ALongLeaseThatLeavesRoomHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(10))
		held := acquire(t, p, "held", 1)
		small := &load{tenant: tenant(t, p, "small"), need: v(1), length: time.Second, workers: 20}
		var wg sync.WaitGroup
		wg.Go(func() { run(t, time.Minute, small) })
		time.Sleep(10 * time.Second)
		start := time.Now()
		l, err := tenant(t, p, "half").Acquire(t.Context(), v(5))
		require.NoError(t, err)
		require.LessOrEqual(t, time.Since(start), 4*time.Second)
		release(t, l)
		wg.Wait()
		release(t, held)
	})
}

// A lease that shrinks may leave the room that a reservation waits for.
func TestPatience_AnOlderLeaseThatShrinksCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(10))
		held, brief := acquire(t, p, "held", 8), acquire(t, p, "brief", 1)
		got := acquireIn(t.Context(), tenant(t, p, "half"), 5)
		time.Sleep(2 * time.Second)
		release(t, brief) // it is reserved now
		filler := acquire(t, p, "filler", 1)
		require.NoError(t, held.Resize(v(5)))
		require.Equal(t, v(5), p.Stats().Machines[0].Reserved, "others go on no more")
		_, ok := p.TryAcquire("filler", v(1))
		require.False(t, ok)
		release(t, filler)
		release(t, arrived(got), held)
	})
}

// Before the patience of a request is over no room is kept for it.
func TestPatience_KeepsNoRoomBeforeItIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(10), Patience: 10 * time.Minute})
		older, brief := acquire(t, p, "older", 5), acquire(t, p, "brief", 1)
		time.Sleep(20 * time.Second)
		large := make(chan pool.Lease, 1)
		go func() {
			if l, err := p.Acquire(t.Context(), "large", v(10)); err == nil {
				large <- l
			}
		}()
		synctest.Wait()
		time.Sleep(time.Minute)
		release(t, brief)
		newer := acquire(t, p, "newer", 5)
		time.Sleep(time.Minute)
		release(t, older)
		time.Sleep(time.Minute)
		other, ok := p.TryAcquire("other", v(5))
		require.True(t, ok, "the large one has waited for three minutes")
		release(t, other, newer)
		synctest.Wait()
		require.Len(t, large, 1)
	})
}

// A long queue makes each of its requests wait for longer than the patience. That is
// no claim to room before tenants that are ahead in the order.
func TestPatience_DoesNotServeTheLongerQueueFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(2)) // with a patience of one second
		heavy := &load{tenant: tenant(t, p, "heavy", pool.Settings{Weight: 10}), need: v(1), length: 50 * time.Millisecond, workers: 8}
		light := &load{tenant: tenant(t, p, "light"), need: v(1), length: 50 * time.Millisecond, workers: 8}
		run(t, 100*time.Second, heavy, light)
		require.InDelta(t, 10, advantage([]*load{heavy, light}), 1)
	})
}

// Names that are used once are behind a large request in the order, however short
// their wait.
func TestPatience_NewTenantsDoNotHoldUpALargeRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(4))
		var wg sync.WaitGroup
		for i := range 600 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 100 * time.Millisecond)
				l, err := p.Acquire(t.Context(), fmt.Sprint(i), v(1))
				require.NoError(t, err)
				time.Sleep(450 * time.Millisecond)
				release(t, l)
			})
		}
		time.Sleep(5 * time.Second)
		start := time.Now()
		l, err := p.Acquire(t.Context(), "large", v(4))
		require.NoError(t, err)
		require.Less(t, time.Since(start), 5*time.Second)
		release(t, l)
		wg.Wait()
	})
}

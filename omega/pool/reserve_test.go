package pool_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
)

// Room is kept back in the kinds and amounts that are waited for, no more.
func TestAcquire_KeepsBackOnlyWhatIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: []omega.Machine{{Name: "host", Capacity: v(8, 20)}}})
		reports, web := acquire(t, p, "reports", 0, 12), acquire(t, p, "web", 1)
		etl := queue(t, p, "etl", v(1, 12))
		more := arrived(queue(t, p, "web", v(6)))
		require.NotNil(t, more, "one CPU is left for who waits for connections")
		_, err := p.TryAcquire("web", v(1))
		require.ErrorIs(t, err, pool.ErrNoRoom, "and not to be had")
		third := queue(t, p, "web", v(1))
		require.Contains(t, p.Waiters()[1].Reason, "kept back for a tenant whose turn is before")
		release(t, reports)
		l := arrived(etl)
		require.NotNil(t, l)
		require.Nil(t, arrived(third))
		release(t, more)
		release(t, arrived(third), l, web)
	})
}

// What is kept back for a waiter is near its data, if it insists on that.
func TestAcquire_KeepsBackNearTheData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4, 4), Delay: delay.Policy{Waits: delay.Waits{time.Hour}}})
		var small []*pool.Lease
		for range 8 {
			small = append(small, acquire(t, p, "small", 1))
		}
		large := queue(t, p, "large", v(4), 1)
		again := queue(t, p, "small", v(1))
		release(t, small[4]) // on node 1
		require.Nil(t, arrived(again))
		release(t, small[0]) // on node 0
		l := arrived(again)
		require.NotNil(t, l)
		require.Zero(t, l.Node())
		release(t, small[5:]...)
		release(t, arrived(large), l)
		release(t, small[1:4]...)
	})
}

// A waiter that gives up takes what was kept back for it along.
func TestAcquire_CancelledKeepsNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4)})
		held := acquire(t, p, "a", 2)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = p.Acquire(ctx, "b", v(4)) }()
		synctest.Wait()
		_, err := p.TryAcquire("c", v(2))
		require.ErrorIs(t, err, pool.ErrNoRoom)
		cancel()
		synctest.Wait()
		release(t, acquire(t, p, "c", 2), held)
		require.EqualValues(t, 1, p.Stats().Tenants[1].Cancelled)
	})
}

// Room that is no longer kept back wakes who waits for its data there.
func TestAcquire_IsWokenWhenNearRoomIsNoLongerKeptBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := near(t, time.Hour)
		cfg.Machines = machines(4, 4, 2)
		p := newPool(t, cfg)
		first, second, third := acquire(t, p, "x", 2), acquire(t, p, "x", 2), acquire(t, p, "x", 3)
		other := acquire(t, p, "b", 2)
		release(t, first)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = p.Acquire(ctx, "a", v(4)) }() // node 0 is kept back for it
		synctest.Wait()
		release(t, other)
		got := queue(t, p, "c", v(2), 0)
		require.Nil(t, arrived(got))
		cancel()
		l := arrived(got)
		require.NotNil(t, l)
		require.Zero(t, l.Node())
		release(t, l, second, third)
	})
}

func TestAcquire_LargeNeedsDoNotStarve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4, 4)})
		// One tenant keeps all places taken: before a lease ends, the next waits.
		var held []*pool.Lease
		for range 8 {
			held = append(held, acquire(t, p, "small", 1))
		}
		large := queue(t, p, "large", v(4))
		require.Equal(t, "needs cpu=4m, missing cpu=4m on node 0, the nearest to that", p.Waiters()[0].Reason)
		var small []<-chan *pool.Lease
		for i, l := range held {
			require.EqualValues(t, i/4, l.Node())
			small = append(small, queue(t, p, "small", v(1)))
			release(t, l)
			// What becomes free on node 0 is held back, the rest is not.
			if i == 3 {
				l := arrived(large)
				require.NotNil(t, l)
				defer release(t, l)
			}
			require.Equal(t, min(i+2, 4), p.Stats().Waiting, i)
		}
		for _, next := range small[:4] {
			defer release(t, arrived(next))
		}
		// The rest have their turn once large has ended.
		go func() {
			for _, next := range small[4:] {
				_ = (<-next).Release()
			}
		}()
	})
}

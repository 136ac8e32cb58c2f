package pool_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// A need that can never be met is refused as such also where the queue is full.
func TestRefusal_TellsWhatIsPermanentFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(1))
		n := tenant(t, p, "a", pool.Settings{Queue: 1})
		held := acquire(t, p, "a", 1)
		got := queue(t, p, "a", v(1))
		synctest.Wait()
		_, err := n.Acquire(t.Context(), v(5))
		require.ErrorIs(t, err, pool.ErrNeed)
		require.NotErrorIs(t, err, pool.ErrQueueFull)
		require.ErrorIs(t, n.Go(t.Context(), v(5), func(context.Context, pool.Lease) error { return nil }), pool.ErrNeed)
		_, err = n.Acquire(t.Context(), v(1))
		require.ErrorIs(t, err, pool.ErrQueueFull)
		s := p.Stats().Tenants[0]
		require.EqualValues(t, 2, s.Never)
		require.EqualValues(t, 1, s.QueueFull)
		release(t, held)
		release(t, arrived(got))
	})
}

// Each refused TryAcquire is counted once, by its reason, and told of.
func TestTryAcquire_CountsEachRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(2))
		events := p.Subscribe(100)
		n := tenant(t, p, "a", pool.Settings{Limit: v(2, 2), Limited: true})
		held := acquire(t, p, "b", 2)
		refused := func(need resources.Vector) {
			t.Helper()
			_, ok := n.TryAcquire(need)
			require.False(t, ok)
		}
		refused(v(1)) // no room
		got := queue(t, p, "a", v(1))
		synctest.Wait()
		refused(v(1))    // a request of its own waits
		refused(v(3))    // more than any machine has
		refused(v(0))    // nothing
		refused(v(1, 3)) // of a kind that no machine has
		s := p.Stats().Tenants[0]
		require.Equal(t, "a", s.Name)
		require.EqualValues(t, 2, s.NoRoom)
		require.EqualValues(t, 3, s.Never)
		release(t, held)
		release(t, arrived(got))
		events.Close()
		var told []error
		for e := range events.Events() {
			if e.Err != nil {
				told = append(told, e.Err)
			}
		}
		require.Len(t, told, 5)
		for i, want := range []error{omega.ErrNoRoom, omega.ErrNoRoom, pool.ErrNeed, pool.ErrNeed, pool.ErrNeed} {
			require.ErrorIs(t, told[i], want)
		}
	})
}

// The bound of the tenant holds for requests with a longer one, too.
func TestRequest_WaitsNoLongerThanItsTenantAllows(t *testing.T) {
	for _, most := range []time.Duration{0, time.Second, 5 * time.Second, 20 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, oneMachine(1))
			n := tenant(t, p, "a", pool.Settings{MaxWait: 5 * time.Second})
			held := acquire(t, p, "b", 1)
			since := time.Now()
			_, err := n.Request(t.Context(), pool.Request{Needs: needs(1), MaxWait: most})
			require.ErrorIs(t, err, pool.ErrWait)
			want := 5 * time.Second
			if most == time.Second {
				want = most
			}
			require.Equal(t, want, time.Since(since))
			release(t, held)
		})
	}
}

// A program that tests its own handling of errors makes one of these.
func TestWaitError_CanBeMadeByAnyone(t *testing.T) {
	for _, e := range []*pool.WaitError{{}, {Tenant: "a", Need: v(1), Waited: time.Second}} {
		require.Contains(t, e.Error(), "pool: request of")
		require.Zero(t, e.RetryAfter())
		require.NoError(t, e.Unwrap())
		require.NotErrorIs(t, e, pool.ErrWait)
	}
}

// What is counted for the tenants of a group is counted for the group.
func TestStats_AddUpTheTenantsOfAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(4))
		org := tenant(t, p, "org")
		team, err := org.Tenant("team")
		require.NoError(t, err)
		one, err := team.Tenant("one")
		require.NoError(t, err)
		two, err := org.Tenant("two")
		require.NoError(t, err)
		var held []pool.Lease
		for _, n := range []*pool.Tenant{one, one, two} {
			l, ok := n.TryAcquire(v(1))
			require.True(t, ok)
			held = append(held, l)
		}
		other := acquire(t, p, "other", 1)
		done := make(chan error, 2)
		for _, n := range []*pool.Tenant{one, two} {
			go func() {
				l, err := n.Acquire(t.Context(), v(1))
				done <- errors.Join(err, l.Release())
			}()
		}
		_, ok := two.TryAcquire(v(1))
		require.False(t, ok)
		time.Sleep(time.Second)
		stats := map[string]pool.TenantStats{}
		for _, s := range p.Stats().Tenants {
			stats[s.Name] = s
		}
		require.Equal(t, 3, stats["org"].Leases)
		require.Equal(t, 2, stats["org/team"].Leases)
		require.Equal(t, 2, stats["org"].Waiting)
		require.Equal(t, 1, stats["org/team"].Waiting)
		require.EqualValues(t, 3, stats["org"].Granted)
		require.EqualValues(t, 1, stats["org"].NoRoom)
		require.EqualValues(t, 0, stats["org/team"].NoRoom)
		require.Nil(t, stats["org"].Waits)
		release(t, other)
		require.NoError(t, <-done)
		require.NoError(t, <-done)
		for _, s := range p.Stats().Tenants {
			if s.Name == "org" {
				require.Equal(t, 2*time.Second, s.Waited)
				require.EqualValues(t, 2, s.Waits[20], "one second is between 2^19 and 2^20 microseconds")
				require.Equal(t, []uint64{5}, s.ByLevel)
			}
		}
		release(t, held...)
	})
}

// Shutdown tells how many errors of tasks it does not name.
func TestShutdown_CountsTheErrorsThatItLeavesOut(t *testing.T) {
	p := newPool(t, oneMachine(1))
	n := tenant(t, p, "a")
	for range 20 {
		require.NoError(t, n.Go(t.Context(), v(1), func(context.Context, pool.Lease) error { return errors.New("broken") }))
	}
	err := p.Shutdown(t.Context())
	require.ErrorContains(t, err, "task of \"a\": broken")
	require.ErrorContains(t, err, "pool: 4 more tasks failed")
}

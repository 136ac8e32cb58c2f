package pool_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
)

// request asks with a priority, and returns whether it has got its lease, which is
// released at the end of the test. To be called in a synctest bubble.
func request(t *testing.T, n *pool.Tenant, priority int, units ...int64) (granted func() bool) {
	t.Helper()
	got, end := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(end) })
	go func() {
		leases, err := n.Request(t.Context(), pool.Request{Needs: needs(units...), Priority: priority})
		if err != nil {
			return
		}
		close(got)
		<-end
		for _, l := range leases {
			_ = l.Release()
		}
	}()
	synctest.Wait()
	return func() bool {
		synctest.Wait()
		select {
		case <-got:
			return true
		default:
			return false
		}
	}
}

// All that a guarantee covers is taken back at once, however many requests that is.
func TestGuarantee_OfAHundredRequestsIsTakenBackAtOnce(t *testing.T) {
	for _, strict := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, oneMachine(150))
			a := tenant(t, p, "a", pool.Settings{Guarantee: v(120), Strict: strict})
			held := take(t, tenant(t, p, "b"), 150, 1)
			var starts []func() bool
			for range 130 {
				starts = append(starts, submit(t, a, 1))
			}
			synctest.Wait()
			gone := preempted(held)
			require.Len(t, gone, 120)
			release(t, gone...)
			require.True(t, starts[119]())
			require.False(t, starts[120]())
		})
	}
}

// So it is where many requests wait when the guarantee is set, which takes several steps,
// and where the leases are on many machines.
func TestGuarantee_ThatIsSetIsTakenBackForAllThatWait(t *testing.T) {
	for _, count := range []int{1, 30} {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, pool.Config{Machines: machines(repeat(int64(300/count), count)...), Patience: -1})
			g := tenant(t, p, "g")
			held := take(t, tenant(t, p, "b"), 300, 1)
			var starts []func() bool
			for i := range 240 {
				starts = append(starts, submit(t, within(t, g, fmt.Sprint(i%2)), 1))
			}
			require.NoError(t, g.Set(pool.Settings{Guarantee: v(200)}))
			synctest.Wait()
			gone := preempted(held)
			require.Len(t, gone, 200)
			release(t, gone...)
			running := 0
			for _, started := range starts {
				if started() {
					running++
				}
			}
			require.Equal(t, 200, running)
		})
	}
}

// Within a tenant the room that a guarantee takes back goes to the higher priority,
// also if the lower one came first and was promised it.
func TestGuarantee_GoesToTheHigherPriorityOfTheTenant(t *testing.T) {
	for name, c := range map[string]struct {
		before, after pool.Settings
		low, high     int64
		first         bool // whether the higher one is served with the room
	}{
		"a guarantee before":       {pool.Settings{Guarantee: v(1)}, pool.Settings{Guarantee: v(1)}, 1, 1, true},
		"a guarantee after":        {pool.Settings{}, pool.Settings{Guarantee: v(1)}, 1, 1, true},
		"a smaller need":           {pool.Settings{Guarantee: v(3)}, pool.Settings{Guarantee: v(3)}, 3, 2, true},
		"a need that does not fit": {pool.Settings{Guarantee: v(2)}, pool.Settings{Guarantee: v(2)}, 2, 3, false},
		"at a limit": {
			pool.Settings{Guarantee: v(1), Limit: v(1), Limited: true}, pool.Settings{Guarantee: v(1), Limit: v(1), Limited: true}, 1, 1, true,
		},
		"at a rate": {pool.Settings{Guarantee: v(1), Rate: 0.001}, pool.Settings{Guarantee: v(1), Rate: 0.001}, 1, 1, true},
		"strict":    {pool.Settings{Guarantee: v(1), Strict: true}, pool.Settings{Guarantee: v(1), Strict: true}, 1, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, oneMachine(4))
				a := tenant(t, p, "a", c.before)
				held := take(t, tenant(t, p, "b"), 4, 1)
				low := request(t, a, 0, c.low)
				time.Sleep(time.Millisecond)
				high := request(t, a, 1, c.high)
				require.NoError(t, a.Set(c.after))
				gone := preempted(held)
				release(t, gone...)
				require.Equal(t, c.first, high())
				require.Equal(t, !c.first, low())
				require.LessOrEqual(t, p.Stats().Machines[0].Reserved[0], int64(1))
			})
		})
	}
}

// Within a group it goes to the tenant of the higher class, through groups of groups.
func TestGuarantee_OfAGroupGoesToTheHigherClass(t *testing.T) {
	for _, later := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, oneMachine(4))
			s := pool.Settings{Guarantee: v(2)}
			g := tenant(t, p, "g")
			if later { // than the guarantee
				require.NoError(t, g.Set(s))
			}
			x, inner := within(t, g, "x", pool.Settings{Priority: 1}), within(t, g, "inner", pool.Settings{Priority: 2})
			low, high := within(t, inner, "low"), within(t, inner, "high", pool.Settings{Priority: 1})
			held := take(t, tenant(t, p, "b"), 4, 1)
			var starts []func() bool
			for _, n := range []*pool.Tenant{x, low, high, high} {
				starts = append(starts, submit(t, n, 1))
				time.Sleep(time.Millisecond)
			}
			require.NoError(t, g.Set(s))
			synctest.Wait()
			gone := preempted(held)
			require.Len(t, gone, 2)
			release(t, gone...)
			for i, want := range []bool{false, false, true, true} {
				require.Equal(t, want, starts[i](), i)
			}
			release(t, held[0])
			require.True(t, starts[1]())
			require.False(t, starts[0]())
		})
	}
}

// A task of a strict tenant that is over does not hold up the one behind it, for which
// room was taken back.
func TestGuarantee_OfAStrictTenantPassesATaskThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(4))
		a := tenant(t, p, "a", pool.Settings{Guarantee: v(2), Strict: true})
		held := take(t, tenant(t, p, "b"), 4, 1)
		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, a.Go(ctx, v(3), func(context.Context, pool.Lease) error { return nil }))
		second := submit(t, a, 2)
		require.Empty(t, preempted(held))
		cancel()
		require.NoError(t, p.ResizeMachine("m0", v(4, 4))) // looks again
		gone := preempted(held)
		require.Len(t, gone, 2)
		release(t, gone...)
		require.True(t, second())
		require.EqualValues(t, 1, p.Stats().Tenants[0].Cancelled)
	})
}

// Room that was taken back for a task that is over goes to others, although there is no
// token to start it.
func TestGuarantee_ForATaskThatIsOverGoesToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4), Patience: -1, Grace: 2 * time.Hour})
		a := tenant(t, p, "a", pool.Settings{Guarantee: v(2), Rate: 1.0 / 3600})
		held := take(t, tenant(t, p, "b"), 4, 1)
		first := submit(t, a, 1)
		time.Sleep(time.Hour + time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, a.Go(ctx, v(1), func(context.Context, pool.Lease) error { return nil }))
		gone := preempted(held)
		require.Len(t, gone, 2)
		release(t, gone[1])
		require.True(t, first())
		cancel()
		other := submit(t, tenant(t, p, "o"), 1)
		require.False(t, other())
		release(t, gone[0])
		require.True(t, other())
	})
}

// A token that comes while the holders of other promises are late lets another request
// have room taken back.
func TestGuarantee_GoesOnWithTheNextTokenBesideALateHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(10), Patience: -1, Grace: 40 * time.Minute})
		a := tenant(t, p, "a", pool.Settings{Guarantee: v(5), Rate: 1.0 / 3600, Burst: 2})
		held := take(t, tenant(t, p, "b"), 10, 1)
		for range 3 {
			submit(t, a, 1)
		}
		require.Len(t, preempted(held), 2)
		time.Sleep(100 * time.Minute) // two graces
		require.Len(t, preempted(held), 6, "two tokens, two promises")
		release(t, held[9])
		time.Sleep(19 * time.Minute)
		require.Len(t, preempted(held), 6, "one token, one promise")
		time.Sleep(2 * time.Minute)
		require.Len(t, preempted(held), 8, "the third grace, and the next token")
	})
}

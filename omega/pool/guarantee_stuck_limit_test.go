package pool_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
)

// A late lease of a group at its limit makes way for no promise there any more: another
// lease in the group does.
func TestGuarantee_InAGroupAtItsLimitPassesALateLease(t *testing.T) {
	for name, units := range map[string][]int64{"beside free room": {12}, "on a full machine": {6}, "on two machines": {3, 3}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, pool.Config{Machines: machines(units...), Grace: time.Second, Patience: -1})
				g := tenant(t, p, "g", limited(6, 0))
				a, b := within(t, g, "a"), within(t, g, "b", pool.Settings{Guarantee: v(2)})
				held := take(t, a, 6, 1)
				first, second := submit(t, b, 1), submit(t, b, 1)
				gone := preempted(held)
				require.Len(t, gone, 2)
				release(t, gone[1])
				require.NotEqual(t, first(), second())
				time.Sleep(time.Second + time.Nanosecond)
				synctest.Wait()
				held = slices.DeleteFunc(held, func(l pool.Lease) bool { return slices.Contains(gone, l) })
				more := preempted(held)
				require.Len(t, more, 1)
				require.Equal(t, gone[:1], overdue(t, p, gone[0]))
				release(t, more...)
				require.True(t, first() && second())
				require.EqualValues(t, 6, heldBy(t, p, "g"))
				release(t, gone[0])
				require.EqualValues(t, 5, heldBy(t, p, "g"))
				last := submit(t, a, 1)
				require.True(t, last())
			})
		})
	}
}

// A request that is out of reach behind limits is looked at again when a late lease
// in the group is released.
func TestGuarantee_BehindALimitGoesOnAfterALateRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4, 4), Grace: time.Second, Patience: -1})
		g := tenant(t, p, "g", limited(3, 0))
		late := take(t, within(t, g, "a"), 1, 3)
		held := take(t, tenant(t, p, "x"), 5, 1)
		for _, l := range held {
			require.NoError(t, l.Context().Err())
		}
		runs := submit(t, within(t, g, "b", pool.Settings{Guarantee: v(3)}), 3)
		time.Sleep(time.Minute)
		require.Equal(t, late, overdue(t, p, late...))
		require.False(t, runs())
		release(t, late...)
		for _, l := range preempted(held) {
			release(t, l)
		}
		require.True(t, runs())
	})
}

// So it is where the room takes another preemption then.
func TestGuarantee_BehindALimitPreemptsAgainAfterALateRelease(t *testing.T) {
	for name, leave := range map[string]func(pool.Lease) error{
		"by its release": pool.Lease.Release,
		"as it shrinks":  func(l pool.Lease) error { return l.Resize(v(0, 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, pool.Config{Machines: machines(4), Grace: time.Second, Patience: -1})
				g := tenant(t, p, "g", limited(3, 0))
				late := take(t, within(t, g, "a"), 1, 2, 1)
				x := tenant(t, p, "x")
				held := take(t, x, 2, 1)
				runs := submit(t, within(t, g, "b", pool.Settings{Guarantee: v(3)}), 3)
				require.Equal(t, held[1:], preempted(held))
				release(t, held[1])
				time.Sleep(time.Minute)
				again := take(t, x, 1, 1)
				require.Equal(t, late, overdue(t, p, late...))
				require.NoError(t, leave(late[0]))
				require.Equal(t, again, preempted(again))
				release(t, again...)
				require.True(t, runs())
				require.EqualValues(t, 3, heldBy(t, p, "g"))
			})
		})
	}
}

// So it is where another lease in the group has to make way, too.
func TestGuarantee_BehindALimitPreemptsInTheGroupAfterALateRelease(t *testing.T) {
	for name, leave := range map[string]func(pool.Lease) error{
		"by its release": pool.Lease.Release,
		"as it shrinks":  func(l pool.Lease) error { return l.Resize(v(0, 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, pool.Config{Machines: machines(8), Grace: time.Second, Patience: -1})
				g := tenant(t, p, "g", limited(3, 0))
				late, c := take(t, within(t, g, "a"), 1, 2, 1), within(t, g, "c")
				held := take(t, c, 1, 1)
				runs := submit(t, within(t, g, "b", pool.Settings{Guarantee: v(3)}), 3)
				require.Equal(t, held, preempted(held))
				release(t, held...)
				time.Sleep(time.Minute)
				again := take(t, c, 1, 1)
				release(t, acquire(t, p, "other", 1)) // looks, and finds nothing
				require.Empty(t, preempted(again))
				require.NoError(t, leave(late[0]))
				require.Equal(t, again, preempted(again))
				release(t, again...)
				require.True(t, runs())
			})
		})
	}
}

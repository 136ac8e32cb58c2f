package pool_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
)

// Within the limit of a group each request waits for the holders of its own leases: what
// those of another release is for that one.
func TestGuarantee_WithinALimitDoesNotStartWithWhatAnotherIsPromised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(20)) // with free room beside the group
		g := tenant(t, p, "g", limited(6, 6))
		a, b := within(t, g, "a"), within(t, g, "b", pool.Settings{Guarantee: v(4)})
		held := take(t, a, 6, 1)
		large := submit(t, b, 3)
		synctest.Wait()
		ofLarge := preempted(held)
		require.Len(t, ofLarge, 3)
		small := submit(t, b, 1)
		synctest.Wait()
		require.Len(t, preempted(held), 4)
		release(t, ofLarge[:2]...)
		require.False(t, small(), "the limit has room, which is promised to the other")
		require.False(t, large())
		release(t, ofLarge[2])
		require.True(t, large())
		require.False(t, small(), "its own holder is late")
		release(t, preempted(held[:3])...)
		require.True(t, small())
	})
}

// A request of a strict tenant that goes before one that is promised room frees that
// room for others at once.
func TestGuarantee_OfAStrictTenantIsWithdrawnByARequestBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(4))
		a := tenant(t, p, "a", pool.Settings{Guarantee: v(2), Strict: true})
		held := take(t, tenant(t, p, "b"), 3, 1)
		second := submit(t, a, 2)
		require.False(t, second())
		require.Len(t, preempted(held), 1)
		other := submit(t, tenant(t, p, "o"), 1)
		require.False(t, other(), "the free unit is promised")
		first := request(t, a, 1, 3) // more than is guaranteed
		require.False(t, first())
		require.True(t, other())
		require.Zero(t, p.Stats().Machines[0].Reserved)
		require.False(t, second())
	})
}

// For a limit leases are preempted that hold some of what is over it. Those that hold
// other kinds alone are as safe as without the limit.
func TestGuarantee_AtALimitSparesLeasesOfOtherKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(10))
		g := tenant(t, p, "g", limited(4, 0))
		owed, c := within(t, g, "owed", pool.Settings{Guarantee: v(1, 2)}), within(t, g, "c")
		cpu := take(t, c, 4, 1)
		memory := take(t, c, 1, 0, 2)                 // the latest of its tenant
		others := take(t, tenant(t, p, "o"), 2, 0, 4) // which holds more
		start := submit(t, owed, 1, 2)
		require.False(t, start())
		require.Empty(t, preempted(memory))
		require.Equal(t, cpu[3:], preempted(cpu))
		require.Equal(t, others[1:], preempted(others))
		release(t, cpu[3], others[1])
		require.True(t, start())
	})
}

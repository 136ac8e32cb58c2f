package pool_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
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

// A request that takes over what another was promised waits for the holders of those
// leases, and goes before promises that other holders keep late.
func TestGuarantee_ThatIsTakenOverIsKeptByTheSameHolders(t *testing.T) {
	t.Run("within a limit", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, oneMachine(20))
			g := tenant(t, p, "g", limited(6, 6))
			a, b := within(t, g, "a"), within(t, g, "b", pool.Settings{Guarantee: v(4)})
			held := take(t, a, 6, 1)
			large := request(t, b, 2, 3)
			ofLarge := preempted(held)
			low := request(t, b, 0, 1)
			require.Len(t, preempted(held), 4)
			high := request(t, b, 1, 1)
			require.Len(t, preempted(held), 4)
			release(t, ofLarge[:2]...)
			require.False(t, high())
			release(t, preempted(held[:3])...)
			require.True(t, high())
			require.False(t, low())
			require.False(t, large())
			release(t, ofLarge[2])
			require.True(t, large())
		})
	})
	t.Run("beside a late holder", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, oneMachine(4))
			a, c := tenant(t, p, "a", pool.Settings{Guarantee: v(1)}), tenant(t, p, "c", pool.Settings{Guarantee: v(1)})
			held := take(t, tenant(t, p, "b"), 4, 1)
			other := submit(t, c, 1)
			synctest.Wait()
			late := preempted(held)
			require.Len(t, late, 1)
			request(t, a, 0, 1)
			high := request(t, a, 1, 1)
			require.Len(t, preempted(held), 2)
			release(t, preempted(held[:3])...)
			require.True(t, high())
			require.False(t, other())
			release(t, late...)
			require.True(t, other())
		})
	})
}

// A promise that is taken back leaves its part of a limit to others at once.
func TestGuarantee_ThatGoesToANarrowerOneLeavesTheLimitToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(3, 1), Patience: -1})
		g := tenant(t, p, "g", pool.Settings{Guarantee: v(3), Limit: v(3, 100), Limited: true})
		wide, narrow := within(t, g, "wide"), within(t, g, "narrow", pool.Settings{Guarantee: v(1)})
		held := take(t, tenant(t, p, "b"), 3, 1)
		for _, l := range held {
			require.Equal(t, "m0", l.Machine())
		}
		first := request(t, wide, 0, 3)
		require.Len(t, preempted(held), 3)
		other := submit(t, within(t, g, "other"), 1)
		require.False(t, other(), "the limit is promised")
		go func() {
			l, err := narrow.Request(t.Context(), pool.Request{Needs: needs(1), Prefer: []locality.Node{0}, Required: true})
			if err == nil {
				_ = l[0].Release()
			}
		}()
		require.True(t, other(), "two of three units are left")
		require.False(t, first())
		release(t, held...)
	})
}

// A request that is promised room starts in other room that comes, although its tenant
// has no token but the one that is promised.
func TestGuarantee_StartsInOtherRoomThatComes(t *testing.T) {
	for name, units := range map[string][]int64{"one need": {1}, "several": {1, 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, oneMachine(4))
				a := tenant(t, p, "a", pool.Settings{Guarantee: v(2), Rate: 1.0 / 3600})
				held := take(t, tenant(t, p, "b"), 4, 1)
				first := request(t, a, 0, units...)
				require.Len(t, preempted(held), len(units))
				_, err := p.AddMachine(omega.Machine{Name: "new", Capacity: v(2)})
				require.NoError(t, err)
				require.True(t, first())
				require.Zero(t, p.Stats().Machines[0].Reserved)
			})
		})
	}
}

// Several needs of a tenant of a higher class go before one need of a lower class that
// came first, also through groups of groups.
func TestGuarantee_OfAGroupGoesToSeveralNeedsOfTheHigherClass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(6))
		g := tenant(t, p, "g")
		inner, beside := within(t, g, "inner"), within(t, g, "beside")
		low, high := within(t, inner, "low"), within(t, inner, "high", pool.Settings{Priority: 1})
		held := take(t, tenant(t, p, "b"), 6, 1)
		var waits []func() bool
		for i, n := range []*pool.Tenant{low, high, beside} {
			waits = append(waits, request(t, n, 0, [][]int64{{2}, {1, 1}, {1}}[i]...))
			time.Sleep(time.Millisecond)
		}
		require.NoError(t, g.Set(pool.Settings{Guarantee: v(3)}))
		synctest.Wait()
		gone := preempted(held)
		require.Len(t, gone, 3)
		release(t, gone...)
		for i, want := range []bool{false, true, true} {
			require.Equal(t, want, waits[i](), i)
		}
	})
}

// For a limit several needs preempt no leases of other kinds either.
func TestGuarantee_OfSeveralNeedsSparesLeasesOfOtherKindsAtALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(10))
		g := tenant(t, p, "g", limited(4, 0))
		owed, c := within(t, g, "owed", pool.Settings{Guarantee: v(1, 2)}), within(t, g, "c")
		cpu := take(t, c, 4, 1)
		memory := take(t, c, 1, 0, 2)
		others := take(t, tenant(t, p, "o"), 2, 0, 4)
		var granted []pool.Lease
		go func() {
			granted, _ = owed.Request(t.Context(), pool.Request{Needs: []resources.Vector{v(1, 1), v(0, 1)}})
		}()
		synctest.Wait()
		require.Empty(t, preempted(memory))
		require.Len(t, preempted(cpu), 1)
		require.Equal(t, others[1:], preempted(others))
		release(t, cpu[3], others[1])
		synctest.Wait()
		require.Len(t, granted, 2)
		release(t, granted...)
	})
}

// Leases of a group that are preempted leave more of its limit than is promised. No
// request takes it before they are released.
func TestGuarantee_WithinALimitLeavesNoMoreThanIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(20))
		g := tenant(t, p, "g", limited(4, 0))
		held := take(t, within(t, g, "c"), 2, 2)
		owed := submit(t, within(t, g, "b", pool.Settings{Guarantee: v(1)}), 1)
		require.False(t, owed())
		gone := preempted(held)
		require.Len(t, gone, 1)
		other := submit(t, within(t, g, "o"), 1)
		require.False(t, other())
		release(t, gone...)
		require.True(t, owed())
		require.True(t, other())
		require.EqualValues(t, 4, heldBy(t, p, "g"))
	})
}

// A lease that is preempted and shrinks leaves less when it is released.
func TestGuarantee_WithinALimitCountsWhatAPreemptedLeaseHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(20))
		g := tenant(t, p, "g", limited(4, 0))
		c := within(t, g, "c")
		large, small := take(t, c, 1, 3)[0], take(t, c, 1, 1)[0]
		b := within(t, g, "b", pool.Settings{Guarantee: v(4)})
		first := submit(t, b, 2)
		require.False(t, first())
		require.Error(t, large.Context().Err())
		require.NoError(t, small.Context().Err())
		require.NoError(t, large.Resize(v(2)))
		second := submit(t, b, 2)
		require.False(t, second())
		require.Error(t, small.Context().Err(), "two and one are held, two are promised, and two more")
		release(t, large, small)
		require.True(t, first())
		require.True(t, second())
		require.EqualValues(t, 4, heldBy(t, p, "g"))
	})
}

// A request that a limit kept out, whatever was preempted, has room taken back as soon as
// there are leases within the limit that are not safe.
func TestGuarantee_AtALimitIsTakenBackOnceLeasesAreNotSafe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(20))
		g := tenant(t, p, "g", limited(4, 0))
		safe := take(t, within(t, g, "high", pool.Settings{Priority: 1}), 4, 1)
		owed := submit(t, within(t, g, "b", pool.Settings{Guarantee: v(3)}), 3)
		require.False(t, owed())
		release(t, safe[:2]...)
		low := take(t, within(t, g, "low"), 2, 1)
		require.False(t, owed())
		require.Empty(t, preempted(low), "two units are too few")
		release(t, safe[2])
		require.False(t, owed())
		require.Len(t, preempted(low), 2)
		release(t, low...)
		require.True(t, owed())
	})
}

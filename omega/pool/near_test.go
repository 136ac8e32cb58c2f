package pool_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

func TestRequest_WaitsForDataLevelByLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, near(t, time.Second))
		n := tenant(t, p, "a")
		lease := func(prefer ...locality.Node) (pool.Lease, time.Duration) {
			start := time.Now()
			l, err := n.Request(t.Context(), pool.Request{Needs: []resources.Vector{v(1)}, Prefer: prefer})
			require.NoError(t, err)
			return l[0], time.Since(start)
		}
		l0, waited := lease(0)
		require.Zero(t, waited)
		require.EqualValues(t, 0, l0.Node())
		l1, waited := lease(0)
		require.Equal(t, time.Second, waited, "then a machine in the same rack will do")
		require.EqualValues(t, 1, l1.Level())
		l2, waited := lease(0)
		require.Equal(t, 3*time.Second, waited, "then any")
		require.EqualValues(t, 2, l2.Level())
		l3, waited := lease()
		require.Zero(t, waited, "a request without preference waits for none")
		release(t, l0, l1, l2, l3)
		require.Equal(t, []uint64{2, 1, 1}, p.Stats().Tenants[0].ByLevel)
	})
}

func TestRequest_WaitingForDataGivesTheTurnAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, near(t, time.Hour))
		l0 := acquire(t, p, "a", 1)
		far := queue(t, p, "b", v(1), 0)
		require.Equal(t, pool.Lease{}, arrived(far))
		require.Equal(t, `there is room, but at level "rack" from what it prefers; "rack" will do in 1h0m0s`, p.Waiters()[0].Reason)
		// Another tenant, and another request of the same tenant with its data where the
		// room is, go first.
		l1 := arrived(queue(t, p, "c", v(1)))
		l2 := arrived(queue(t, p, "b", v(1), 2))
		require.NotEqual(t, pool.Lease{}, l1)
		require.EqualValues(t, 2, l2.Node())
		release(t, l0)
		local := arrived(far)
		require.EqualValues(t, 0, local.Node())
		release(t, local, l1, l2)
	})
}

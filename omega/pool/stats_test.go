package pool_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

func TestWaiters_SayWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		space, err := resources.NewSpace(resources.Dimension{Name: "cpu"}, resources.Dimension{Name: "conns"})
		require.NoError(t, err)
		p := newPool(t, pool.Config{Space: space, Machines: machines(4, 8)})
		l := acquire(t, p, "a", 5)
		first, second := queue(t, p, "b", v(6)), queue(t, p, "b", v(1))
		waiters := p.Waiters()
		require.Len(t, waiters, 2)
		require.Equal(t, "needs cpu=6, missing cpu=3 on node 1, the nearest to that", waiters[0].Reason)
		require.Equal(t, "behind 1 of its tenant", waiters[1].Reason)
		release(t, l)
		l = arrived(first)
		release(t, l, arrived(second))
	})
}

// Names that are used once do not add up for ever; those with a weight stay.
func TestTenants_IdleOnesAreForgotten(t *testing.T) {
	p := newPool(t, pool.Config{Machines: machines(4)})
	require.NoError(t, p.SetWeight("known", 2))
	for i := range 10_000 {
		release(t, acquire(t, p, fmt.Sprint("customer-", i), 1))
	}
	tenants := p.Stats().Tenants
	require.Less(t, len(tenants), 1100)
	require.Equal(t, "known", tenants[len(tenants)-1].Name)
}

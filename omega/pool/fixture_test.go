package pool_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func v(q ...int64) (out resources.Vector) {
	copy(out[:], q)
	return out
}

// machines returns one machine for each capacity of its first kind.
func machines(capacities ...int64) (out []omega.Machine) {
	for i, c := range capacities {
		out = append(out, omega.Machine{Name: fmt.Sprint("m", i), Capacity: v(c, c)})
	}
	return out
}

// near is a policy and a topology for two racks of two machines.
func near(tb testing.TB, wait time.Duration) pool.Config {
	tb.Helper()
	topology, err := locality.New(locality.Config{
		Levels: []string{"node", "rack", "any"}, Nodes: []string{"r0", "r0", "r1", "r1"},
	})
	require.NoError(tb, err)
	return pool.Config{
		Machines: machines(1, 1, 1, 1), Topology: topology, Delay: delay.Policy{Waits: delay.Waits{wait, 2 * wait}},
	}
}

func newPool(tb testing.TB, cfg pool.Config) *pool.Pool {
	tb.Helper()
	p, err := pool.New(cfg)
	require.NoError(tb, err)
	return p
}

func acquire(tb testing.TB, p *pool.Pool, tenant string, need ...int64) pool.Lease {
	tb.Helper()
	l, ok := p.TryAcquire(tenant, v(need...))
	require.True(tb, ok)
	return l
}

func tenant(tb testing.TB, p *pool.Pool, name string, s ...pool.Settings) *pool.Tenant {
	tb.Helper()
	t, err := p.Tenant(name, s...)
	require.NoError(tb, err)
	return t
}

// queue starts an Acquire that has to wait, and returns where its lease
// arrives. To be called in a synctest bubble.
func queue(tb testing.TB, p *pool.Pool, name string, need resources.Vector, prefer ...locality.Node) <-chan pool.Lease {
	tb.Helper()
	got := make(chan pool.Lease, 1)
	n := tenant(tb, p, name)
	go func() {
		l, err := n.Request(context.Background(), pool.Request{Needs: []resources.Vector{need}, Prefer: prefer})
		if err == nil {
			got <- l[0]
		}
		close(got)
	}()
	synctest.Wait()
	return got
}

// arrived returns the lease that a waiter was granted, the zero Lease if it
// still waits. To be called in a synctest bubble.
func arrived(got <-chan pool.Lease) pool.Lease {
	synctest.Wait()
	select {
	case l := <-got:
		return l
	default:
		return pool.Lease{}
	}
}

func release(tb testing.TB, leases ...pool.Lease) {
	tb.Helper()
	for _, l := range leases {
		require.NoError(tb, l.Release())
	}
}

// needs returns needs of so many units each.
func needs(units ...int64) (all []resources.Vector) {
	for _, n := range units {
		all = append(all, v(n))
	}
	return all
}

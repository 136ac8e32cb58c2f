package pool_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// asked starts a request that has to wait, and returns where its error arrives. A
// lease that it gets is released. To be called in a synctest bubble.
func asked(n *pool.Tenant, needs ...resources.Vector) <-chan error {
	failed := make(chan error, 1)
	go func() {
		leases, err := n.Request(context.Background(), pool.Request{Needs: needs})
		for _, l := range leases {
			_ = l.Release()
		}
		failed <- err
	}()
	synctest.Wait()
	return failed
}

// queuedTask queues a task of Go, and returns where its error arrives.
func queuedTask(t *testing.T, n *pool.Tenant, need resources.Vector) <-chan error {
	t.Helper()
	g, _ := n.Group(t.Context())
	require.NoError(t, g.Go(need, func(context.Context, pool.Lease) error { return nil }))
	failed := make(chan error, 1)
	go func() { failed <- g.Wait() }()
	synctest.Wait()
	return failed
}

// neverOf returns how many requests of a tenant could never be met.
func neverOf(p *pool.Pool, name string) (n uint64) {
	for _, s := range p.Stats().Tenants {
		if s.Name == name {
			n = s.Never
		}
	}
	return n
}

func limitOf(n int64) pool.Settings {
	return pool.Settings{Strict: true, Limit: v(n, n), Limited: true}
}

// A limit that is lowered below a need that waits refuses it, as a new request of as
// much is refused, and those behind it go on.
func TestSet_RefusesWaitersAboveALoweredLimit(t *testing.T) {
	for name, ask := range map[string]func(*testing.T, *pool.Tenant) <-chan error{
		"a need": func(_ *testing.T, n *pool.Tenant) <-chan error { return asked(n, v(5)) },
		"several needs that exceed it together": func(_ *testing.T, n *pool.Tenant) <-chan error {
			return asked(n, v(2), v(2))
		},
		"a task": func(t *testing.T, n *pool.Tenant) <-chan error {
			t.Helper()
			return queuedTask(t, n, v(5))
		},
		"a need of a kind with a limit of 0": func(_ *testing.T, n *pool.Tenant) <-chan error { return asked(n, v(3, 0, 1)) },
	} {
		for where, set := range map[string]func(*testing.T, *pool.Pool, *pool.Tenant, *pool.Tenant){
			"of the tenant": func(t *testing.T, _ *pool.Pool, _, n *pool.Tenant) {
				t.Helper()
				require.NoError(t, n.Set(limitOf(3)))
			},
			"of the group": func(t *testing.T, _ *pool.Pool, g, _ *pool.Tenant) {
				t.Helper()
				require.NoError(t, g.Set(limitOf(3)))
			},
			"by name": func(t *testing.T, p *pool.Pool, _, n *pool.Tenant) {
				t.Helper()
				_, err := p.Tenant(n.Name(), limitOf(3))
				require.NoError(t, err)
			},
			"lowered twice": func(t *testing.T, _ *pool.Pool, g, _ *pool.Tenant) {
				t.Helper()
				require.NoError(t, g.Set(limitOf(8)))
				require.NoError(t, g.Set(limitOf(3)))
			},
			"lifted and lowered again": func(t *testing.T, _ *pool.Pool, g, _ *pool.Tenant) {
				t.Helper()
				require.NoError(t, g.Set(limitOf(8)))
				require.NoError(t, g.Set(pool.Settings{}))
				require.NoError(t, g.Set(limitOf(3)))
			},
			"of no kind": func(t *testing.T, _ *pool.Pool, g, _ *pool.Tenant) {
				t.Helper()
				require.NoError(t, g.Set(pool.Settings{Limited: true}))
				require.NoError(t, g.Set(limitOf(3)))
			},
		} {
			t.Run(name+", limit "+where, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := newPool(t, pool.Config{Machines: []omega.Machine{{Name: "m0", Capacity: v(10, 10, 10)}}})
					events := p.Subscribe(100)
					group := tenant(t, p, "g")
					n, err := group.Tenant("a", pool.Settings{Strict: true})
					require.NoError(t, err)
					held := acquire(t, p, "h", 8)
					failed := ask(t, n)
					set(t, p, group, n)
					synctest.Wait()
					require.Len(t, failed, 1, "it can never be served")
					err = <-failed
					require.ErrorIs(t, err, pool.ErrNeed)
					require.ErrorContains(t, err, `request of "g/a"`)
					require.ErrorContains(t, err, "the limit")
					require.Zero(t, p.Stats().Waiting)
					require.Equal(t, uint64(1), neverOf(p, "g/a"))
					events.Close()
					var refused []observe.Event
					for e := range events.Events() {
						if e.Kind == observe.Refused {
							refused = append(refused, e)
						}
					}
					require.Len(t, refused, 1)
					require.ErrorIs(t, refused[0].Err, pool.ErrNeed)

					next := asked(n, v(3)) // the tenant is strict: it waits for the one before
					release(t, held)
					require.NoError(t, <-next)
					require.Equal(t, v(10, 10, 10), p.Stats().Free)
				})
			})
		}
	}
}

// A need that waits and is still within the limit keeps its place, whatever is held.
func TestSet_KeepsWaitersWithinALoweredLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(10))
		n := tenant(t, p, "a")
		held := acquire(t, p, "a", 8)
		large, fits, larger := asked(n, v(6)), asked(n, v(5)), asked(n, v(10))
		other := asked(tenant(t, p, "b"), v(6))
		require.NoError(t, n.Set(limitOf(5)))
		synctest.Wait()
		require.ErrorIs(t, <-large, pool.ErrNeed)
		require.ErrorIs(t, <-larger, pool.ErrNeed)
		require.Equal(t, 2, p.Stats().Waiting)
		require.NoError(t, n.Set(limitOf(5)), "nothing changes")
		require.NoError(t, n.Set(limitOf(7)))
		require.Equal(t, 2, p.Stats().Waiting)
		time.Sleep(time.Hour)
		release(t, held)
		require.NoError(t, <-fits)
		require.NoError(t, <-other)
		require.Equal(t, v(10, 10), p.Stats().Free)
	})
}

// What is reserved for a request that is refused is there for others at once.
func TestSet_FreesWhatIsReservedForARefusedWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(10), Patience: time.Second})
		n := tenant(t, p, "a")
		held := acquire(t, p, "h", 4)
		large, other := asked(n, v(9)), asked(tenant(t, p, "b"), v(7))
		time.Sleep(time.Minute)
		release(t, acquire(t, p, "x", 1)) // now its patience is seen to be over
		require.NoError(t, n.Set(limitOf(3)))
		require.ErrorIs(t, <-large, pool.ErrNeed)
		release(t, held)
		require.NoError(t, <-other)
		require.Equal(t, v(10, 10), p.Stats().Free)
		require.Zero(t, p.Stats().Machines[0].Reserved)
	})
}

package pool_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// A request may come to wait for its own caller, since a limit was lowered or a machine
// shrank, drained away or went. It is refused as one that did from the beginning.
func TestNested_RefusesWhatComesToWaitForItsCaller(t *testing.T) {
	lower := func(n int64) func(*testing.T, *pool.Pool, *pool.Tenant) {
		return func(t *testing.T, p *pool.Pool, g *pool.Tenant) {
			t.Helper()
			require.NoError(t, g.Set(pool.Settings{Limit: v(n, 100), Limited: true}))
		}
	}
	resize := func(name string, n int64) func(*testing.T, *pool.Pool, *pool.Tenant) {
		return func(t *testing.T, p *pool.Pool, _ *pool.Tenant) {
			t.Helper()
			require.NoError(t, p.ResizeMachine(name, v(n, n)))
		}
	}
	all := func(units ...int64) pool.Request { return pool.Request{Needs: needs(units...)} }
	for name, c := range map[string]struct {
		machines []int64
		r        pool.Request
		change   func(*testing.T, *pool.Pool, *pool.Tenant)
		nested   bool
		needOnly bool // refused, but not since it is nested
	}{
		"a limit of the group":            {[]int64{8}, all(5), lower(6), true, false},
		"a limit of the group, several":   {[]int64{8}, all(3, 2), lower(6), true, false},
		"a limit that leaves enough":      {[]int64{8}, all(5), lower(7), false, false},
		"a limit below the need":          {[]int64{8}, all(5), lower(4), false, true},
		"a machine that shrinks":          {[]int64{8}, all(5), resize("m0", 6), true, false},
		"a machine that shrinks, several": {[]int64{8}, all(3, 2), resize("m0", 6), true, false},
		"another machine":                 {[]int64{8, 6}, all(6), resize("m1", 5), false, false},
		"the only other machine":          {[]int64{6, 6}, all(6), resize("m1", 5), true, false},
		"a required machine": {
			[]int64{8, 8}, pool.Request{Needs: needs(5), Prefer: []locality.Node{0}, Required: true}, resize("m0", 6), true, false,
		},
		"a machine that is another's": {
			[]int64{8, 8}, pool.Request{Needs: needs(5), Prefer: []locality.Node{0}}, resize("m0", 6), false, false,
		},
		"a machine that goes": {[]int64{6, 6}, all(6), func(t *testing.T, p *pool.Pool, _ *pool.Tenant) {
			t.Helper()
			require.NoError(t, p.RemoveMachine("m1"))
		}, true, false},
	} {
		for kind, task := range map[string]bool{"request": false, "task": true} {
			if task && (len(c.r.Needs) > 1 || c.r.Prefer != nil) {
				continue
			}
			t.Run(name+", "+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := newPool(t, pool.Config{Machines: machines(c.machines...), Patience: -1})
					g := tenant(t, p, "g", pool.Settings{Limit: resources.Uniform(resources.MaxQuantity), Limited: true})
					a, b := within(t, g, "a"), within(t, g, "b")
					mine, others := take(t, a, 1, 2)[0], []pool.Lease{}
					if c.machines[0] > 2 {
						others = take(t, tenant(t, p, "o"), 1, c.machines[0]-2)
					}
					for i := range c.machines[1:] {
						require.NoError(t, p.DrainMachine(fmt.Sprint("m", i+1), true))
					}
					got := make(chan error, 1)
					if task {
						require.NoError(t, b.Go(mine.Context(), c.r.Needs[0], func(context.Context, pool.Lease) error { return nil }))
					} else {
						go func() {
							leases, err := b.Request(mine.Context(), c.r)
							for _, l := range leases {
								_ = l.Release()
							}
							got <- err
						}()
					}
					synctest.Wait()
					require.Equal(t, 1, p.Stats().Waiting)
					c.change(t, p, g)
					synctest.Wait()
					refused := c.nested || c.needOnly
					require.Equal(t, refused, p.Stats().Waiting == 0)
					for _, n := range p.Stats().Tenants {
						require.Equal(t, refused && (n.Name == "g/b" || n.Name == "g"), n.Never == 1, n.Name)
					}
					release(t, append(others, mine)...)
					err := p.Shutdown(t.Context()) // with the error of the task
					if !task {
						err = <-got
					}
					require.Equal(t, c.nested, errors.Is(err, pool.ErrNested), "%v", err)
					require.Equal(t, refused, errors.Is(err, pool.ErrNeed), "%v", err)
				})
			})
		}
	}
}

// What a caller has released meanwhile does not count as held.
func TestNested_LeavesOutWhatTheCallerHasReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(8))
		a, o := tenant(t, p, "a"), tenant(t, p, "o")
		mine, others := take(t, a, 1, 2)[0], take(t, o, 1, 6)
		ctx, cancel := context.WithCancel(context.WithoutCancel(mine.Context()))
		defer cancel()
		var got []pool.Lease
		go func() { got, _ = a.Request(ctx, pool.Request{Needs: needs(6)}) }()
		synctest.Wait()
		release(t, mine)
		require.NoError(t, p.ResizeMachine("m0", v(7, 7)))
		synctest.Wait()
		require.Equal(t, 1, p.Stats().Waiting)
		release(t, others...)
		synctest.Wait()
		require.Len(t, got, 1)
		release(t, got...)
	})
}

// A guarantee does not preempt a lease for a request with the context of that lease: the
// request would end with it.
func TestNested_AGuaranteeSparesTheLeasesOfTheCaller(t *testing.T) {
	for name, units := range map[string][]int64{"one need": {2}, "several": {1, 1}} {
		for _, limit := range []int64{4, 100} {
			t.Run(fmt.Sprint(name, " within ", limit), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := newPool(t, oneMachine(4))
					g := tenant(t, p, "g", limited(limit, 0))
					a := within(t, g, "a", pool.Settings{Guarantee: v(2)})
					others := take(t, within(t, g, "c"), 2, 1)
					mine := take(t, within(t, g, "b"), 1, 2)[0] // the latest, of a tenant that holds as much
					var got []pool.Lease
					var err error
					go func() { got, err = a.Request(mine.Context(), pool.Request{Needs: needs(units...)}) }()
					synctest.Wait()
					require.NoError(t, mine.Context().Err())
					require.Len(t, preempted(others), 2)
					release(t, others...)
					synctest.Wait()
					require.NoError(t, err)
					require.Len(t, got, len(units))
					release(t, append(got, mine)...)
				})
			})
		}
	}
	// Another request finds it, as before.
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(4))
		a, b := tenant(t, p, "a", pool.Settings{Guarantee: v(2)}), tenant(t, p, "b")
		mine, other := take(t, b, 1, 2)[0], take(t, b, 1, 2)[0]
		high := tenant(t, p, "high", pool.Settings{Priority: 1})
		release(t, other)
		safe := take(t, high, 1, 2)[0]
		var err error
		go func() { _, err = a.Acquire(mine.Context(), v(2)) }()
		synctest.Wait()
		require.NoError(t, mine.Context().Err(), "nothing else is preempted in its place")
		require.NoError(t, safe.Context().Err())
		second := submit(t, a, 2)
		synctest.Wait()
		require.Error(t, mine.Context().Err())
		require.ErrorIs(t, err, pool.ErrPreempted)
		release(t, mine)
		require.True(t, second())
		release(t, safe)
	})
}

package pool_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// A caller that holds leases, told by its context, is refused what only their end
// could give it, and gets what others may release.
func TestNested_RefusesWhatTheCallerItselfHoldsUp(t *testing.T) {
	ask := func(needs ...resources.Vector) pool.Request { return pool.Request{Needs: needs} }
	on := func(node locality.Node, need resources.Vector) pool.Request {
		return pool.Request{Needs: []resources.Vector{need}, Prefer: []locality.Node{node}, Required: true}
	}
	for name, test := range map[string]struct {
		machines []int64
		set      pool.Settings // of the tenant
		group    pool.Settings // of its group
		hold     int64
		r        pool.Request
		says     string // "" if it may wait
	}{
		"the machine":              {machines: []int64{4}, hold: 3, r: ask(v(2)), says: `need of "org/a": cpu=2m, the caller holds cpu=3m on m0 and would wait for itself`},
		"what is left":             {machines: []int64{4}, hold: 3, r: ask(v(1))},
		"another machine":          {machines: []int64{4, 4}, hold: 4, r: ask(v(4))},
		"a required machine":       {machines: []int64{4, 4}, hold: 3, r: on(0, v(2)), says: `need of "org/a": cpu=2m, the caller holds cpu=3m on m0 and would wait for itself`},
		"another required machine": {machines: []int64{4, 4}, hold: 3, r: on(1, v(2))},
		"needs together":           {machines: []int64{4}, hold: 1, r: ask(v(2), v(2)), says: `need of "org/a": cpu=2m + cpu=2m, the caller holds cpu=1m on m0 and would wait for itself`},
		"needs that fit together":  {machines: []int64{5}, hold: 1, r: ask(v(2), v(2))},
		"its own limit": {
			machines: []int64{8}, set: pool.Settings{Limit: v(4), Limited: true}, hold: 3, r: ask(v(2)),
			says: `need of "org/a": cpu=2m within the limit cpu=4m of "org/a", the caller holds cpu=3m on m0 and would wait for itself`,
		},
		"the limit of its group": {
			machines: []int64{8}, group: pool.Settings{Limit: v(4), Limited: true}, hold: 3, r: ask(v(1), v(1)),
			says: `need of "org/a": cpu=2m within the limit cpu=4m of "org", the caller holds cpu=3m on m0 and would wait for itself`,
		},
		"within the limit": {machines: []int64{8}, set: pool.Settings{Limit: v(4), Limited: true}, hold: 3, r: ask(v(1))},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, pool.Config{Machines: machines(test.machines...)})
			n, err := tenant(t, p, "org", test.group).Tenant("a", test.set)
			require.NoError(t, err)
			require.NoError(t, n.Do(t.Context(), v(test.hold), func(ctx context.Context, _ pool.Lease) error {
				ls, err := n.Request(ctx, test.r)
				if test.says == "" {
					require.NoError(t, err)
					release(t, ls...)
					return nil
				}
				require.ErrorIs(t, err, pool.ErrNested)
				require.ErrorIs(t, err, pool.ErrNeed)
				require.EqualError(t, err, "pool: "+test.says+": request waits for a lease of its own caller")
				require.Zero(t, p.Stats().Waiting)
				return nil
			}))
		})
	}
}

// All leases of the chain of contexts count, also by way of contexts in between.
func TestNested_CountsEachLeaseOfTheContext(t *testing.T) {
	p := newPool(t, pool.Config{Machines: machines(4)})
	a, b := tenant(t, p, "a"), tenant(t, p, "b")
	require.NoError(t, a.Do(t.Context(), v(2), func(ctx context.Context, _ pool.Lease) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		return b.Do(ctx, v(1), func(ctx context.Context, _ pool.Lease) error {
			_, err := a.Acquire(ctx, v(2))
			require.EqualError(t, err, `pool: need of "a": cpu=2m, the caller holds cpu=1m on m0 and cpu=2m on m0 and would wait for itself: request waits for a lease of its own caller`)
			l, err := a.Acquire(ctx, v(1))
			require.NoError(t, err)
			return l.Release()
		})
	}))
	l := acquire(t, p, "a", 3)
	_, err := p.Acquire(l.Context(), "a", v(2))
	require.ErrorIs(t, err, pool.ErrNested)
	other := newPool(t, pool.Config{Machines: machines(1)})
	one, err := other.Acquire(l.Context(), "a", v(1))
	require.NoError(t, err, "a lease of another pool is no matter")
	release(t, one, l)
}

package pool_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// Each request that can never be met is counted and told of, whichever call it came
// by. Bad arguments are not.
func TestTenantStats_NeverCountsEachRequestThatCannotBeMet(t *testing.T) {
	for name, c := range map[string]struct {
		request pool.Request
		never   uint64
	}{
		"one need":                     {pool.Request{Needs: needs(5)}, 1},
		"no need":                      {pool.Request{}, 1},
		"a negative need":              {pool.Request{Needs: needs(-1)}, 1},
		"a need of several":            {pool.Request{Needs: needs(1, 5)}, 1},
		"needs together":               {pool.Request{Needs: needs(4, 3)}, 1},
		"needs above a limit together": {pool.Request{Needs: needs(3, 3)}, 1},
		"a required machine":           {pool.Request{Needs: needs(4), Prefer: []locality.Node{1}, Required: true}, 1},
		"an unknown machine":           {pool.Request{Needs: needs(1), Prefer: []locality.Node{7}}, 0},
		"a bad label":                  {pool.Request{Needs: needs(1), Label: "\n"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, pool.Config{Machines: machines(4, 2)})
			a := tenant(t, p, "a", pool.Settings{Limit: v(5, resources.MaxQuantity), Limited: true})
			events := p.Subscribe(1)
			defer events.Close()
			_, err := a.Request(t.Context(), c.request)
			require.Error(t, err)
			require.Equal(t, c.never, p.Stats().Tenants[0].Never)
			require.Len(t, events.Events(), int(c.never))
			if c.never > 0 {
				e := <-events.Events()
				require.Equal(t, observe.Refused, e.Kind)
				require.Equal(t, err, e.Err)
			}
		})
	}
}

// So is a request that waits for its own caller, of one need and of several, and a
// task that is too large.
func TestTenantStats_NeverCountsNestedRequestsAndTasks(t *testing.T) {
	p := newPool(t, oneMachine(4))
	a := tenant(t, p, "a")
	l := take(t, a, 1, 3)[0]
	_, err := a.Acquire(l.Context(), v(2))
	require.ErrorIs(t, err, pool.ErrNested)
	_, err = a.Request(l.Context(), pool.Request{Needs: needs(1, 1)})
	require.ErrorIs(t, err, pool.ErrNested)
	require.ErrorIs(t, a.Go(t.Context(), v(5), func(context.Context, pool.Lease) error { return nil }), pool.ErrNeed)
	require.EqualValues(t, 3, p.Stats().Tenants[0].Never)
	release(t, l)
}

package pool_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// raw is a vector as fmt prints it.
var raw = regexp.MustCompile(`\[-?\d+( -?\d+)+\]`)

func TestErrors_NameThePackageOnceTheValueAndTheCondition(t *testing.T) {
	p := newPool(t, pool.Config{Machines: machines(4, 8)})
	n := tenant(t, p, "a")
	l := acquire(t, p, "a", 1)
	release(t, l)
	ask := func(r pool.Request) error {
		_, err := n.Request(t.Context(), r)
		return err
	}
	need := func(q ...int64) error {
		_, err := n.Acquire(t.Context(), v(q...))
		return err
	}
	config := func(cfg pool.Config) error {
		if cfg.Machines == nil {
			cfg.Machines = machines(1)
		}
		_, err := pool.New(cfg)
		return err
	}
	named := func(name string) error {
		_, err := p.Acquire(t.Context(), name, v(1))
		return err
	}
	closed := newPool(t, oneMachine(1))
	require.NoError(t, closed.Close(t.Context()))
	_, afterClose := closed.Acquire(t.Context(), "a", v(1))
	for name, tc := range map[string]struct {
		err  error
		is   error
		says string
	}{
		"no need":             {ask(pool.Request{}), pool.ErrNeed, `"a" without a need`},
		"a zero need":         {need(0), pool.ErrNeed, "nothing"},
		"a negative need":     {need(-1), resources.ErrQuantity, "cpu=-1m"},
		"an overflowing need": {need(1<<62, 1<<62+1), resources.ErrQuantity, `"a"`},
		"too large a need":    {need(9), pool.ErrNeed, "cpu=9m, no machine has as much"},
		"an unknown kind":     {need(0, 0, 1), pool.ErrNeed, "no machine has as much"},
		"two needs":           {ask(pool.Request{Needs: []resources.Vector{v(5), v(5)}}), pool.ErrNeed, "cpu=5m + cpu=5m"},
		"an unknown node":     {ask(pool.Request{Needs: []resources.Vector{v(1)}, Prefer: []locality.Node{2}}), pool.ErrMachine, "node 2, want less than 2"},
		"required of none":    {ask(pool.Request{Needs: []resources.Vector{v(1)}, Required: true}), pool.ErrMachine, "no preferred machine"},
		"a negative wait":     {ask(pool.Request{Needs: []resources.Vector{v(1)}, MaxWait: -1}), pool.ErrConfig, "-1ns"},
		"a second release":    {l.Release(), pool.ErrReleased, "already released"},
		"the zero lease":      {pool.Lease{}.Release(), pool.ErrReleased, "zero Lease"},
		"an empty name":       {named(""), pool.ErrTenant, "empty"},
		"a name of two lines": {named("a\nb"), resources.ErrName, "U+000A"},
		"a closed pool":       {afterClose, pool.ErrClosed, "closed"},
		"a machine twice":     {config(pool.Config{Machines: []omega.Machine{{Name: "m", Capacity: v(1)}, {Name: "m", Capacity: v(1)}}}), pool.ErrMachine, `"m"`},
		"a bad capacity":      {config(pool.Config{Machines: machines(-1)}), resources.ErrQuantity, "-1"},
		"too much in all":     {config(pool.Config{Machines: machines(resources.MaxQuantity, 1)}), pool.ErrConfig, "2^62"},
		"nothing to share":    {config(pool.Config{Machines: []omega.Machine{{Name: "a"}}}), pool.ErrConfig, "Machines"},
		"skips":               {config(pool.Config{Delay: delay.Policy{Skips: 3}}), pool.ErrConfig, "3 skips"},
		"a learner":           {config(pool.Config{Delay: delay.Policy{Learn: new(delay.Learner)}}), pool.ErrConfig, "a Learner"},
		"a delay":             {config(pool.Config{Delay: delay.Policy{Waits: delay.Waits{-1}}}), pool.ErrConfig, "Delay"},
		"an order":            {config(pool.Config{Order: 7}), pool.ErrConfig, "order 7"},
		"reserved":            {config(pool.Config{Reserved: 2}), pool.ErrConfig, "Reserved: 2"},
		"grace":               {config(pool.Config{Grace: -1}), pool.ErrConfig, "Grace: -1ns"},
		"a configured tenant": {config(pool.Config{Tenants: map[string]pool.Settings{"x": {Weight: -1}}}), pool.ErrConfig, "weight -1"},
		"a machine to drain":  {p.DrainMachine("none", true), pool.ErrMachine, `"none"`},
	} {
		require.ErrorIs(t, tc.err, tc.is, name)
		text := tc.err.Error()
		require.Contains(t, text, tc.says, name)
		require.True(t, strings.HasPrefix(text, "pool: "), text)
		for _, prefix := range []string{"omega: ", "drf: ", "delay: ", "resources: "} {
			require.NotContains(t, text, prefix, name)
		}
		require.Equal(t, 1, strings.Count(text, "pool: "), text)
		require.NotRegexp(t, raw, text)
	}
	for _, sentinel := range []error{
		pool.ErrNeed, pool.ErrQueueFull, pool.ErrWait, pool.ErrPreempted, pool.ErrReleased,
		pool.ErrClosed, pool.ErrConfig, pool.ErrMachine, pool.ErrMachineInUse, pool.ErrTenant,
	} {
		require.Regexp(t, `^pool: \w+ \w+`, sentinel.Error())
	}
	require.Equal(t, v(12, 12), p.Stats().Free)
}

// A preferred machine that could never hold the need is not waited for, and one
// that is required refuses it.
func TestRequest_PreferencesThatCannotBeMet(t *testing.T) {
	p := newPool(t, pool.Config{Machines: machines(1, 4), Delay: delay.Policy{Waits: delay.Waits{1 << 40}}})
	n := tenant(t, p, "a")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got, err := n.Request(ctx, pool.Request{Needs: []resources.Vector{v(4)}, Prefer: []locality.Node{0}})
	require.NoError(t, err)
	require.EqualValues(t, 1, got[0].Node())
	release(t, got...)
	_, err = n.Request(ctx, pool.Request{Needs: []resources.Vector{v(4)}, Prefer: []locality.Node{0}, Required: true})
	require.ErrorIs(t, err, pool.ErrNeed)
	got, err = n.Request(ctx, pool.Request{Needs: []resources.Vector{v(1)}, Prefer: []locality.Node{0}, Required: true})
	require.NoError(t, err)
	require.EqualValues(t, 0, got[0].Node())
	release(t, got...)
}

// The cause of a context may be the failure of another request, as in a group. Its
// reasons are not told again.
func TestWaitError_TellsItsOwnReasonsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4), Patience: -1})
		held := acquire(t, p, "x", 4)
		n, other := tenant(t, p, "a", pool.Settings{MaxWait: time.Second}), tenant(t, p, "b")
		_, first := n.Acquire(t.Context(), v(2, 1))
		require.Equal(t, 1, strings.Count(first.Error(), "short of"), first)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(fmt.Errorf("query: %w", first)) })
		_, err := other.Acquire(ctx, v(3))
		require.ErrorIs(t, err, pool.ErrWait)
		require.Equal(t, 1, strings.Count(err.Error(), "short of"), err)
		require.Equal(t, 1, strings.Count(err.Error(), "pool: "), err)
		require.ErrorContains(t, err, `request of "b" for `)
		require.ErrorContains(t, err, `it waited for 1s: request of "a" failed: maximum wait exceeded`)
		release(t, held)
	})
}

// Before any task has ended, tasks are expected to take as long again as the wait.
func TestWaitError_RetryAfterIsKnownFromTheWaitAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4), Patience: -1})
		held := acquire(t, p, "x", 4)
		n := tenant(t, p, "a", pool.Settings{MaxWait: 3 * time.Second})
		_, err := n.Acquire(t.Context(), v(2))
		var failed *pool.WaitError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, 3*time.Second, failed.RetryAfter())
		release(t, held)
	})
}

// A lease that is granted as the context of its request ends is kept or given back. The
// error is the same as for a context that ended before.
func TestWaitError_IsReturnedForALeaseThatIsGivenBack(t *testing.T) {
	gone := errors.New("gone")
	given := 0
	for range 400 {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, oneMachine(1))
			held := acquire(t, p, "other", 1)
			ctx, cancel := context.WithCancelCause(t.Context())
			var got pool.Lease
			var err error
			n := tenant(t, p, "a")
			go func() { got, err = n.Acquire(ctx, v(1)) }()
			synctest.Wait()
			cancel(gone)
			release(t, held)
			synctest.Wait()
			if err == nil {
				release(t, got)
			} else {
				var waited *pool.WaitError
				require.ErrorAs(t, err, &waited)
				require.ErrorIs(t, err, gone)
				require.Equal(t, "a", waited.Tenant)
				if strings.Contains(err.Error(), "it was granted as its context ended, and given back") {
					given++
				}
			}
			require.Equal(t, v(1, 1), p.Stats().Free)
		})
	}
	require.NotZero(t, given, "leases that were given back")
}

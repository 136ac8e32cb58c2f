package pool_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/niltest"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

func TestNil_Methods(t *testing.T) {
	niltest.Methods(t, (*pool.Pool)(nil), resources.ErrNil, nil)
	niltest.Methods(t, new(pool.Pool), resources.ErrNil, nil)
	niltest.Methods(t, (*pool.Tenant)(nil), resources.ErrNil, nil)
	niltest.Methods(t, new(pool.Tenant), resources.ErrNil, nil)
	niltest.Methods(t, (*pool.Group)(nil), resources.ErrNil, nil)
	niltest.Methods(t, new(pool.Group), resources.ErrNil, nil)
	niltest.Methods(t, (*pool.WaitError)(nil), resources.ErrNil, map[string]any{"Error": "pool: no request has failed", "Unwrap": nil})
}

// The handle that a failed call returns is nil; a program that goes on with it gets errors.
func TestNil_TenantThatWasRefused(t *testing.T) {
	p, err := pool.New(pool.Config{})
	require.NoError(t, err)
	tenant, err := p.Tenant("")
	require.ErrorIs(t, err, pool.ErrTenant)
	_, err = tenant.Acquire(t.Context(), resources.Vector{1})
	require.EqualError(t, err, "pool: tenant: argument is nil")
	group, ctx := tenant.Group(t.Context())
	require.Equal(t, t.Context(), ctx)
	require.ErrorIs(t, group.Wait(), resources.ErrNil)
}

func TestDo_NilFuncTakesNothing(t *testing.T) {
	p, err := pool.New(pool.Config{})
	require.NoError(t, err)
	tenant, err := p.Tenant("a")
	require.NoError(t, err)
	require.ErrorIs(t, tenant.Do(t.Context(), resources.Vector{1}, nil), pool.ErrConfig)
	require.Zero(t, p.Stats().Leases)
}

// A nil context is refused by name, and takes nothing, also where room is free.
func TestNil_Context(t *testing.T) {
	p := newPool(t, oneMachine(4))
	n, need := tenant(t, p, "a"), v(1)
	var none context.Context
	nothing := func(context.Context, pool.Lease) error { return nil }
	for name, call := range map[string]func() error{
		"Pool.Acquire":   func() error { _, err := p.Acquire(none, "b", need); return err },
		"Tenant.Acquire": func() error { _, err := n.Acquire(none, need); return err },
		"Request": func() error {
			_, err := n.Request(none, pool.Request{Needs: []resources.Vector{need}})
			return err
		},
		"Do": func() error { return n.Do(none, need, nothing) },
		"Go": func() error { return n.Go(none, need, nothing) },
		"Group.Go": func() error {
			g, _ := n.Group(none)
			return g.Go(need, nothing)
		},
		"Group.Wait": func() error {
			g, ctx := n.Group(none)
			require.ErrorIs(t, context.Cause(ctx), resources.ErrNil)
			require.ErrorIs(t, ctx.Err(), context.Canceled)
			return g.Wait()
		},
		"Close":    func() error { return p.Close(none) },
		"Shutdown": func() error { return p.Shutdown(none) },
	} {
		t.Run(name, func(t *testing.T) {
			err := call()
			require.ErrorIs(t, err, resources.ErrNil)
			require.EqualError(t, err, "pool: context: argument is nil")
			require.Zero(t, p.Stats().Leases)
			release(t, acquire(t, p, "a", 1)) // the pool goes on
		})
	}
	require.Len(t, p.Stats().Tenants, 1, "no tenant was made")
}

func TestRequest_LabelIsAName(t *testing.T) {
	p := newPool(t, oneMachine(4))
	n := tenant(t, p, "a")
	ask := func(label string) error {
		leases, err := n.Request(t.Context(), pool.Request{Needs: []resources.Vector{v(1)}, Label: label})
		release(t, leases...)
		return err
	}
	for name, label := range map[string]string{
		"too long": strings.Repeat("x", resources.MaxName+1), "a line break": "a\nb", "no UTF-8": "\xff", "NUL": "\x00",
	} {
		t.Run(name, func(t *testing.T) {
			err := ask(label)
			require.ErrorIs(t, err, pool.ErrConfig)
			require.ErrorIs(t, err, resources.ErrName)
			require.Contains(t, err.Error(), `pool: request of "a": label: invalid name: `)
		})
	}
	for _, label := range []string{"", "ok", strings.Repeat("x", resources.MaxName)} {
		require.NoError(t, ask(label))
	}
	require.Zero(t, p.Stats().Leases)
}

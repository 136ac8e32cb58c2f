package pool_test

import (
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
	niltest.Methods(t, (*pool.Subscription)(nil), resources.ErrNil, nil)
	niltest.Methods(t, new(pool.Subscription), resources.ErrNil, nil)
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

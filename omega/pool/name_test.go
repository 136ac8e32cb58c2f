package pool_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// A name names one tenant: that of a tenant in a group finds it, and makes no other.
func TestTenant_IsFoundByItsWholeName(t *testing.T) {
	p := newPool(t, oneMachine(8))
	org := tenant(t, p, "org")
	team, err := org.Tenant("team")
	require.NoError(t, err)
	web, err := team.Tenant("web")
	require.NoError(t, err)
	require.Equal(t, "org/team/web", web.Name())

	l, err := p.Acquire(t.Context(), web.Name(), v(1))
	require.NoError(t, err)
	require.Same(t, web, l.Tenant())
	other, ok := p.TryAcquire(web.Name(), v(1))
	require.True(t, ok)
	require.Same(t, web, other.Tenant())
	release(t, l, other)
	for _, find := range []func() (*pool.Tenant, error){
		func() (*pool.Tenant, error) { return p.Tenant("org/team/web") },
		func() (*pool.Tenant, error) { return org.Tenant("team/web") },
		func() (*pool.Tenant, error) { return p.Tenant("org/team/web", pool.Settings{Weight: 2}) },
	} {
		n, err := find()
		require.NoError(t, err)
		require.Same(t, web, n)
	}
	require.EqualValues(t, 2, web.Settings().Weight)
	_, err = p.Acquire(t.Context(), "org/team", v(1))
	require.ErrorIs(t, err, pool.ErrTenant, "it is a group")

	names := map[string]int{}
	for _, s := range p.Stats().Tenants {
		names[s.Name]++
	}
	require.Equal(t, map[string]int{"org": 1, "org/team": 1, "org/team/web": 1}, names)
}

func TestTenant_IsNotMadeByANameWithASlash(t *testing.T) {
	p := newPool(t, oneMachine(8))
	org := tenant(t, p, "org")
	_, err := org.Tenant("team")
	require.NoError(t, err)
	tenant(t, p, "alone")
	for _, name := range []string{"org/new", "new/team", "org/team/web", "/", "/org", "org/", "org//team", "/org/team", "alone/x", "a/b"} {
		_, err := p.Acquire(t.Context(), name, v(1))
		require.ErrorIs(t, err, pool.ErrTenant, name)
		_, ok := p.TryAcquire(name, v(1))
		require.False(t, ok, name)
		_, err = p.Tenant(name)
		require.ErrorIs(t, err, pool.ErrTenant, name)
		_, err = org.Tenant(name)
		require.ErrorIs(t, err, pool.ErrTenant, name)
	}
	_, err = p.Acquire(t.Context(), "a/b", v(1))
	require.EqualError(t, err, `pool: tenant "a/b": a slash stands between a group and its tenant, and there is none of that name: invalid tenant`)
	require.Len(t, p.Stats().Tenants, 3)
	_, err = pool.New(pool.Config{Machines: machines(1), Tenants: map[string]pool.Settings{"a/b": {}}})
	require.ErrorIs(t, err, pool.ErrTenant)
	_, err = org.Tenant("a\nb")
	require.ErrorIs(t, err, resources.ErrName)
}

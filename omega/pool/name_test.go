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

func TestTenant_InAGroupIsNotMadeByItsWholeName(t *testing.T) {
	p := newPool(t, oneMachine(8))
	org := tenant(t, p, "org")
	team, err := org.Tenant("team")
	require.NoError(t, err)
	_, err = team.Tenant("web")
	require.NoError(t, err)
	for _, name := range []string{"org/new", "org/team/new", "org/", "org//team"} {
		_, err := p.Acquire(t.Context(), name, v(1))
		require.ErrorIs(t, err, pool.ErrTenant, name)
		_, ok := p.TryAcquire(name, v(1))
		require.False(t, ok, name)
		_, err = p.Tenant(name)
		require.ErrorIs(t, err, pool.ErrTenant, name)
	}
	_, err = p.Tenant("org/new")
	require.EqualError(t, err, `pool: tenant "org/new": group "org" has no tenant of that name: invalid tenant`)
	_, err = org.Tenant("team/new")
	require.EqualError(t, err, `pool: tenant "team/new": group "org/team" has no tenant of that name: invalid tenant`)
	require.Len(t, p.Stats().Tenants, 3)
	_, err = org.Tenant("a\nb")
	require.ErrorIs(t, err, resources.ErrName)
}

// A slash in a name, as in that of a repository, makes no group.
func TestTenant_MayHaveSlashesInItsName(t *testing.T) {
	p, err := pool.New(pool.Config{Machines: machines(8), Tenants: map[string]pool.Settings{"a/b": {Weight: 2}}})
	require.NoError(t, err)
	for _, name := range []string{"a/b", "a", "a/b/c", "/", "/a", "a/"} {
		l, err := p.Acquire(t.Context(), name, v(1))
		require.NoError(t, err, name)
		require.Equal(t, name, l.Tenant().Name())
		release(t, l)
	}
	require.Len(t, p.Stats().Tenants, 6)
	a := tenant(t, p, "a")
	_, err = a.Tenant("b")
	require.EqualError(t, err, `pool: tenant "b" in "a": another tenant has the name "a/b": invalid tenant`)
	repository, err := a.Tenant("x/y")
	require.NoError(t, err)
	require.Equal(t, "a/x/y", repository.Name())
	require.Same(t, repository, tenant(t, p, "a/x/y"))
	x, err := a.Tenant("x")
	require.NoError(t, err)
	_, err = x.Tenant("y")
	require.ErrorIs(t, err, pool.ErrTenant)
	require.Equal(t, 2, int(tenant(t, p, "a/b").Settings().Weight), "it was there before the group")
}

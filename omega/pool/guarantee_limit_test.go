package pool_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// What is guaranteed to the tenants of a group can be held at once: it adds up to no
// more than the limit of the group, at every level.
func TestSettings_GuaranteesStayWithinTheLimitsOfGroups(t *testing.T) {
	guarantee := func(n int64) pool.Settings { return pool.Settings{Guarantee: v(n)} }
	limit := func(n ...int64) pool.Settings { return pool.Settings{Limit: v(n...), Limited: true} }
	child := func(t *testing.T, g *pool.Tenant, name string, s ...pool.Settings) *pool.Tenant {
		t.Helper()
		c, err := g.Tenant(name, s...)
		require.NoError(t, err)
		return c
	}
	for name, c := range map[string]struct {
		make func(*testing.T, *pool.Tenant) error // of the group
		want []string
	}{
		"a new tenant": {func(t *testing.T, g *pool.Tenant) error {
			t.Helper()
			require.NoError(t, g.Set(limit(2, 10)))
			_, err := g.Tenant("a", guarantee(5))
			return err
		}, []string{`"g/a"`, "cpu=5m", "limit cpu=2m", `"g"`}},
		"two of them": {func(t *testing.T, g *pool.Tenant) error {
			t.Helper()
			require.NoError(t, g.Set(limit(4, 10)))
			child(t, g, "a", guarantee(3))
			_, err := g.Tenant("b", guarantee(3))
			return err
		}, []string{`"g/b"`, "cpu=6m", "limit cpu=4m", `"g"`}},
		"settings replaced": {func(t *testing.T, g *pool.Tenant) error {
			t.Helper()
			require.NoError(t, g.Set(limit(4, 10)))
			a := child(t, g, "a", guarantee(3))
			require.NoError(t, a.Set(guarantee(4)))
			return a.Set(guarantee(5))
		}, []string{`"g/a"`, "cpu=5m", "limit cpu=4m", `"g"`}},
		"a limit lowered": {func(t *testing.T, g *pool.Tenant) error {
			t.Helper()
			child(t, g, "a", guarantee(3))
			child(t, g, "b", guarantee(2))
			require.NoError(t, g.Set(limit(5)))
			return g.Set(limit(4, 10))
		}, []string{`"g"`, "limit cpu=4m", "cpu=5m"}},
		"a limit of none": {func(t *testing.T, g *pool.Tenant) error {
			t.Helper()
			child(t, g, "a", guarantee(3))
			return g.Set(limit())
		}, []string{`"g"`, "limit 0", "cpu=3m"}},
		"a kind with a limit of 0": {func(t *testing.T, g *pool.Tenant) error {
			t.Helper()
			require.NoError(t, g.Set(limit(4)))
			_, err := g.Tenant("a", pool.Settings{Guarantee: v(1, 1)})
			return err
		}, []string{`"g/a"`, "memory=1", "limit cpu=4m"}},
		"a group above the next": {func(t *testing.T, g *pool.Tenant) error {
			t.Helper()
			require.NoError(t, g.Set(limit(4, 10)))
			inner := child(t, g, "inner")
			child(t, inner, "a", guarantee(3))
			_, err := child(t, g, "other").Tenant("b", guarantee(2))
			return err
		}, []string{`"g/other/b"`, "cpu=5m", "limit cpu=4m", `"g"`}},
		"a lower limit above a higher one": {func(t *testing.T, g *pool.Tenant) error {
			t.Helper()
			require.NoError(t, g.Set(limit(2, 10)))
			_, err := child(t, g, "inner", limit(4, 10)).Tenant("a", guarantee(3))
			return err
		}, []string{`"g/inner/a"`, "cpu=3m", "limit cpu=2m", `group "g"`}},
		"more than the pool within a limit": {func(t *testing.T, g *pool.Tenant) error {
			t.Helper()
			require.NoError(t, g.Set(limit(20, 20)))
			_, err := g.Tenant("a", guarantee(11))
			return err
		}, []string{`"g/a"`, "cpu=11m", "cpu=10m", "of the pool"}},
		"a limit lowered above the next group": {func(t *testing.T, g *pool.Tenant) error {
			t.Helper()
			inner := child(t, g, "inner")
			child(t, inner, "a", guarantee(3))
			return g.Set(limit(2, 10))
		}, []string{`"g"`, "limit cpu=2m", "cpu=3m"}},
		"a group's own guarantee": {func(t *testing.T, g *pool.Tenant) error {
			t.Helper()
			require.NoError(t, g.Set(limit(4, 10)))
			_, err := g.Tenant("inner", guarantee(5))
			return err
		}, []string{`"g/inner"`, "cpu=5m", "limit cpu=4m", `"g"`}},
		"below a guarantee of the next group": {func(t *testing.T, g *pool.Tenant) error {
			t.Helper()
			require.NoError(t, g.Set(limit(4, 10)))
			inner := child(t, g, "inner", guarantee(3))
			child(t, inner, "a", guarantee(3)) // within that of inner: it counts once
			_, err := g.Tenant("b", guarantee(2))
			return err
		}, []string{`"g/b"`, "cpu=5m", "limit cpu=4m", `"g"`}},
		"a guarantee of the group lifted": {func(t *testing.T, g *pool.Tenant) error {
			t.Helper()
			require.NoError(t, g.Set(pool.Settings{Guarantee: v(6), Limit: v(6), Limited: true}))
			child(t, g, "a", guarantee(5))
			return g.Set(limit(4, 10))
		}, []string{`"g"`, "limit cpu=4m", "cpu=5m"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, oneMachine(10))
			g := tenant(t, p, "g")
			err := c.make(t, g)
			require.ErrorIs(t, err, pool.ErrConfig)
			for _, part := range c.want {
				require.ErrorContains(t, err, part)
			}
		})
	}

	// As much as the limit is allowed, and what no limit is above.
	p := newPool(t, oneMachine(10))
	g := tenant(t, p, "g", limit(4, 10))
	a := child(t, g, "a", guarantee(2))
	child(t, g, "b", guarantee(2))
	require.Error(t, a.Set(guarantee(3)))
	require.Equal(t, v(2), a.Settings().Guarantee, "a refusal changes nothing")
	require.Error(t, g.Set(limit(3, 10)))
	require.Equal(t, v(4, 10), g.Settings().Limit)
	require.NoError(t, g.Set(pool.Settings{Limit: resources.Uniform(resources.MaxQuantity), Limited: true}))
	require.NoError(t, a.Set(guarantee(8)))
	require.NoError(t, g.Set(pool.Settings{}))
	tenant(t, p, "other", limit(1))
}

// Guarantees that add up to more than the largest amount are refused, whatever the
// capacity is.
func TestSettings_GuaranteesBeyondTheLargestAmountAreRefused(t *testing.T) {
	const most = resources.MaxQuantity
	p := newPool(t, pool.Config{Machines: []omega.Machine{{Name: "m", Capacity: v(most, most)}}})
	a := tenant(t, p, "a", pool.Settings{Guarantee: v(most)})
	for _, s := range []pool.Settings{{Guarantee: v(most)}, {Guarantee: v(1)}} {
		_, err := p.Tenant("b", s)
		require.ErrorIs(t, err, pool.ErrConfig)
	}
	require.NoError(t, a.Set(pool.Settings{Guarantee: v(most - 1)}))
	tenant(t, p, "b", pool.Settings{Guarantee: v(1, most)})
	g := tenant(t, p, "g", pool.Settings{Limit: resources.Uniform(most), Limited: true})
	_, err := g.Tenant("c", pool.Settings{Guarantee: v(1)})
	require.ErrorIs(t, err, pool.ErrConfig)
}

// After machines have shrunk or gone, settings may guarantee as much as before or less,
// and change all else. They may not raise a kind of which too much is guaranteed.
func TestSettings_ThatGuaranteeNoMoreAreAcceptedAfterMachinesHaveShrunk(t *testing.T) {
	p := newPool(t, oneMachine(10))
	a := tenant(t, p, "a", pool.Settings{Guarantee: v(5, 2)})
	tenant(t, p, "b", pool.Settings{Guarantee: v(5)})
	g := tenant(t, p, "g", pool.Settings{Guarantee: v(0, 4)})
	within(t, g, "c", pool.Settings{Guarantee: v(0, 3)})
	require.NoError(t, p.ResizeMachine("m0", v(8, 8)))
	require.NoError(t, a.Set(pool.Settings{Guarantee: v(5, 2), Weight: 2}))
	require.NoError(t, a.Set(pool.Settings{Guarantee: v(5, 4)}), "of this kind there is enough")
	require.ErrorIs(t, a.Set(pool.Settings{Guarantee: v(5, 5)}), pool.ErrConfig)
	require.ErrorIs(t, a.Set(pool.Settings{Guarantee: v(6, 2)}), pool.ErrConfig)
	_, err := p.Tenant("d", pool.Settings{Guarantee: v(1)})
	require.ErrorIs(t, err, pool.ErrConfig)
	require.NoError(t, p.ResizeMachine("m0", v(8, 6)))
	require.NoError(t, g.Set(pool.Settings{}), "what is guaranteed in it remains")
	require.NoError(t, a.Set(pool.Settings{Guarantee: v(4, 2)}))
	require.ErrorIs(t, a.Set(pool.Settings{Guarantee: v(5, 2)}), pool.ErrConfig)
	require.NoError(t, a.Set(pool.Settings{Guarantee: v(3, 2)}))
	tenant(t, p, "e", pool.Settings{Guarantee: v(0, 1)})
}

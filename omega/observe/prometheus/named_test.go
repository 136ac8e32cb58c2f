package prometheus_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe/prometheus"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// Tenants take turns at the largest share from one scrape to the next. The ones with series
// keep them as long as they hold something.
func TestCollector_KeepsTheTenantsThatHaveSeries(t *testing.T) {
	p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{100}}}})
	require.NoError(t, err)
	leases := map[string][]pool.Lease{}
	hold := func(tenant string, slots int64) {
		l, err := p.Acquire(t.Context(), tenant, resources.Vector{slots})
		require.NoError(t, err)
		leases[tenant] = append(leases[tenant], l)
	}
	free := func(tenant string) {
		for _, l := range leases[tenant] {
			require.NoError(t, l.Release())
		}
		delete(leases, tenant)
	}
	c := prometheus.New(prometheus.Config{Pools: map[string]*pool.Pool{"p": p}, Tenants: 2})
	shown := func() (names []string) {
		shares := values(t, "tenant_share", c)
		for name := range values(t, "tenant_waiting", c) {
			names = append(names, name)
			_, has := shares[name]
			require.Equal(t, name != "p|other", has, "shares by weight have no sum")
		}
		slices.Sort(names)
		return names
	}
	hold("a", 3)
	hold("b", 2)
	hold("c", 1)
	require.Equal(t, []string{"p|a", "p|b", "p|other"}, shown())
	hold("c", 9)
	hold("d", 20)
	require.Equal(t, []string{"p|a", "p|b", "p|other"}, shown(), "others have more now")
	free("b")
	require.Equal(t, []string{"p|a", "p|d", "p|other"}, shown(), "the idle one gives its place")
	hold("b", 50)
	require.Equal(t, []string{"p|a", "p|d", "p|other"}, shown())
	free("a")
	free("b")
	free("c")
	free("d")
	require.Equal(t, []string{"p|a", "p|d", "p|other"}, shown(), "no other one needs the places")
}

// A tenant that holds nothing keeps its series while it waits.
func TestCollector_KeepsTheTenantsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{100}}}})
		require.NoError(t, err)
		c := prometheus.New(prometheus.Config{Pools: map[string]*pool.Pool{"p": p}, Tenants: 1})
		named := func() bool {
			_, ok := values(t, "tenant_waiting", c)["p|a"]
			return ok
		}
		l, err := p.Acquire(t.Context(), "a", resources.Vector{1})
		require.NoError(t, err)
		require.True(t, named())
		require.NoError(t, l.Release())
		l, err = p.Acquire(t.Context(), "b", resources.Vector{50})
		require.NoError(t, err)
		ended := make(chan error)
		go func() {
			l, err := p.Acquire(t.Context(), "a", resources.Vector{100})
			if err == nil {
				err = l.Release()
			}
			ended <- err
		}()
		synctest.Wait()
		require.True(t, named())
		require.NoError(t, l.Release())
		require.NoError(t, <-ended)
	})
}

// A group counts its tenants, so the counts of a pool leave them out.
func TestCollector_SumsAPoolWithGroups(t *testing.T) {
	p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{100}}}})
	require.NoError(t, err)
	group, err := p.Tenant("g")
	require.NoError(t, err)
	for _, name := range []string{"a", "b"} {
		in, err := group.Tenant(name)
		require.NoError(t, err)
		_, err = in.Acquire(t.Context(), resources.Vector{1})
		require.NoError(t, err)
	}
	_, err = p.Acquire(t.Context(), "c", resources.Vector{1})
	require.NoError(t, err)
	c := prometheus.New(prometheus.Config{Pools: map[string]*pool.Pool{"p": p}})
	require.InDelta(t, 2, values(t, "tenant_granted_total", c)["p|g"], 0)
	require.Equal(t, map[string]float64{"p|pool": 3}, values(t, "claims_granted_total", c))
}

func TestCollector_CapsTheSeriesOfSchedulers(t *testing.T) {
	cell := newCell(t)
	register := func(name string) (leave func()) {
		s, err := cell.Register(name, omega.Limits{})
		require.NoError(t, err)
		m, _ := cell.Machine("a")
		var tx omega.Txn
		tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{1}})
		_, err = s.Commit(&tx)
		require.NoError(t, err)
		id, granted := tx.Allocation(0)
		require.True(t, granted)
		return func() {
			require.NoError(t, s.Release(id))
			require.NoError(t, s.Leave())
		}
	}
	c := prometheus.New(prometheus.Config{Cell: cell, Tenants: 2})
	granted := func() map[string]float64 { return values(t, "claims_granted_total", c) }
	register("m")
	leave := register("n")
	require.Equal(t, map[string]float64{"|cell": 0, "m|cell": 1, "n|cell": 1}, granted())
	for i := range 3 {
		register(fmt.Sprint("a", i))
	}
	require.Equal(t, map[string]float64{"|cell": 0, "m|cell": 1, "n|cell": 1, "other|cell": 3}, granted())
	leave()
	require.Equal(t, map[string]float64{"|cell": 1, "m|cell": 1, "a0|cell": 1, "other|cell": 2}, granted())
}

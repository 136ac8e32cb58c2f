package view_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/view"
	"github.com/cellsched/cellsched/resources"
)

type tenant struct {
	Name             string
	Tenants, Waiting int
	Refused          uint64
}

// tenants returns the rows of the only pool.
func tenants(t *testing.T, h http.Handler) (rows map[string]tenant, others tenant) {
	t.Helper()
	var o struct {
		Pools []struct {
			Tenants []tenant
			Others  tenant
		}
	}
	require.NoError(t, json.Unmarshal(ask(h, "/?format=json").Body.Bytes(), &o))
	require.Len(t, o.Pools, 1)
	rows = make(map[string]tenant)
	for _, row := range o.Pools[0].Tenants {
		rows[row.Name] = row
	}
	return rows, o.Pools[0].Others
}

// Of more tenants than there are rows those that wait have one, and of these those that
// hold least of what is due to them.
func TestOverview_ShowsTheTenantsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const holders, rows = 60, 50
		p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{holders}}}})
		require.NoError(t, err)
		for i := range holders {
			lease, err := p.Acquire(t.Context(), fmt.Sprintf("holder%02d", i), resources.Vector{1})
			require.NoError(t, err)
			defer lease.Release()
		}
		ctx, cancel := context.WithCancel(t.Context())
		wait := func(name string) {
			go func() { _, _ = p.Acquire(ctx, name, resources.Vector{1}) }()
			synctest.Wait()
		}
		wait("starved")
		h := view.Handler(view.Config{Pools: map[string]*pool.Pool{"p": p}})
		got, others := tenants(t, h)
		require.Len(t, got, rows)
		require.Equal(t, 1, got["starved"].Waiting)
		require.Equal(t, tenant{Tenants: holders + 1 - rows}, others)
		for i := range holders {
			wait(fmt.Sprintf("holder%02d", i))
		}
		pass(2 * time.Second)
		got, _ = tenants(t, h)
		require.Contains(t, got, "starved", "of those that wait it holds the least of what is due")
		cancel()
		synctest.Wait()
	})
}

// The page and the exporters count the same refusals.
func TestOverview_CountsRefusalsAsCountsDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := pool.New(pool.Config{
			Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{1}}},
			Tenants:  map[string]pool.Settings{"b": {Queue: 1}},
		})
		require.NoError(t, err)
		lease, err := p.Acquire(t.Context(), "a", resources.Vector{1})
		require.NoError(t, err)
		_, ok := p.TryAcquire("b", resources.Vector{1}) // no room
		require.False(t, ok)
		_, err = p.Acquire(t.Context(), "b", resources.Vector{2}) // never
		require.Error(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = p.Acquire(ctx, "b", resources.Vector{1}) }() // cancelled
		synctest.Wait()
		_, err = p.Acquire(ctx, "b", resources.Vector{1}) // queue full
		require.Error(t, err)
		cancel()
		synctest.Wait()
		go func() { _, _ = p.Acquire(t.Context(), "b", resources.Vector{1}) }() // closed
		synctest.Wait()
		closing := make(chan struct{})
		go func() { defer close(closing); _ = p.Close(t.Context()) }()
		synctest.Wait()
		got, _ := tenants(t, view.Handler(view.Config{Pools: map[string]*pool.Pool{"p": p}}))
		for _, s := range p.Stats().Tenants {
			want := uint64(0)
			counts := s.Counts()
			for _, r := range counts.Refused {
				want += r.Count
			}
			require.Equal(t, want, got[s.Name].Refused, s.Name)
		}
		require.EqualValues(t, 5, got["b"].Refused)
		require.NoError(t, lease.Release())
		<-closing
	})
}

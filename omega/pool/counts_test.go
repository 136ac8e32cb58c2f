package pool_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

func TestTenantStats_HaveTheCountsOfAllPackages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{1}}}})
		require.NoError(t, err)
		held, err := p.Acquire(t.Context(), "a", resources.Vector{1})
		require.NoError(t, err)
		_, ok := p.TryAcquire("a", resources.Vector{1})
		require.False(t, ok)
		_, err = p.Acquire(t.Context(), "a", resources.Vector{9})
		require.Error(t, err)
		go func() {
			time.Sleep(3 * time.Second)
			_ = held.Release()
		}()
		next, err := p.Acquire(t.Context(), "a", resources.Vector{1})
		require.NoError(t, err)
		stats := p.Stats().Tenants
		require.Len(t, stats, 1)
		c := stats[0].Counts()
		want := observe.Counts{Name: "a", Claims: 4, Granted: 2, Refused: []observe.Refusal{{Reason: "never fits", Count: 1}, {Reason: "no room", Count: 1}}}
		want.Waited.Add(3 * time.Second)
		require.Equal(t, want, c)
		require.NoError(t, next.Release())
		require.NoError(t, p.Close(t.Context()))
	})
}

// A request that waits for a token of the rate is granted later, so it is no refusal.
func TestTenantStats_CountARequestThatWaitsForTheRateOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{9}}}})
		require.NoError(t, err)
		tenant, err := p.Tenant("a", pool.Settings{Rate: 100, Burst: 1})
		require.NoError(t, err)
		for range 5 {
			lease, err := tenant.Acquire(t.Context(), resources.Vector{1})
			require.NoError(t, err)
			defer func() { require.NoError(t, lease.Release()) }()
		}
		stats := p.Stats().Tenants[0]
		require.EqualValues(t, 4, stats.Throttled)
		c := stats.Counts()
		require.Equal(t, [2]uint64{5, 5}, [2]uint64{c.Claims, c.Granted})
		require.Empty(t, c.Refused)
	})
}

// counters returns the counts of all tenants together, the forgotten ones included.
func counters(p *pool.Pool) (sum observe.Counts) {
	s := p.Stats()
	for i := range s.Tenants {
		if !strings.Contains(s.Tenants[i].Name, "/") { // a group has the numbers of its tenants
			c := s.Tenants[i].Counts()
			sum.Add(&c)
		}
	}
	c := s.Forgotten.Counts()
	sum.Add(&c)
	return sum
}

func TestStats_KeepTheCountsOfTenantsThatAreForgotten(t *testing.T) {
	p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{9}}}})
	require.NoError(t, err)
	group, err := p.Tenant("group")
	require.NoError(t, err)
	_, err = group.Tenant("in")
	require.NoError(t, err)
	const names = 5000
	for i := range names {
		name := "group/in"
		if i > 0 {
			name = fmt.Sprint("tenant-", i)
		}
		lease, err := p.Acquire(t.Context(), name, resources.Vector{1})
		require.NoError(t, err)
		_, ok := p.TryAcquire(name, resources.Vector{9})
		require.False(t, ok)
		_, err = p.Acquire(t.Context(), name, resources.Vector{10})
		require.Error(t, err)
		require.NoError(t, lease.Release())
		if i%512 == 0 {
			require.EqualValues(t, i+1, counters(p).Granted)
		}
	}
	require.Less(t, len(p.Stats().Tenants), names)
	require.Equal(t, observe.Counts{Claims: 3 * names, Granted: names, Refused: []observe.Refusal{
		{Reason: "never fits", Count: names}, {Reason: "no room", Count: names},
	}}, counters(p))
	before := p.Stats().Forgotten
	for i := range names { // the statistics are the caller's
		_, _ = p.TryAcquire(fmt.Sprint("more-", i), resources.Vector{10})
	}
	require.Less(t, before.NoRoom+before.Never, p.Stats().Forgotten.NoRoom+p.Stats().Forgotten.Never)
	require.NoError(t, p.Close(t.Context()))
}

// Tenants are copied in parts, between which others are forgotten.
func TestStats_NeverFallWhileTenantsAreForgotten(t *testing.T) {
	p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{9}}}})
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 20_000 {
			lease, err := p.Acquire(context.Background(), fmt.Sprint("tenant-", i), resources.Vector{1})
			if err != nil || lease.Release() != nil {
				panic("no lease")
			}
		}
	}()
	for last, going := uint64(0), true; going; {
		select {
		case <-done:
			going = false
		default:
		}
		now := counters(p).Granted
		require.GreaterOrEqual(t, now, last)
		require.LessOrEqual(t, now, uint64(20_000))
		last = now
	}
	require.EqualValues(t, 20_000, counters(p).Granted)
	require.NoError(t, p.Close(t.Context()))
}

// A tenant that has waited and becomes a group later has waits of its own. Its tenant may
// take the number of one that was forgotten, and then comes first.
func TestStats_CountTheWaitsOfAGroupWithinAGroupOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{1}}}})
		require.NoError(t, err)
		names := 0
		fill := func(upTo int) { // with tenants to be forgotten
			for ; names < upTo; names++ {
				lease, err := p.Acquire(t.Context(), fmt.Sprint("brief-", names), resources.Vector{1})
				require.NoError(t, err)
				require.NoError(t, lease.Release())
			}
		}
		fill(1000)
		outer, err := p.Tenant("outer")
		require.NoError(t, err)
		inner, err := outer.Tenant("inner")
		require.NoError(t, err)
		wait := func(tenant *pool.Tenant) {
			held, err := p.Acquire(t.Context(), "other", resources.Vector{1})
			require.NoError(t, err)
			go func() {
				time.Sleep(time.Second)
				_ = held.Release()
			}()
			lease, err := tenant.Acquire(t.Context(), resources.Vector{1})
			require.NoError(t, err)
			require.NoError(t, lease.Release())
		}
		wait(inner)
		fill(1022) // the next tenant makes the pool forget these
		leaf, err := inner.Tenant("leaf")
		require.NoError(t, err)
		require.Less(t, len(p.Stats().Tenants), 10)
		wait(leaf)
		for _, s := range p.Stats().Tenants {
			if c := s.Counts(); s.Name == "outer" || s.Name == "outer/inner" {
				require.EqualValues(t, 2, c.Waited.Count(), s.Name)
				require.Equal(t, 2*time.Second, c.Waited.Sum, s.Name)
			}
		}
		require.NoError(t, p.Close(t.Context()))
	})
}

func TestTenantStats_CountRequestsThatEndWithThePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{1}}}})
		require.NoError(t, err)
		held, err := p.Acquire(t.Context(), "a", resources.Vector{1})
		require.NoError(t, err)
		ended := make(chan error)
		for range 2 {
			go func() {
				_, err := p.Acquire(context.Background(), "a", resources.Vector{1})
				ended <- err
			}()
		}
		synctest.Wait()
		go func() {
			for range 2 {
				if err := <-ended; err == nil {
					t.Error("a request that waits is granted by a pool that closes")
				}
			}
			_ = held.Release()
		}()
		require.NoError(t, p.Close(t.Context()))
		c := p.Stats().Tenants[0].Counts()
		require.Equal(t, []observe.Refusal{{Reason: "closed", Count: 2}}, c.Refused)
		require.EqualValues(t, 3, c.Claims)
	})
}

package pool_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// await sends a request that ends with the test.
func await(t *testing.T, n *pool.Tenant, r pool.Request) {
	t.Helper()
	go func() { _, _ = n.Request(t.Context(), r) }()
	synctest.Wait()
}

// Nothing is preempted for a request of a strict tenant behind one that needs room
// in another way: the room would idle until that starts.
func TestGuarantee_OfAStrictTenantWaitsBehindARequestThatItDoesNotServe(t *testing.T) {
	onFirst := pool.Request{Needs: []resources.Vector{v(2)}, Prefer: []locality.Node{0}, Required: true}
	for name, c := range map[string]struct {
		machines []int64
		first    pool.Request
	}{
		"of several needs":                    {[]int64{0, 10}, pool.Request{Needs: []resources.Vector{v(5), v(5)}}},
		"that finds no machine":               {[]int64{2, 10}, onFirst},
		"that is too large for the guarantee": {[]int64{0, 10}, pool.Request{Needs: []resources.Vector{v(7)}}},
	} {
		for _, strict := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := newPool(t, pool.Config{Machines: machines(c.machines...), Patience: -1})
					a := tenant(t, p, "a", pool.Settings{Guarantee: v(4), Strict: strict})
					if c.machines[0] > 0 { // what is on the first machine is safe
						await(t, tenant(t, p, "high", pool.Settings{Priority: 1}), onFirst)
					}
					held := take(t, tenant(t, p, "b"), 10, 1)
					await(t, a, c.first)
					require.Empty(t, preempted(held))
					second := submit(t, a, 2)
					if strict {
						require.Empty(t, preempted(held))
						require.Zero(t, p.Stats().Machines[1].Reserved)
						return
					}
					require.Len(t, preempted(held), 2)
					release(t, preempted(held)...)
					require.True(t, second())
				})
			})
		}
	}
}

// A request of a higher priority comes before one of a strict tenant that is owed
// room: if it cannot have room taken back, the room goes to others meanwhile.
func TestGuarantee_OfAStrictTenantIsWithdrawnBehindALaterRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(10))
		a := tenant(t, p, "a", pool.Settings{Guarantee: v(4), Strict: true})
		held := take(t, tenant(t, p, "b"), 5, 2)
		first := submit(t, a, 2)
		require.Len(t, preempted(held), 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, _ = a.Request(ctx, pool.Request{Needs: []resources.Vector{v(5), v(5)}, Priority: 1})
		}()
		synctest.Wait()
		other := submit(t, tenant(t, p, "o"), 2)
		release(t, preempted(held)...)
		held = held[:4]
		require.True(t, other())
		require.False(t, first())
		require.Empty(t, preempted(held))
		cancel()
		synctest.Wait()
		require.Len(t, preempted(held), 1, "the request is the first again")
		release(t, preempted(held)...)
		require.True(t, first())
	})
	synctest.Test(t, func(t *testing.T) { // a later one that is covered, too, goes first
		p := newPool(t, oneMachine(10))
		a := tenant(t, p, "a", pool.Settings{Guarantee: v(4), Strict: true})
		held := take(t, tenant(t, p, "b"), 5, 2)
		first := submit(t, a, 2)
		urgent := make(chan struct{})
		go func() {
			if _, err := a.Request(t.Context(), pool.Request{Needs: []resources.Vector{v(2)}, Priority: 1}); err == nil {
				close(urgent)
			}
		}()
		synctest.Wait()
		require.Len(t, preempted(held), 2)
		release(t, preempted(held)...)
		<-urgent
		require.True(t, first())
	})
}

// A tenant that becomes strict keeps no promise to a request that is not the next.
func TestGuarantee_OfATenantThatBecomesStrictIsWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(10))
		s := pool.Settings{Guarantee: v(4)}
		a := tenant(t, p, "a", s)
		held := take(t, tenant(t, p, "b"), 5, 2)
		await(t, a, pool.Request{Needs: []resources.Vector{v(5), v(5)}})
		second, other := submit(t, a, 2), submit(t, tenant(t, p, "o"), 2)
		require.Len(t, preempted(held), 1)
		s.Strict = true
		require.NoError(t, a.Set(s))
		release(t, preempted(held)...)
		time.Sleep(time.Minute)
		require.False(t, second())
		require.True(t, other())
	})
}

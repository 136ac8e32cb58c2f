package pool_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
)

// The time after which to try again counts the tenant's own queue, and as many leases as
// are held, however many tenants there are before it.
func TestWaitError_RetryAfterCountsItsOwnQueueAmongManyTenants(t *testing.T) {
	for _, before := range []int{10, 1500, 4000} {
		t.Run(fmt.Sprint(before), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, oneMachine(100))
				for i := range before {
					tenant(t, p, fmt.Sprint("idle-", i))
				}
				n := tenant(t, p, "late", pool.Settings{Queue: 300, Limit: v(100, 100), Limited: true})
				ctx, cancel := context.WithCancel(t.Context())
				for range 400 {
					err := n.Go(ctx, v(1), func(ctx context.Context, _ pool.Lease) error {
						select {
						case <-time.After(10 * time.Second):
						case <-ctx.Done():
						}
						return nil
					})
					require.NoError(t, err)
				}
				time.Sleep(11 * time.Second) // a hundred have ended, and 200 wait
				for range 100 {
					require.NoError(t, n.Go(ctx, v(1), func(context.Context, pool.Lease) error { return nil }))
				}
				var full *pool.WaitError
				require.ErrorAs(t, n.Go(ctx, v(1), func(context.Context, pool.Lease) error { return nil }), &full)
				require.InDelta(t, 30, full.RetryAfter().Seconds(), 5)
				cancel()
				time.Sleep(time.Minute)
			})
		})
	}
}

// Of many tenants some wait, with two tasks each. The estimate is the time until all of
// them have run, and those ahead in the tenant's own queue.
func TestWaitError_RetryAfterCountsTheTenantsThatWait(t *testing.T) {
	const tenants, slots, length = 1000, 4, 10 * time.Second
	for _, waiting := range []int{5, 50, 100, 500, 1000} {
		t.Run(fmt.Sprint(waiting), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, pool.Config{Machines: machines(slots)})
				ctx, cancel := context.WithCancel(t.Context())
				work := func(ctx context.Context, _ pool.Lease) error {
					select {
					case <-time.After(length):
					case <-ctx.Done():
					}
					return nil
				}
				late := tenant(t, p, "late", pool.Settings{Queue: 3})
				for range slots + 3 {
					require.NoError(t, late.Go(ctx, v(1), work))
				}
				time.Sleep(2*length + time.Second) // the length is known: some have waited
				for i := range tenants {
					o := tenant(t, p, fmt.Sprint("other ", i))
					if i%(tenants/waiting) == 0 {
						require.NoError(t, o.Go(ctx, v(1), work))
						require.NoError(t, o.Go(ctx, v(1), work))
					}
				}
				for range 3 {
					require.NoError(t, late.Go(ctx, v(1), work))
				}
				var full *pool.WaitError
				require.ErrorAs(t, late.Go(ctx, v(1), work), &full)
				want := float64(2*waiting-slots+3+1) * length.Seconds() / slots
				require.InEpsilon(t, want, full.RetryAfter().Seconds(), 0.25)
				cancel()
				time.Sleep(time.Minute)
			})
		})
	}
}

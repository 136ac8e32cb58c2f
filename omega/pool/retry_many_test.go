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

package pool_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/cellsched/cellsched/omega/pool"
)

// BenchmarkAcquire measures Acquire and Release without contention on a pool
// of one machine on which many leases are held already.
func BenchmarkAcquire(b *testing.B) {
	for _, held := range []int{0, 100, 10_000} {
		for _, watched := range []bool{false, true} {
			b.Run(fmt.Sprintf("held=%d/watched=%v", held, watched), func(b *testing.B) {
				cfg := pool.Config{Machines: machines(20_000)}
				if watched {
					cfg.OnLeak = func(*pool.Lease) {}
				}
				p := newPool(b, cfg)
				leases := make([]*pool.Lease, held)
				for i := range leases {
					leases[i] = acquire(b, p, fmt.Sprint("tenant-", i%10), 1)
				}
				ctx := context.Background()
				b.ReportAllocs()
				for b.Loop() {
					l, err := p.Acquire(ctx, "tenant-0", v(1))
					if err != nil {
						b.Fatal(err)
					}
					if err := l.Release(); err != nil {
						b.Fatal(err)
					}
				}
				runtime.KeepAlive(leases)
			})
		}
	}
}

package pool_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/cellsched/cellsched/omega/pool"
)

// BenchmarkAcquire measures Acquire and Release while no tenant waits, on a pool
// of one machine on which many leases are held already. The channel is the
// yardstick.
func BenchmarkAcquire(b *testing.B) {
	for _, held := range []int{0, 10_000} {
		for _, watched := range []bool{false, true} {
			b.Run(fmt.Sprintf("impl=pool/held=%d/watched=%v", held, watched), func(b *testing.B) {
				cfg := pool.Config{Machines: machines(20_000)}
				if watched {
					cfg.OnLeak = func(pool.Lease) {}
				}
				p := newPool(b, cfg)
				leases := make([]pool.Lease, held)
				for i := range leases {
					leases[i] = acquire(b, p, fmt.Sprint("tenant-", i%10), 1)
				}
				ctx, n, need := context.Background(), tenant(b, p, "tenant-0"), v(1)
				b.ReportAllocs()
				for b.Loop() {
					l, err := n.Acquire(ctx, need)
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
	b.Run("impl=channel", func(b *testing.B) {
		c := make(chan struct{}, 20_000)
		for b.Loop() {
			c <- struct{}{}
			<-c
		}
	})
}

// BenchmarkHandOver measures Acquire and Release by more goroutines than there
// are units, each a tenant's.
func BenchmarkHandOver(b *testing.B) {
	for _, goroutines := range []int{8, 64} {
		b.Run(fmt.Sprintf("impl=pool/goroutines=%d", goroutines), func(b *testing.B) {
			p, need := newPool(b, pool.Config{Machines: machines(1)}), v(1)
			each := b.N/goroutines + 1
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			for g := range goroutines {
				n := tenant(b, p, fmt.Sprint(g))
				wg.Go(func() {
					for range each {
						l, _ := n.Acquire(context.Background(), need)
						_ = l.Release()
					}
				})
			}
			wg.Wait()
		})
		b.Run(fmt.Sprintf("impl=channel/goroutines=%d", goroutines), func(b *testing.B) {
			c := make(chan struct{}, 1)
			each := b.N/goroutines + 1
			b.ResetTimer()
			var wg sync.WaitGroup
			for range goroutines {
				wg.Go(func() {
					for range each {
						c <- struct{}{}
						<-c
					}
				})
			}
			wg.Wait()
		})
	}
}

package pool_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// BenchmarkRelease measures Release and TryAcquire while 64 requests within a
// guarantee wait and nothing can be preempted for them. The other leases are safe
// by the class or the guarantee of their tenant. The mutex is held for all of it.
func BenchmarkRelease(b *testing.B) {
	for _, safe := range []string{"class", "guarantee"} {
		for _, leases := range []int{100, 1_000, 10_000} {
			for _, count := range []int{1, 200} {
				b.Run(fmt.Sprintf("safe=%s/leases=%d/machines=%d", safe, leases, count), func(b *testing.B) {
					each := leases / count
					if each == 0 || count == 1 && safe == "guarantee" {
						b.Skip("too few leases for the machines, or a guarantee that finds room")
					}
					p := newPool(b, pool.Config{Machines: machines(repeat(int64(each), count)...), Patience: -1})
					other := pool.Settings{Priority: 1}
					if safe == "guarantee" {
						other = pool.Settings{Guarantee: v(int64(each*count - 2))}
					}
					holder := tenant(b, p, "holder", other)
					held := make([]pool.Lease, each*count)
					for i := range held {
						held[i], _ = holder.TryAcquire(v(1))
					}
					for _, i := range []int{0, each % len(held)} { // the latest leases, on two machines
						_ = held[i].Release()
						held[i], _ = holder.TryAcquire(v(1))
					}
					waits := tenant(b, p, "waits", pool.Settings{Guarantee: v(2)})
					for range 64 { // tasks wait without a goroutine
						if err := waits.Go(b.Context(), v(2), func(context.Context, pool.Lease) error { return nil }); err != nil {
							b.Skip(err)
						}
					}
					i := 2 * each % len(held)
					for b.Loop() {
						_ = held[i].Release()
						held[i], _ = holder.TryAcquire(v(1))
						i = (i + each) % len(held) // on another machine, so that no two units are free on one
					}
					if s := p.Stats(); s.Waiting != 64 || len(p.Overdue()) > 0 || s.Machines[0].Reserved != v() {
						b.Fatal("a request was served, or is owed room")
					}
				})
			}
		}
	}
}

// BenchmarkResizeMachine measures a machine that shrinks and grows while requests
// wait for it.
func BenchmarkResizeMachine(b *testing.B) {
	for _, count := range []int{1, 200} {
		for _, waiters := range []int{100, 10_000} {
			for _, tenants := range []int{1, 100} {
				b.Run(fmt.Sprintf("machines=%d/waiters=%d/tenants=%d", count, waiters, tenants), func(b *testing.B) {
					p := newPool(b, pool.Config{Machines: machines(repeat(4, count)...), Patience: -1})
					for range count {
						acquire(b, p, "holder", 4)
					}
					for i := range waiters {
						n := tenant(b, p, fmt.Sprint("tenant-", i%tenants))
						if err := n.Go(b.Context(), v(2), func(context.Context, pool.Lease) error { return nil }); err != nil {
							b.Fatal(err)
						}
					}
					for b.Loop() {
						_ = p.ResizeMachine("m0", v(3, 3))
						_ = p.ResizeMachine("m0", v(4, 4))
					}
				})
			}
		}
	}
}

// repeat returns n times the same amount.
func repeat(q int64, n int) (all []int64) {
	for range n {
		all = append(all, q)
	}
	return all
}

// BenchmarkRequest_Priority measures a request that goes before those that wait and
// gives up at once.
func BenchmarkRequest_Priority(b *testing.B) {
	for _, waiters := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("waiters=%d", waiters), func(b *testing.B) {
			p := newPool(b, pool.Config{Machines: machines(1), Patience: -1})
			acquire(b, p, "holder", 1)
			n := tenant(b, p, "tenant")
			for range waiters {
				if err := n.Go(b.Context(), v(1), func(context.Context, pool.Lease) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			r := pool.Request{Needs: []resources.Vector{v(1)}, Priority: 1, MaxWait: 1}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = n.Request(b.Context(), r)
			}
		})
	}
}

// BenchmarkGroup_Drop measures a group of one task that ends while those of others
// wait.
func BenchmarkGroup_Drop(b *testing.B) {
	for _, waiters := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("waiters=%d", waiters), func(b *testing.B) {
			p := newPool(b, pool.Config{Machines: machines(1), Patience: -1})
			acquire(b, p, "holder", 1)
			n := tenant(b, p, "tenant")
			nothing := func(context.Context, pool.Lease) error { return nil }
			for range waiters {
				if err := n.Go(b.Context(), v(1), nothing); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				ctx, cancel := context.WithCancel(b.Context())
				g, _ := n.Group(ctx)
				if err := g.Go(v(1), nothing); err != nil {
					b.Fatal(err)
				}
				cancel()
				_ = g.Wait()
			}
		})
	}
}

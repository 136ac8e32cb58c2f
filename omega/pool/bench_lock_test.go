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

// BenchmarkRelease_Promised measures Release and TryAcquire of a tenant that is safe,
// while so many requests of guaranteed tenants are promised room that its holders do
// not release.
func BenchmarkRelease_Promised(b *testing.B) {
	for _, each := range []int{1, 64} {
		for _, tenants := range []int{1, 100} {
			for _, count := range []int{1, 200} {
				b.Run(fmt.Sprintf("promises=%d/tenants=%d/machines=%d", each*tenants, tenants, count), func(b *testing.B) {
					units := max(each*tenants/count, 1)
					p := newPool(b, pool.Config{Machines: machines(repeat(int64(units), count)...), Patience: -1})
					safe, late := tenant(b, p, "safe", pool.Settings{Priority: 1}), tenant(b, p, "late")
					for range count * units {
						_, _ = late.TryAcquire(v(1))
					}
					held := make([]pool.Lease, count) // of another kind
					for i := range held {
						held[i], _ = safe.TryAcquire(v(0, int64(units)))
					}
					for i := range tenants {
						n := tenant(b, p, fmt.Sprint("tenant-", i), pool.Settings{Guarantee: v(int64(each))})
						for range each {
							if err := n.Go(b.Context(), v(1), func(context.Context, pool.Lease) error { return nil }); err != nil {
								b.Fatal(err)
							}
						}
					}
					other := tenant(b, p, "other") // waits, and gets nothing
					if err := other.Go(b.Context(), v(1), func(context.Context, pool.Lease) error { return nil }); err != nil {
						b.Fatal(err)
					}
					i := 0
					for b.Loop() {
						_ = held[i].Release()
						held[i], _ = safe.TryAcquire(v(0, int64(units)))
						i = (i + 1) % len(held)
					}
					if s := p.Stats(); s.Waiting != each*tenants+1 {
						b.Fatal("a request was served")
					}
				})
			}
		}
	}
}

// BenchmarkRelease_GuaranteedGroup measures Release and TryAcquire while each tenant of a
// group waits and the guarantee of the group is used up.
func BenchmarkRelease_GuaranteedGroup(b *testing.B) {
	for _, tenants := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("tenants=%d", tenants), func(b *testing.B) {
			p := newPool(b, pool.Config{Machines: machines(8), Patience: -1})
			g, safe := tenant(b, p, "g", pool.Settings{Guarantee: v(4)}), tenant(b, p, "safe", pool.Settings{Priority: 1})
			first, err := g.Tenant("first")
			if err != nil {
				b.Fatal(err)
			}
			for range 4 {
				_, _ = first.TryAcquire(v(1))
			}
			held := acquire(b, p, "other", 3)
			l, _ := safe.TryAcquire(v(1))
			for i := range tenants {
				n, err := g.Tenant(fmt.Sprint("tenant-", i))
				if err != nil {
					b.Fatal(err)
				}
				if err := n.Go(b.Context(), v(2), func(context.Context, pool.Lease) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				_ = l.Release()
				l, _ = safe.TryAcquire(v(1))
			}
			if held.Context().Err() != nil {
				b.Fatal("the guarantee is used up")
			}
		})
	}
}

// BenchmarkGo_Preempts measures a task within a guarantee for which one of many leases
// is preempted, from its arrival until that is released.
func BenchmarkGo_Preempts(b *testing.B) {
	for _, leases := range []int{100, 10_000} {
		for _, count := range []int{1, 100} {
			b.Run(fmt.Sprintf("leases=%d/machines=%d", leases, count), func(b *testing.B) {
				p := newPool(b, pool.Config{Machines: machines(repeat(int64(leases/count), count)...), Patience: -1})
				holder, owed := tenant(b, p, "holder"), tenant(b, p, "owed", pool.Settings{Guarantee: v(1)})
				var held []pool.Lease
				for range leases {
					l, _ := holder.TryAcquire(v(1))
					held = append(held, l)
				}
				for b.Loop() {
					done := make(chan struct{})
					if err := owed.Go(b.Context(), v(1), func(context.Context, pool.Lease) error { close(done); return nil }); err != nil {
						b.Fatal(err)
					}
					_ = held[len(held)-1].Release() // the latest is preempted
					<-done
					for ok := false; !ok; {
						held[len(held)-1], ok = holder.TryAcquire(v(1))
					}
				}
			})
		}
	}
}

// BenchmarkSet_Guarantee measures new settings by which so many requests that wait are
// promised room at once.
func BenchmarkSet_Guarantee(b *testing.B) {
	for _, waiters := range []int{1, 64, 1_000} {
		for _, count := range []int{1, 200} {
			b.Run(fmt.Sprintf("waiters=%d/machines=%d", waiters, count), func(b *testing.B) {
				p := newPool(b, pool.Config{Machines: machines(repeat(int64(10_000/count), count)...), Patience: -1})
				holder, owed := tenant(b, p, "holder"), tenant(b, p, "owed")
				for range 10_000 {
					_, _ = holder.TryAcquire(v(1))
				}
				for range waiters {
					if err := owed.Go(b.Context(), v(1), func(context.Context, pool.Lease) error { return nil }); err != nil {
						b.Fatal(err)
					}
				}
				b.ResetTimer()
				for range b.N {
					if err := owed.Set(pool.Settings{Guarantee: v(int64(waiters))}); err != nil {
						b.Fatal(err)
					}
				}
			})
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

package admission_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"github.com/cellsched/cellsched/internal/cputime"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
)

// BenchmarkTryAcquireRefused measures an attempt that finds no room.
func BenchmarkTryAcquireRefused(b *testing.B) {
	b.Run("peer=semaphore", func(b *testing.B) {
		s := semaphore.NewWeighted(1)
		require.True(b, s.TryAcquire(1))
		measure(b, func() {
			if s.TryAcquire(1) {
				b.Fatal("it was granted")
			}
		})
	})
	b.Run("peer=pool", func(b *testing.B) {
		p := newPool(b, 1, func() {}, tenants(1))
		_, ok := p.tenants[0].TryAcquire(unit)
		require.True(b, ok)
		measure(b, func() {
			if _, ok := p.tenants[0].TryAcquire(unit); ok {
				b.Fatal("it was granted")
			}
		})
	})
}

// BenchmarkHandOver measures the end of a task that serves the next tenant, and
// that tenant's next request. There are so many machines of one unit each, all
// taken, and so many tenants that always wait.
func BenchmarkHandOver(b *testing.B) {
	for _, shape := range []struct{ machines, tenants int }{{1, 8}, {64, 8}, {512, 8}, {1, 1_000}, {1, 100_000}} {
		b.Run(fmt.Sprintf("machines=%d/tenants=%d", shape.machines, shape.tenants), func(b *testing.B) {
			p, taken := full(b, shape.machines)
			// Tasks of the queue: a worker that ends one takes the next, so that no
			// switch of goroutines is measured.
			done, left := make(chan struct{}), b.N
			b.ReportAllocs()
			for i := range shape.tenants {
				n, err := p.pool.Tenant(fmt.Sprint("waits-", i))
				require.NoError(b, err)
				var task func(context.Context, pool.Lease) error
				task = func(ctx context.Context, _ pool.Lease) error {
					if left--; left == 0 {
						close(done)
					}
					if left <= 0 {
						return nil
					}
					return n.Go(b.Context(), unit, task)
				}
				require.NoError(b, n.Go(b.Context(), unit, task))
			}
			b.ResetTimer()
			start := cputime.Used()
			require.NoError(b, taken[shape.machines/2].Release())
			<-done
			b.ReportMetric(float64(cputime.Used()-start)/float64(b.N), "cpu-ns/op")
		})
	}
}

// full returns a pool of so many machines of one unit, all taken by leases.
func full(b *testing.B, machines int) (*poolPeer, []pool.Lease) {
	b.Helper()
	p := newPool(b, 1, func() {}, tenants(maxSubmitters))
	for i := 1; i < machines; i++ {
		_, err := p.pool.AddMachine(omega.Machine{Name: fmt.Sprint("m", i), Capacity: unit})
		require.NoError(b, err)
	}
	holder, err := p.pool.Tenant("holder")
	require.NoError(b, err)
	leases := make([]pool.Lease, machines)
	for i := range leases {
		var ok bool
		leases[i], ok = holder.TryAcquire(unit)
		require.True(b, ok)
	}
	return p, leases
}

// BenchmarkManyTenants measures an attempt and a release by so many tenants in turn,
// where none waits. BenchmarkHandOver has as many that wait.
func BenchmarkManyTenants(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("tenants=%d", n), func(b *testing.B) {
			p := newPool(b, 10, func() {}, []string{"first"}).pool
			all := make([]*pool.Tenant, n)
			for i := range all {
				var err error
				all[i], err = p.Tenant(fmt.Sprint("tenant-", i))
				require.NoError(b, err)
			}
			i := 0
			measure(b, func() {
				l, ok := all[i%n].TryAcquire(unit)
				if !ok {
					b.Fatal("it was refused")
				}
				if err := l.Release(); err != nil {
					b.Fatal(err)
				}
				i++
			})
		})
	}
}

// BenchmarkLookAround measures Stats and Waiters with 10,000 tenants that wait.
// Both let others go on after each 64 tenants. held-ns is the mean time for which
// they have the mutex: the CPU time of the call over the number of such parts.
// Longest-ns is the longest of the calls that another goroutine makes beside it, by
// the wall clock. It counts all else that the machine runs, too.
func BenchmarkLookAround(b *testing.B) {
	const n, part = 10_000, 64
	p := newPool(b, 1, func() {}, []string{"first"}).pool
	for i := range n {
		t, err := p.Tenant(fmt.Sprint("tenant-", i))
		require.NoError(b, err)
		if i == 0 {
			_, ok := t.TryAcquire(unit)
			require.True(b, ok)
		}
		require.NoError(b, t.Go(b.Context(), unit, func(context.Context, pool.Lease) error { return nil }))
	}
	other, err := p.Tenant("other")
	require.NoError(b, err)
	for _, what := range []struct {
		name string
		look func()
	}{{"stats", func() { p.Stats() }}, {"waiters", func() { p.Waiters() }}} {
		b.Run("what="+what.name, func(b *testing.B) {
			per := measure(b, what.look)
			b.ReportMetric(per/(n/part), "held-ns")
			var longest []time.Duration
			for range 20 {
				longest = append(longest, beside(what.look, func() { other.TryAcquire(unit) }))
			}
			slices.Sort(longest)
			b.ReportMetric(float64(longest[len(longest)/2]), "longest-ns")
		})
	}
}

// beside calls a function again and again while another one runs, and returns the
// longest time that it took.
func beside(look, call func()) (longest time.Duration) {
	end := make(chan struct{})
	go func() {
		defer close(end)
		look()
	}()
	for {
		start := time.Now()
		call()
		longest = max(longest, time.Since(start))
		select {
		case <-end:
			return longest
		default:
		}
	}
}

// measure runs f and reports and returns its CPU time.
func measure(b *testing.B, f func()) (ns float64) {
	b.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b.ReportAllocs()
	start := cputime.OfThread()
	for b.Loop() {
		f()
	}
	ns = float64(cputime.OfThread()-start) / float64(b.N)
	b.ReportMetric(ns, "cpu-ns/op")
	return ns
}

package admission_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/cputime"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// BenchmarkSharedCell compares a pool on a cell, by chunk, with one that has the same
// machines to itself. Bar: chunk 16 at most 1.5 times the private one.
//
//	op=acquire   Acquire and Release while no request waits, half of all room taken
//	op=handover  a release that serves the next tenant, and that one's next request
//	op=walk      leases come and go at random, between a quarter and three quarters of all room
func BenchmarkSharedCell(b *testing.B) {
	for _, op := range []struct {
		name string
		run  func(*testing.B, *pool.Pool, int)
	}{{"acquire", acquireHalf}, {"handover", handOver}, {"walk", walk}} {
		for _, machines := range []int{1, 64, 512} {
			for _, chunk := range []int{0, 16, 1} {
				name := "private"
				if chunk > 0 {
					name = fmt.Sprint("chunk-", chunk)
				}
				b.Run(fmt.Sprintf("op=%s/machines=%d/pool=%s", op.name, machines, name), func(b *testing.B) {
					op.run(b, openOnCell(b, machines, chunk), machines)
				})
			}
		}
	}
}

// perMachine is the number of units of a machine.
const perMachine = 128

// openOnCell opens a pool on a cell of its own, or without one for a chunk of 0.
func openOnCell(b *testing.B, machines, chunk int) *pool.Pool {
	b.Helper()
	all := make([]omega.Machine, machines)
	for i := range all {
		all[i] = omega.Machine{Name: fmt.Sprint("m", i), Capacity: resources.Vector{perMachine}}
	}
	cfg := pool.Config{Machines: all}
	if chunk > 0 {
		cell, err := omega.NewCell(omega.Config{Machines: all})
		require.NoError(b, err)
		cfg = pool.Config{Cell: cell, Chunk: chunk}
	}
	p, err := pool.New(cfg)
	require.NoError(b, err)
	return p
}

// hold takes some units, and gives them back in the end.
func hold(b *testing.B, p *pool.Pool, units int) []pool.Lease {
	b.Helper()
	leases := make([]pool.Lease, units)
	for i := range leases {
		var err error
		leases[i], err = p.Acquire(b.Context(), "holder", unit)
		require.NoError(b, err)
	}
	b.Cleanup(func() {
		for _, l := range leases {
			_ = l.Release()
		}
		require.NoError(b, p.Close(context.Background()))
	})
	return leases
}

func acquireHalf(b *testing.B, p *pool.Pool, machines int) {
	b.Helper()
	hold(b, p, machines*perMachine/2)
	n, err := p.Tenant("tenant")
	require.NoError(b, err)
	ctx := context.Background()
	measure(b, func() {
		l, err := n.Acquire(ctx, unit)
		if err != nil {
			b.Fatal(err)
		}
		_ = l.Release()
	})
}

func handOver(b *testing.B, p *pool.Pool, machines int) {
	b.Helper()
	taken := hold(b, p, machines*perMachine)
	done, left := make(chan struct{}), b.N
	for i := range 8 {
		n, err := p.Tenant(fmt.Sprint("waits-", i))
		require.NoError(b, err)
		var task func(context.Context, pool.Lease) error
		task = func(context.Context, pool.Lease) error {
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
	require.NoError(b, taken[len(taken)/2].Release())
	<-done
	b.ReportMetric(float64(cputime.Used()-start)/float64(b.N), "cpu-ns/op")
}

func walk(b *testing.B, p *pool.Pool, machines int) {
	b.Helper()
	most := machines * perMachine
	leases := hold(b, p, most*3/4)
	rng := rand.New(rand.NewPCG(1, 2))
	ctx, n := context.Background(), most/2
	for i := n; i < len(leases); i++ {
		_ = leases[i].Release()
	}
	tenant, err := p.Tenant("tenant")
	require.NoError(b, err)
	measure(b, func() {
		if n > most/4 && (n == len(leases) || rng.Uint32()&1 == 0) {
			i := rng.IntN(n)
			n--
			leases[i], leases[n] = leases[n], leases[i]
			_ = leases[n].Release()
			return
		}
		l, err := tenant.Acquire(ctx, unit)
		if err != nil {
			b.Fatal(err)
		}
		leases[n] = l
		n++
	})
}

package pool_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// In virtual time each request is served in the end, of any kind and in pools of all
// sorts, since every lease ends. A wake-up that is lost leaves the bubble deadlocked.
func TestPool_ServesEachRequest(t *testing.T) {
	seeds := uint64(150)
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 3))
			cfg := near(t, time.Duration(rng.IntN(3))*time.Second)
			cfg.Machines = machines(1+rng.Int64N(6), 1+rng.Int64N(6), 1+rng.Int64N(6), 6)
			p := newPool(t, cfg)
			var wg sync.WaitGroup
			var served, refused atomic.Int64
			const goroutines, rounds = 12, 8
			for g := range goroutines {
				rng := rand.New(rand.NewPCG(seed, uint64(g)+10))
				wg.Go(func() {
					for range rounds {
						tenant := fmt.Sprint("tenant-", rng.IntN(4))
						var prefer []locality.Node
						if rng.IntN(2) == 0 {
							prefer = []locality.Node{locality.Node(rng.IntN(4)), locality.Node(rng.IntN(4))}
						}
						needs := make([]resources.Vector, 1+rng.IntN(3)/2*(1+rng.IntN(3)))
						for i := range needs {
							needs[i] = v(rng.Int64N(5), 1+rng.Int64N(4))
						}
						leases, err := all(t.Context(), p, tenant, needs, prefer...)
						if err != nil {
							refused.Add(1) // more than the pool has
							continue
						}
						served.Add(1)
						time.Sleep(time.Duration(rng.IntN(5)) * time.Second)
						for _, l := range leases {
							_ = l.Release()
						}
					}
				})
			}
			wg.Wait()
			require.EqualValues(t, goroutines*rounds, served.Load()+refused.Load())
			require.Greater(t, served.Load(), refused.Load())
			require.Equal(t, p.Stats().Total, p.Stats().Free)
			require.Zero(t, p.Stats().Waiting)
		})
	}
}

// all takes all needs for a tenant.
func all(ctx context.Context, p *pool.Pool, name string, needs []resources.Vector, prefer ...locality.Node) ([]pool.Lease, error) {
	n, err := p.Tenant(name)
	if err != nil {
		return nil, err
	}
	return n.Request(ctx, pool.Request{Needs: needs, Prefer: prefer})
}

// Random acquires of every sort from many goroutines: nothing is lost, and no waiter
// is forgotten.
func TestPool_ConservesUnderStress(t *testing.T) {
	p := newPool(t, near(t, 10*time.Microsecond))
	var wg sync.WaitGroup
	for g := range 16 {
		rng := rand.New(rand.NewPCG(uint64(g), 1))
		wg.Go(func() {
			for i := range 500 {
				name := fmt.Sprint("tenant-", rng.IntN(5))
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rng.IntN(300))*time.Microsecond)
				var leases []pool.Lease
				var l pool.Lease
				var err error
				switch i % 4 {
				case 0:
					leases, err = all(ctx, p, name, []resources.Vector{v(1)}, locality.Node(rng.IntN(4)))
				case 1:
					l, _ = p.TryAcquire(name, v(1, 1))
				case 2:
					l, err = p.Acquire(ctx, name, v(1))
				default:
					leases, err = all(ctx, p, name, []resources.Vector{v(1), v(0, 1)}, locality.Node(rng.IntN(4)))
				}
				if l != (pool.Lease{}) {
					leases = append(leases, l)
				}
				if err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				if rng.IntN(2) == 0 {
					runtime.Gosched()
				}
				for _, l := range leases {
					if err := l.Release(); err != nil {
						t.Error(err)
					}
				}
				cancel()
			}
		})
	}
	wg.Wait()
	s := p.Stats()
	require.Equal(t, s.Total, s.Free)
	require.Zero(t, s.Leases)
	require.Zero(t, s.Waiting)
	for _, tenant := range s.Tenants {
		require.Zero(t, tenant.Share)
		require.Zero(t, tenant.Held)
	}
	require.NoError(t, p.Close(t.Context()))
}

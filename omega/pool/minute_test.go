package pool_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// minute is for go test -race ./omega/pool -run Minute -args -minute.
var minute = flag.Bool("minute", false, "play the random load of 64 goroutines for a minute instead of a second")

// 64 goroutines of eight tenants take, hold, shrink and release, give up at random
// times and hand tasks over, while machines and settings change. What is lost shows
// as room that does not come back, or as a goroutine that never ends.
func TestPool_AMinuteOfRandomLoad(t *testing.T) {
	length := time.Second
	switch {
	case *minute:
		length = time.Minute
	case testing.Short():
		length = 100 * time.Millisecond
	}
	p := newPool(t, pool.Config{Machines: machines(8, 8), Patience: time.Millisecond, Grace: time.Millisecond})
	settings := [8]pool.Settings{
		{Weight: 10},
		{Guarantee: v(2)},
		{Limit: v(3, 3), Limited: true},
		{Rate: 20_000, Burst: 5},
		{Priority: 1},
		{Strict: true},
		{Queue: 4},
		{MaxWait: time.Millisecond},
	}
	var tenants [8]*pool.Tenant
	for i, s := range settings {
		tenants[i] = tenant(t, p, fmt.Sprint(i), s)
	}
	end, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	var wg sync.WaitGroup
	for g := range 64 {
		rng := rand.New(rand.NewPCG(uint64(g), 5))
		wg.Go(func() {
			for end.Err() == nil {
				disturb(t, p, tenants[g%8], rng)
			}
		})
	}
	wg.Go(func() {
		rng := rand.New(rand.NewPCG(64, 5))
		for end.Err() == nil {
			change(t, p, tenants, settings, rng)
			runtime.Gosched()
		}
	})
	wg.Wait()
	require.NoError(t, p.ResizeMachine("m0", v(8, 8)))
	require.NoError(t, p.DrainMachine("m1", false))
	_ = p.Shutdown(context.Background()) // errors of tasks that were dropped
	s := p.Stats()
	require.Equal(t, v(16, 16), s.Free)
	require.Zero(t, s.Leases)
	require.Zero(t, s.Waiting)
	for _, m := range s.Machines {
		require.Zero(t, m.Held)
		require.Zero(t, m.Reserved)
	}
	for _, n := range s.Tenants {
		require.Zero(t, n.Held, n.Name)
		require.NotZero(t, n.Granted, n.Name)
	}
}

// disturb makes one random call, and releases what it got.
func disturb(t *testing.T, p *pool.Pool, n *pool.Tenant, rng *rand.Rand) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.IntN(500))*time.Microsecond)
	defer cancel()
	need := v(rng.Int64N(3), 1+rng.Int64N(2))
	var leases []pool.Lease
	var err error
	switch rng.IntN(5) {
	case 0:
		leases, err = n.Request(ctx, pool.Request{Needs: []resources.Vector{need, v(1)}, Priority: rng.IntN(3)})
	case 1:
		if l, ok := n.TryAcquire(need); ok {
			leases = append(leases, l)
		}
	case 2:
		_ = n.Go(ctx, need, func(context.Context, pool.Lease) error { return nil })
	case 3:
		_ = n.Do(ctx, need, func(ctx context.Context, _ pool.Lease) error { return ctx.Err() })
	default:
		var l pool.Lease
		if l, err = n.Acquire(ctx, need); err == nil {
			leases = append(leases, l)
		}
	}
	var waited *pool.WaitError
	if err != nil && !errors.As(err, &waited) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, pool.ErrNeed) {
		t.Error(err)
	}
	for i, l := range leases {
		if i == 0 && l.Need()[1] == 2 {
			if err := l.Resize(v(0, 1)); err != nil {
				t.Error(err)
			}
		}
		runtime.Gosched()
		if err := l.Release(); err != nil {
			t.Error(err)
		}
	}
}

// change changes a machine or the settings of a tenant.
func change(t *testing.T, p *pool.Pool, tenants [8]*pool.Tenant, settings [8]pool.Settings, rng *rand.Rand) {
	t.Helper()
	var err error
	switch rng.IntN(4) {
	case 0:
		err = p.ResizeMachine("m0", v(4+rng.Int64N(5), 8))
	case 1:
		err = p.DrainMachine("m1", rng.IntN(2) == 0)
	case 2:
		i := rng.IntN(len(tenants))
		s := settings[i]
		s.Weight = float64(1 + rng.IntN(5))
		err = tenants[i].Set(s)
	default:
		p.Waiters()
		p.Stats()
		p.Overdue()
	}
	if err != nil {
		t.Error(err)
	}
}

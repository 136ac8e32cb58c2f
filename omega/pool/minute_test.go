package pool_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// minute is for go test -race ./omega/pool -run Minute -args -minute.
var minute = flag.Bool("minute", false, "play the random load of 64 goroutines for a minute instead of a second")

// 64 goroutines of eight tenants, five of them in groups, take, hold, shrink and
// release, give up at random times and hand tasks over. Machines and settings change
// meanwhile, and subscriptions come and go. A loss shows as room that does not come
// back, as a goroutine that never ends, or as events that do not add up.
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
	groups := [3]*pool.Tenant{
		tenant(t, p, "limited", pool.Settings{Limit: v(8, 8), Limited: true}),
		tenant(t, p, "rated", pool.Settings{Weight: 2, Rate: 50_000, Burst: 10}),
	}
	var err error
	groups[2], err = groups[1].Tenant("inner", pool.Settings{Guarantee: v(1), Priority: 1})
	require.NoError(t, err)
	in := map[int]*pool.Tenant{1: groups[0], 2: groups[0], 3: groups[1], 4: groups[2], 6: groups[2]}
	var tenants [8]*pool.Tenant
	for i, s := range settings {
		if in[i] == nil {
			tenants[i] = tenant(t, p, fmt.Sprint(i), s)
			continue
		}
		tenants[i], err = in[i].Tenant(fmt.Sprint(i), s)
		require.NoError(t, err)
	}
	heard := p.Subscribe(1 << 10)
	counts := make(chan map[observe.Kind]uint64)
	go func() { counts <- count(t, heard) }()
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
			change(t, p, tenants, groups, settings, rng)
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
	var granted, preempted uint64
	for _, n := range s.Tenants {
		require.Zero(t, n.Held, n.Name)
		require.Zero(t, n.Waiting, n.Name)
		if !strings.Contains(n.Name, "/") { // else it counts in its group, too
			granted, preempted = granted+n.Granted, preempted+n.Preempted
		}
	}
	served := make(map[string]uint64)
	for _, n := range s.Tenants {
		served[n.Name] = n.Granted
	}
	for _, n := range tenants {
		require.NotZero(t, served[n.Name()], n.Name())
	}
	heard.Close()
	told := <-counts
	lost := heard.Dropped()
	require.NotZero(t, told[observe.Refused])
	for kind, n := range map[observe.Kind]uint64{observe.Granted: granted, observe.Released: granted, observe.Preempted: preempted} {
		require.LessOrEqual(t, told[kind], n, kind)
		require.GreaterOrEqual(t, told[kind]+lost, n, kind)
	}
}

// count reads the events of a subscription until it is closed, and counts them.
func count(t *testing.T, s *observe.Subscription) map[observe.Kind]uint64 {
	t.Helper()
	counts := make(map[observe.Kind]uint64)
	for e := range s.Events() {
		counts[e.Kind]++
		if refused := e.Kind == observe.Refused; refused != (e.Err != nil) || refused && e.Err.Error() == "" || e.Waited < 0 {
			t.Errorf("event %+v", e)
		}
	}
	return counts
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

// change changes a machine, the settings of a tenant or those of a group.
func change(t *testing.T, p *pool.Pool, tenants [8]*pool.Tenant, groups [3]*pool.Tenant, settings [8]pool.Settings, rng *rand.Rand) {
	t.Helper()
	var err error
	switch rng.IntN(6) {
	case 0:
		err = p.ResizeMachine("m0", v(4+rng.Int64N(5), 8))
	case 1:
		err = p.DrainMachine("m1", rng.IntN(2) == 0)
	case 2:
		i := rng.IntN(len(tenants))
		s := settings[i]
		s.Weight = float64(1 + rng.IntN(5))
		err = tenants[i].Set(s)
	case 3: // the guarantees in it stay below, some needs do not
		n := 2 + rng.Int64N(8)
		err = groups[0].Set(pool.Settings{Limit: v(n, 2*n), Limited: true, Priority: rng.IntN(2)})
	case 4:
		i := 1 + rng.IntN(2)
		s := groups[i].Settings()
		s.Weight = float64(1 + rng.IntN(5))
		err = groups[i].Set(s)
	default:
		s := p.Subscribe(4)
		defer s.Close()
		p.Waiters()
		p.Stats()
		p.Overdue()
	}
	if err != nil {
		t.Error(err)
	}
}

package pool_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func v(q ...int64) (out resources.Vector) {
	copy(out[:], q)
	return out
}

// machines returns one machine for each capacity of its first kind.
func machines(capacities ...int64) (out []omega.Machine) {
	for i, c := range capacities {
		out = append(out, omega.Machine{Name: fmt.Sprint("m", i), Capacity: v(c, c)})
	}
	return out
}

func newPool(tb testing.TB, cfg pool.Config) *pool.Pool {
	tb.Helper()
	p, err := pool.New(cfg)
	require.NoError(tb, err)
	return p
}

func acquire(tb testing.TB, p *pool.Pool, tenant string, need ...int64) *pool.Lease {
	tb.Helper()
	l, err := p.TryAcquire(tenant, v(need...))
	require.NoError(tb, err)
	return l
}

// queue starts an Acquire that has to wait, and returns where its lease
// arrives. To be called in a synctest bubble.
func queue(tb testing.TB, p *pool.Pool, tenant string, need resources.Vector, prefer ...locality.Node) <-chan *pool.Lease {
	tb.Helper()
	got := make(chan *pool.Lease, 1)
	go func() {
		l, err := p.Acquire(context.Background(), tenant, need, prefer...)
		if err == nil {
			got <- l
		}
		close(got)
	}()
	synctest.Wait()
	return got
}

// arrived returns the lease that a waiter was granted, nil if it still waits.
// To be called in a synctest bubble.
func arrived(got <-chan *pool.Lease) *pool.Lease {
	synctest.Wait()
	select {
	case l := <-got:
		return l
	default:
		return nil
	}
}

func release(tb testing.TB, leases ...*pool.Lease) {
	tb.Helper()
	for _, l := range leases {
		require.NotNil(tb, l)
		require.NoError(tb, l.Release())
	}
}

func TestAcquire_PoorestTenantFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(10)})
		// Dominant shares: rich 5/10 of the second kind, middle 3/10 and poor
		// 1/10 of the first.
		held := []*pool.Lease{acquire(t, p, "rich", 0, 5), acquire(t, p, "middle", 3), acquire(t, p, "poor", 1)}
		rest := acquire(t, p, "rest", 6)
		rich, middle, poor := queue(t, p, "rich", v(6)), queue(t, p, "middle", v(6)), queue(t, p, "poor", v(6))

		release(t, rest)
		first := arrived(poor)
		require.NotNil(t, first)
		require.Nil(t, arrived(middle))
		release(t, first)
		second := arrived(middle)
		require.NotNil(t, second)
		require.Nil(t, arrived(rich))
		release(t, second)
		release(t, append(held, arrived(rich))...)
		require.Equal(t, v(10, 10), p.Stats().Free)
	})
}

func TestAcquire_WeightsScaleShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(12), Weights: map[string]float64{"heavy": 4}})
		a, b, rest := acquire(t, p, "heavy", 4), acquire(t, p, "light", 2), acquire(t, p, "rest", 6)
		light, heavy := queue(t, p, "light", v(6)), queue(t, p, "heavy", v(6))
		release(t, rest)
		first := arrived(heavy) // 4/12/4 is less than 2/12
		require.NotNil(t, first)
		require.NoError(t, p.SetWeight("light", 1e6))
		release(t, first)
		release(t, arrived(light), a, b)
		require.ErrorIs(t, p.SetWeight("light", math.NaN()), drf.ErrWeight)
		require.ErrorIs(t, p.SetWeight("light", 0), drf.ErrWeight)
	})
}

func TestAcquire_FirstComeFirstServedWithinATenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4)})
		all := acquire(t, p, "a", 4)
		large, small := queue(t, p, "a", v(4)), queue(t, p, "a", v(1))
		release(t, all)
		l := arrived(large)
		require.NotNil(t, l)
		require.Nil(t, arrived(small))
		_, err := p.TryAcquire("a", v(1))
		require.ErrorIs(t, err, pool.ErrNoRoom)
		release(t, l)
		release(t, arrived(small))
	})
}

func TestAcquire_CancelledLeavesNoTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4)})
		all := acquire(t, p, "a", 3)
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		failed := make(chan error)
		go func() {
			_, err := p.Acquire(ctx, "b", v(4))
			failed <- err
		}()
		synctest.Wait()
		// Behind it in the same queue, and small enough.
		next := queue(t, p, "b", v(1))
		require.Nil(t, arrived(next))
		cancel(enough)
		require.ErrorIs(t, <-failed, enough)
		release(t, arrived(next), all)
		require.Empty(t, p.Waiters())
		require.Equal(t, v(4, 4), p.Stats().Free)

		_, err := p.Acquire(ctx, "b", v(1))
		require.ErrorIs(t, err, enough, "even where there is room")
		require.Equal(t, v(4, 4), p.Stats().Free)

		timed, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		all = acquire(t, p, "a", 4)
		start := time.Now()
		_, err = p.Acquire(timed, "b", v(1))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))
		release(t, all)
	})
}

func TestAcquire_RefusesBadInput(t *testing.T) {
	p := newPool(t, pool.Config{Machines: machines(4, 8)})
	tests := map[string]struct {
		need   resources.Vector
		prefer locality.Node
		err    error
		text   string
	}{
		"nothing":        {v(), 0, pool.ErrNeed, "nothing"},
		"negative":       {v(1, -2), 0, resources.ErrQuantity, "kind 1 is -2"},
		"overflowing":    {v(math.MaxInt64), 0, resources.ErrQuantity, "kind 0"},
		"too large":      {v(9), 0, pool.ErrNeed, "does not fit on any machine"},
		"unknown kind":   {v(0, 0, 1), 0, pool.ErrNeed, "does not fit on any machine"},
		"preferred node": {v(1), 2, pool.ErrNode, "node 2 of a pool of 2"},
		"a last node":    {v(1), math.MaxUint32, pool.ErrNode, "node 4294967295 of a pool of 2"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := p.Acquire(t.Context(), "a", test.need, test.prefer)
			require.ErrorIs(t, err, test.err)
			require.ErrorContains(t, err, test.text)
			_, err = p.TryAcquire("a", test.need, test.prefer)
			require.ErrorIs(t, err, test.err)
			_, err = p.AcquireAll(t.Context(), "a", []resources.Vector{v(1), test.need}, test.prefer)
			require.ErrorIs(t, err, test.err)
			require.Equal(t, v(12, 12), p.Stats().Free)
		})
	}
	_, err := p.AcquireAll(t.Context(), "a", nil)
	require.ErrorIs(t, err, pool.ErrNeed)
	_, err = p.AcquireAll(t.Context(), "a", []resources.Vector{v(5), v(5)})
	require.ErrorIs(t, err, pool.ErrNeed, "each fits, both do not")
}

func TestNew_RefusesBadConfigurations(t *testing.T) {
	tests := map[string]struct {
		cfg  pool.Config
		text string
	}{
		"duplicate machine": {pool.Config{Machines: []omega.Machine{{Name: "a", Capacity: v(1)}, {Name: "a", Capacity: v(1)}}}, `"a"`},
		"negative capacity": {pool.Config{Machines: []omega.Machine{{Name: "a", Capacity: v(-1)}}}, "kind 0 is -1"},
		"nothing to share":  {pool.Config{Machines: []omega.Machine{{Name: "a"}}}, "Machines"},
		"too much to share": {pool.Config{Machines: machines(resources.MaxQuantity, 1)}, "2^62"},
		"negative wait":     {pool.Config{Machines: machines(1), Delay: delay.Policy{Waits: delay.Waits{-1}}}, "Delay"},
		"skips":             {pool.Config{Machines: machines(1), Delay: delay.Policy{Skips: 3}}, "3 skips"},
		"a learner":         {pool.Config{Machines: machines(1), Delay: delay.Policy{Learn: new(delay.Learner)}}, "a Learner"},
		"bad weight":        {pool.Config{Machines: machines(1), Weights: map[string]float64{"a": -1}}, "Weights"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := pool.New(test.cfg)
			require.ErrorIs(t, err, pool.ErrConfig)
			require.ErrorContains(t, err, test.text)
		})
	}
}

func TestRelease_CountsOnce(t *testing.T) {
	p := newPool(t, pool.Config{Machines: machines(4)})
	for range 1000 {
		l := acquire(t, p, "a", 4)
		var wg sync.WaitGroup
		errs := make([]error, 2)
		for i := range errs {
			wg.Go(func() { errs[i] = l.Release() })
		}
		wg.Wait()
		require.NotEqual(t, errs[0] == nil, errs[1] == nil)
		require.ErrorIs(t, errors.Join(errs...), pool.ErrReleased)
		require.Equal(t, v(4, 4), p.Stats().Free)
	}
}

func TestAcquireAll_HoldsNothingWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(2, 2)})
		one := acquire(t, p, "a", 2)
		got := make(chan []*pool.Lease, 2)
		for _, name := range []string{"b", "c"} { // each wants both machines
			go func() {
				leases, _ := p.AcquireAll(t.Context(), name, []resources.Vector{v(1), v(2)})
				got <- leases
			}()
		}
		synctest.Wait()
		require.Len(t, p.Waiters(), 2)
		require.Equal(t, v(2, 4), p.Stats().Free, "nothing is taken before all is there")
		_, err := p.TryAcquire("d", v(2))
		require.ErrorIs(t, err, pool.ErrNoRoom, "it is held back, though")
		release(t, one)
		for range 2 {
			leases := <-got
			require.Len(t, leases, 2)
			require.Equal(t, v(1), leases[0].Need())
			require.Equal(t, v(2), leases[1].Need())
			require.NotEqual(t, leases[0].Node(), leases[1].Node())
			release(t, leases...)
		}
	})
}

// What first fit finds depends on the order of the machines, and is no better
// for more room; a gang that was accepted is placed all the same.
func TestAcquireAll_IsPlacedAtTheLatestWhenItsMachinesAreEmpty(t *testing.T) {
	tests := map[string]struct {
		machines []int64
		needs    []resources.Vector
		prefer   []locality.Node
		stays    int64 // taken on the last machine by another tenant
	}{
		"packs by number, not by level": {[]int64{4, 6}, []resources.Vector{v(4), v(3), v(3)}, []locality.Node{1}, 0},
		"packs on two, not on three":    {[]int64{6, 4, 3}, []resources.Vector{v(4), v(3), v(3)}, nil, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, pool.Config{Machines: machines(test.machines...)})
				// In an empty pool that is at once.
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				leases, err := p.AcquireAll(ctx, "gang", test.needs, test.prefer...)
				require.NoError(t, err)
				release(t, leases...)

				var others []*pool.Lease
				for i, c := range test.machines {
					if i == len(test.machines)-1 {
						c -= test.stays
					}
					others = append(others, acquire(t, p, "others", c))
				}
				var stays []*pool.Lease
				if test.stays > 0 {
					stays = append(stays, acquire(t, p, "others", test.stays))
				}
				got := make(chan []*pool.Lease, 1)
				go func() {
					leases, _ := p.AcquireAll(context.Background(), "gang", test.needs, test.prefer...)
					got <- leases
				}()
				synctest.Wait()
				release(t, others...)
				if len(stays) > 0 {
					// What is not kept back can be had, the machine that is
					// waited for can not.
					more := acquire(t, p, "others", 1)
					require.NotEqualValues(t, len(test.machines)-1, more.Node())
					release(t, stays...)
					defer release(t, more)
				}
				leases = <-got
				require.Len(t, leases, len(test.needs))
				release(t, leases...)
			})
		})
	}
}

// A machine that could never hold the need is not waited for.
func TestAcquire_DoesNotWaitForWhatCannotBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(1, 4), Delay: delay.Policy{Waits: delay.Waits{time.Hour}}})
		start := time.Now()
		l, err := p.Acquire(t.Context(), "a", v(4), 0)
		require.NoError(t, err)
		require.EqualValues(t, 1, l.Node())
		release(t, l)
		both, err := p.AcquireAll(t.Context(), "a", []resources.Vector{v(1), v(4)}, 0)
		require.NoError(t, err)
		release(t, both...)
		require.Zero(t, time.Since(start))
	})
}

// Room is kept back in the kinds and amounts that are waited for, no more.
func TestAcquire_KeepsBackOnlyWhatIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: []omega.Machine{{Name: "host", Capacity: v(8, 20)}}})
		reports, web := acquire(t, p, "reports", 0, 12), acquire(t, p, "web", 1)
		etl := queue(t, p, "etl", v(1, 12))
		more := arrived(queue(t, p, "web", v(6)))
		require.NotNil(t, more, "one CPU is left for who waits for connections")
		_, err := p.TryAcquire("web", v(1))
		require.ErrorIs(t, err, pool.ErrNoRoom, "and not to be had")
		third := queue(t, p, "web", v(1))
		require.Contains(t, p.Waiters()[1].Reason, "kept back for a tenant whose turn is before")
		release(t, reports)
		l := arrived(etl)
		require.NotNil(t, l)
		require.Nil(t, arrived(third))
		release(t, more)
		release(t, arrived(third), l, web)
	})
}

// What is kept back for a waiter is near its data, if it insists on that.
func TestAcquire_KeepsBackNearTheData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4, 4), Delay: delay.Policy{Waits: delay.Waits{time.Hour}}})
		var small []*pool.Lease
		for range 8 {
			small = append(small, acquire(t, p, "small", 1))
		}
		large := queue(t, p, "large", v(4), 1)
		again := queue(t, p, "small", v(1))
		release(t, small[4]) // on node 1
		require.Nil(t, arrived(again))
		release(t, small[0]) // on node 0
		l := arrived(again)
		require.NotNil(t, l)
		require.Zero(t, l.Node())
		release(t, small[5:]...)
		release(t, arrived(large), l)
		release(t, small[1:4]...)
	})
}

// A waiter that gives up takes what was kept back for it along.
func TestAcquire_CancelledKeepsNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4)})
		held := acquire(t, p, "a", 2)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = p.Acquire(ctx, "b", v(4)) }()
		synctest.Wait()
		_, err := p.TryAcquire("c", v(2))
		require.ErrorIs(t, err, pool.ErrNoRoom)
		cancel()
		synctest.Wait()
		release(t, acquire(t, p, "c", 2), held)
		require.EqualValues(t, 1, p.Stats().Tenants[1].Cancelled)
	})
}

// Another weight can make another tenant next.
func TestSetWeight_WakesWhoIsNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(10)})
		rich, middle := acquire(t, p, "b", 3), acquire(t, p, "a", 2)
		first, second := queue(t, p, "a", v(6)), queue(t, p, "b", v(5))
		require.Nil(t, arrived(second), "room is kept back for a")
		require.ErrorIs(t, p.SetWeight("ghost", math.Inf(1)), drf.ErrWeight)
		require.ErrorContains(t, p.SetWeight("ghost", math.Inf(1)), `"ghost"`)
		require.Len(t, p.Stats().Tenants, 2, "a refused weight makes no tenant")
		require.NoError(t, p.SetWeight("b", 1000))
		l := arrived(second)
		require.NotNil(t, l)
		time.Sleep(time.Minute)
		release(t, l, rich)
		release(t, arrived(first), middle)
		for _, tenant := range p.Stats().Tenants {
			waited := map[string]time.Duration{"a": time.Minute, "b": 0}[tenant.Name]
			require.Equal(t, waited, tenant.Waited)
			require.EqualValues(t, 2, tenant.Granted)
		}
	})
}

// near is a policy and a topology for two racks of two machines.
func near(tb testing.TB, wait time.Duration) pool.Config {
	tb.Helper()
	topology, err := locality.New(locality.Config{
		Levels: []string{"node", "rack", "any"}, Nodes: []string{"r0", "r0", "r1", "r1"},
	})
	require.NoError(tb, err)
	return pool.Config{
		Machines: machines(1, 1, 1, 1), Topology: topology, Delay: delay.Policy{Waits: delay.Waits{wait, 2 * wait}},
	}
}

func TestAcquire_WaitsForDataLevelByLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, near(t, time.Second))
		lease := func(prefer ...locality.Node) (*pool.Lease, time.Duration) {
			start := time.Now()
			l, err := p.Acquire(t.Context(), "a", v(1), prefer...)
			require.NoError(t, err)
			return l, time.Since(start)
		}
		l0, waited := lease(0)
		require.Zero(t, waited)
		require.EqualValues(t, 0, l0.Node())
		l1, waited := lease(0)
		require.Equal(t, time.Second, waited, "then a machine in the same rack will do")
		require.EqualValues(t, 1, l1.Node())
		require.EqualValues(t, 1, l1.Level())
		l2, waited := lease(0)
		require.Equal(t, 3*time.Second, waited, "then any")
		require.EqualValues(t, 2, l2.Level())
		l3, waited := lease()
		require.Zero(t, waited, "who has no preference waits for none")
		require.EqualValues(t, 0, l3.Level())
		release(t, l0, l1, l2, l3)
		require.Equal(t, []uint64{2, 1, 1}, p.Stats().Tenants[0].ByLevel)
	})
}

func TestAcquire_WaitingForDataGivesTheTurnAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, near(t, time.Hour))
		l0 := acquire(t, p, "a", 1)
		require.EqualValues(t, 0, l0.Node())
		far := queue(t, p, "b", v(1), 0)
		require.Nil(t, arrived(far))
		require.Equal(t, `there is room, but at level "rack" from what it prefers; "rack" will do in 1h0m0s`, p.Waiters()[0].Reason)

		// Another tenant, and another task of the same tenant whose data is
		// where the room is, go first.
		l1 := arrived(queue(t, p, "c", v(1)))
		l2 := arrived(queue(t, p, "b", v(1), 2))
		require.NotNil(t, l1)
		require.EqualValues(t, 2, l2.Node())

		release(t, l0)
		local := arrived(far)
		require.EqualValues(t, 0, local.Node())
		release(t, local, l1, l2)
	})
}

func TestAcquire_LargeNeedsDoNotStarve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4, 4)})
		// One tenant keeps all places taken: before a lease ends, the next waits.
		var held []*pool.Lease
		for range 8 {
			held = append(held, acquire(t, p, "small", 1))
		}
		large := queue(t, p, "large", v(4))
		require.Equal(t, "needs cpu=4m, the nearest to that is node 0 with memory=4 free", p.Waiters()[0].Reason)
		var small []<-chan *pool.Lease
		for i, l := range held {
			require.EqualValues(t, i/4, l.Node())
			small = append(small, queue(t, p, "small", v(1)))
			release(t, l)
			// What becomes free on node 0 is held back, the rest is not.
			if i == 3 {
				l := arrived(large)
				require.NotNil(t, l)
				defer release(t, l)
			}
			require.Equal(t, min(i+2, 4), p.Stats().Waiting, i)
		}
		for _, next := range small[:4] {
			defer release(t, arrived(next))
		}
		// The rest have their turn once large has ended.
		go func() {
			for _, next := range small[4:] {
				_ = (<-next).Release()
			}
		}()
	})
}

// Where there is room for one lease only, all shares are equal, namely nothing,
// whenever somebody is next.
func TestAcquire_EqualsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(1)})
		served := map[string]int{}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for _, name := range []string{"a", "b", "c"} {
			for range 2 {
				wg.Go(func() {
					for p.Do(ctx, name, v(1), func(context.Context) error {
						served[name]++ // one at a time, as the pool has it
						time.Sleep(time.Second)
						return nil
					}) == nil {
					}
				})
			}
		}
		time.Sleep(299*time.Second + time.Millisecond)
		cancel()
		wg.Wait()
		for name, n := range served {
			require.InDelta(t, 100, n, 1, name) // who starts first, and who is cut off
		}
	})
}

func TestDo_ReleasesAlsoOnPanic(t *testing.T) {
	p := newPool(t, pool.Config{Machines: machines(4)})
	require.PanicsWithValue(t, "boom", func() {
		_ = p.Do(t.Context(), "a", v(4), func(context.Context) error { panic("boom") })
	})
	failed := errors.New("failed")
	require.ErrorIs(t, p.Do(t.Context(), "a", v(4), func(context.Context) error { return failed }), failed)
	require.Equal(t, v(4, 4), p.Stats().Free)
}

func TestClose_WaitsForLeasesAndRefusesTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4)})
		l := acquire(t, p, "a", 4)
		waited := make(chan error)
		go func() {
			_, err := p.Acquire(t.Context(), "b", v(1))
			waited <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, p.Close(ctx), context.DeadlineExceeded)
		require.ErrorIs(t, <-waited, pool.ErrClosed)
		_, err := p.Acquire(t.Context(), "b", v(1))
		require.ErrorIs(t, err, pool.ErrClosed)
		_, err = p.TryAcquire("b", v(1))
		require.ErrorIs(t, err, pool.ErrClosed)

		closed := make(chan error)
		go func() { closed <- p.Close(t.Context()) }()
		synctest.Wait()
		release(t, l)
		require.NoError(t, <-closed)
		require.NoError(t, p.Close(t.Context()))
	})
}

func TestOnLeak_ReportsAndDoesNotReturn(t *testing.T) {
	leaks := make(chan *pool.Lease, 1)
	p := newPool(t, pool.Config{Machines: machines(4), OnLeak: func(l *pool.Lease) { leaks <- l }})
	kept := acquire(t, p, "a", 1)
	func() { _ = acquire(t, p, "careless", 2) }()
	var lost *pool.Lease
	for lost == nil {
		runtime.GC()
		select {
		case lost = <-leaks:
		default:
			runtime.Gosched()
		}
	}
	require.Equal(t, "careless", lost.Tenant())
	require.Equal(t, v(2), lost.Need())
	require.Equal(t, v(1, 4), p.Stats().Free, "still taken")
	release(t, lost)
	require.ErrorIs(t, lost.Release(), pool.ErrReleased)
	require.Equal(t, v(3, 4), p.Stats().Free)
	release(t, kept)
	runtime.GC()
	require.Empty(t, leaks, "a lease that was released is no leak")
}

func TestWaiters_SayWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		space, err := resources.NewSpace(resources.Dimension{Name: "cpu"}, resources.Dimension{Name: "conns"})
		require.NoError(t, err)
		p := newPool(t, pool.Config{Space: space, Machines: machines(4, 8)})
		l := acquire(t, p, "a", 5)
		first, second := queue(t, p, "b", v(6)), queue(t, p, "b", v(1))
		waiters := p.Waiters()
		require.Len(t, waiters, 2)
		require.Equal(t, "needs cpu=6, the nearest to that is node 1 with cpu=3,conns=8 free", waiters[0].Reason)
		require.Equal(t, "behind 1 of its tenant", waiters[1].Reason)
		release(t, l)
		l = arrived(first)
		release(t, l, arrived(second))
	})
}

// Names that are used once do not add up for ever; those with a weight stay.
func TestTenants_IdleOnesAreForgotten(t *testing.T) {
	p := newPool(t, pool.Config{Machines: machines(4)})
	require.NoError(t, p.SetWeight("known", 2))
	for i := range 10_000 {
		release(t, acquire(t, p, fmt.Sprint("customer-", i), 1))
	}
	tenants := p.Stats().Tenants
	require.Less(t, len(tenants), 1100)
	require.Equal(t, "known", tenants[len(tenants)-1].Name)
}

// Three tenants of unlike appetite that always want more hold equal dominant
// shares, in virtual time.
func TestAcquire_SharesEvenOutOverTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(24, 24, 24)})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		needs := map[string]resources.Vector{"cpu": v(3, 1), "memory": v(1, 4), "both": v(1, 1)}
		var wg sync.WaitGroup
		for name, need := range needs {
			for i := range 80 {
				rng := rand.New(rand.NewPCG(uint64(i), 7))
				wg.Go(func() {
					for p.Do(ctx, name, need, func(context.Context) error {
						time.Sleep(time.Second + time.Duration(rng.Int64N(int64(time.Second))))
						return nil
					}) == nil {
					}
				})
			}
		}
		sums := map[string]float64{}
		for range 3000 {
			time.Sleep(time.Second)
			for _, s := range p.Stats().Tenants {
				sums[s.Name] += s.Share
			}
		}
		cancel()
		wg.Wait()
		least, most := math.Inf(1), 0.0
		for _, s := range sums {
			least, most = min(least, s), max(most, s)
		}
		// Tasks are indivisible: one of memory's is 4/72 of the pool.
		require.Greater(t, least/most, 0.85, "%v", sums)
		require.Equal(t, p.Stats().Total, p.Stats().Free)
	})
}

// In virtual time nobody who waits is forgotten: whatever tenants ask for, in
// pools of all sorts, everybody is served in the end, since every lease ends.
// A wake-up that is lost leaves the bubble deadlocked.
func TestPool_EverybodyIsServed(t *testing.T) {
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
						leases, err := p.AcquireAll(t.Context(), tenant, needs, prefer...)
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

// Random acquires of every sort from many goroutines: nothing is lost, nobody
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
				var leases []*pool.Lease
				var l *pool.Lease
				var err error
				switch i % 3 {
				case 0:
					l, err = p.Acquire(ctx, name, v(1), locality.Node(rng.IntN(4)))
				case 1:
					l, err = p.TryAcquire(name, v(1, 1))
				default:
					leases, err = p.AcquireAll(ctx, name, []resources.Vector{v(1), v(0, 1)}, locality.Node(rng.IntN(4)))
				}
				if l != nil {
					leases = append(leases, l)
				}
				if err != nil && !errors.Is(err, pool.ErrNoRoom) && !errors.Is(err, context.DeadlineExceeded) {
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

// Room that is no longer kept back wakes who waits for its data there.
func TestAcquire_IsWokenWhenNearRoomIsNoLongerKeptBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := near(t, time.Hour)
		cfg.Machines = machines(4, 4, 2)
		p := newPool(t, cfg)
		first, second, third := acquire(t, p, "x", 2), acquire(t, p, "x", 2), acquire(t, p, "x", 3)
		other := acquire(t, p, "b", 2)
		release(t, first)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = p.Acquire(ctx, "a", v(4)) }() // node 0 is kept back for it
		synctest.Wait()
		release(t, other)
		got := queue(t, p, "c", v(2), 0)
		require.Nil(t, arrived(got))
		cancel()
		l := arrived(got)
		require.NotNil(t, l)
		require.Zero(t, l.Node())
		release(t, l, second, third)
	})
}

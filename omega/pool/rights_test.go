package pool_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

func TestGuarantee_IsGivenBackByPreemption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4, 4), Grace: 5 * time.Second})
		owed := tenant(t, p, "owed", pool.Settings{Guarantee: v(2)})
		safe := tenant(t, p, "safe", pool.Settings{Guarantee: v(1)})
		kept, err := safe.Acquire(t.Context(), v(1))
		require.NoError(t, err)
		var batch []pool.Lease
		for range 7 {
			batch = append(batch, acquire(t, p, "batch", 1))
		}
		var contexts []context.Context
		for _, l := range batch {
			contexts = append(contexts, l.Context())
		}
		got := queue(t, p, "owed", v(2))
		require.Equal(t, pool.Lease{}, arrived(got), "room is not granted twice")
		require.Contains(t, p.Waiters()[0].Reason, "is being taken back for it")
		var ended []pool.Lease
		for i, ctx := range contexts {
			if ctx.Err() != nil {
				require.ErrorIs(t, context.Cause(ctx), pool.ErrPreempted)
				ended = append(ended, batch[i])
			}
		}
		require.Len(t, ended, 2, "no more than is needed")
		require.Equal(t, ended[0].Node(), ended[1].Node())
		require.NoError(t, kept.Context().Err(), "a guarantee is not taken from another")

		// The room is for no other tenant meanwhile, and late holders are named.
		other := queue(t, p, "batch", v(1))
		release(t, ended[0])
		require.Equal(t, pool.Lease{}, arrived(other))
		require.Empty(t, p.Overdue())
		time.Sleep(6 * time.Second)
		require.Equal(t, map[pool.Lease]time.Duration{ended[1]: time.Second}, p.Overdue())
		release(t, ended[1])
		l := arrived(got)
		require.Equal(t, v(2), l.Need())
		require.Empty(t, p.Overdue())
		require.Equal(t, owed, l.Tenant())
		// Beyond its guarantee the tenant preempts nothing.
		more := queue(t, p, "owed", v(1))
		require.Equal(t, pool.Lease{}, arrived(more))
		release(t, l, kept)
		release(t, arrived(more), arrived(other))
		for _, l := range batch {
			_ = l.Release()
		}
		require.Equal(t, v(8, 8), p.Stats().Free)
	})
}

func TestPriority_HigherClassesGoFirstAndKeepTheirLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(2)})
		tenant(t, p, "high", pool.Settings{Priority: 5})
		tenant(t, p, "low", pool.Settings{Guarantee: v(1)})
		a, b := acquire(t, p, "high", 1), acquire(t, p, "high", 1)
		low, high := queue(t, p, "mid", v(1)), queue(t, p, "high", v(1))
		owed := queue(t, p, "low", v(1))
		require.NoError(t, a.Context().Err(), "a lower class takes nothing back from a higher one")
		release(t, a)
		l := arrived(owed)
		require.NotEqual(t, pool.Lease{}, l, "a guarantee goes before any class")
		release(t, b)
		h := arrived(high)
		require.NotEqual(t, pool.Lease{}, h)
		require.Equal(t, pool.Lease{}, arrived(low))
		release(t, h)
		release(t, arrived(low), l)
	})
}

func TestRate_IsNeverExceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(100))
		n := tenant(t, p, "web", pool.Settings{Rate: 10, Burst: 5})
		start := time.Now()
		for i := range 50 {
			l, err := n.Acquire(t.Context(), v(1))
			require.NoError(t, err)
			passed := time.Since(start).Seconds()
			require.LessOrEqual(t, float64(i+1), 5+10*passed+1e-6)
			require.GreaterOrEqual(t, float64(i+1), 10*passed-1, "and used up")
			release(t, l)
		}
		_, ok := n.TryAcquire(v(1))
		require.False(t, ok)
		time.Sleep(time.Hour)
		for i := range 6 {
			_, ok := n.TryAcquire(v(1))
			require.Equal(t, i < 5, ok, "an idle hour fills the burst, no more")
		}
		// Another tenant is not held up by one that is throttled.
		waits := queue(t, p, "web", v(1))
		require.Equal(t, pool.Lease{}, arrived(waits))
		require.Contains(t, p.Waiters()[0].Reason, `"web" is over its rate`)
		release(t, acquire(t, p, "other", 95))
		time.Sleep(time.Second)
		require.NotEqual(t, pool.Lease{}, arrived(waits))
	})
}

func TestQueue_IsBoundedInLengthAndTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(1))
		n := tenant(t, p, "web", pool.Settings{Queue: 2, MaxWait: time.Minute})
		held := acquire(t, p, "other", 1)
		failed := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := n.Acquire(t.Context(), v(1))
				failed <- err
			}()
		}
		synctest.Wait()
		_, err := n.Acquire(t.Context(), v(1))
		require.ErrorIs(t, err, pool.ErrQueueFull)
		start := time.Now()
		_, err = tenant(t, p, "patient").Request(t.Context(), pool.Request{Needs: []resources.Vector{v(1)}, MaxWait: time.Second})
		require.ErrorIs(t, err, pool.ErrWait)
		require.ErrorContains(t, err, "1s")
		require.Equal(t, time.Second, time.Since(start))
		for range 2 {
			require.ErrorIs(t, <-failed, pool.ErrWait)
		}
		require.Equal(t, time.Minute, time.Since(start))
		require.Zero(t, p.Stats().Waiting)
		release(t, held)
	})
}

func TestRequest_PriorityAndSmallerNeedsPassWithinATenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(4))
		n, strict := tenant(t, p, "a"), tenant(t, p, "strict", pool.Settings{Strict: true})
		held := []pool.Lease{acquire(t, p, "x", 1), acquire(t, p, "x", 3)}
		order := make(chan string, 10)
		ask := func(n *pool.Tenant, name string, need int64, priority int) {
			go func() {
				l, err := n.Request(context.Background(), pool.Request{Needs: []resources.Vector{v(need)}, Priority: priority, Label: name})
				if err != nil {
					t.Error(err)
					return
				}
				order <- name
				_ = l[0].Release()
			}()
			synctest.Wait()
		}
		ask(n, "large", 4, 0)
		ask(n, "small", 1, 0)
		ask(n, "urgent", 2, 9)
		ask(strict, "first", 4, 0)
		ask(strict, "second", 1, 0)
		require.Equal(t, "urgent", p.Waiters()[0].Label)
		release(t, held[0])
		synctest.Wait()
		require.Equal(t, "small", <-order, "it fits, the ones before it do not")
		require.Empty(t, order, "the strict tenant keeps its order")
		release(t, held[1])
		synctest.Wait()
		got := map[string]int{}
		for i := range 4 {
			got[<-order] = i
		}
		require.Less(t, got["urgent"], got["large"])
		require.Less(t, got["first"], got["second"])
	})
}

func TestMachines_ComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(2))
		l := acquire(t, p, "a", 2)
		waits := queue(t, p, "b", v(2))
		require.Equal(t, pool.Lease{}, arrived(waits))
		node, err := p.AddMachine(omega.Machine{Name: "more", Capacity: v(3, 3)})
		require.NoError(t, err)
		b := arrived(waits)
		require.Equal(t, node, b.Node())
		require.Equal(t, v(5, 5), p.Stats().Total)

		_, err = p.AddMachine(omega.Machine{Name: "more", Capacity: v(1)})
		require.ErrorIs(t, err, pool.ErrMachine)
		_, err = p.AddMachine(omega.Machine{Name: "", Capacity: v(1)})
		require.ErrorIs(t, err, pool.ErrMachine)
		_, err = p.AddMachine(omega.Machine{Name: "huge", Capacity: v(resources.MaxQuantity)})
		require.ErrorIs(t, err, resources.ErrQuantity)
		require.ErrorIs(t, p.RemoveMachine("more"), pool.ErrMachine, "it has a lease")
		require.ErrorIs(t, p.DrainMachine("none", true), pool.ErrMachine)

		// A machine below what it holds grants nothing until it fits.
		require.NoError(t, p.ResizeMachine("more", v(1, 1)))
		require.Equal(t, v(0, 3), p.Stats().Free)
		_, ok := p.TryAcquire("c", v(1))
		require.False(t, ok)
		waits = queue(t, p, "c", v(1))
		release(t, b)
		c := arrived(waits)
		require.Equal(t, node, c.Node())

		// A drained machine takes nothing new, and its waiters go elsewhere.
		require.NoError(t, p.DrainMachine("m0", true))
		release(t, l)
		_, ok = p.TryAcquire("c", v(1))
		require.False(t, ok)
		failed := make(chan error, 1)
		go func() {
			_, err := p.Acquire(context.Background(), "d", v(1))
			failed <- err
		}()
		synctest.Wait()
		require.NoError(t, p.DrainMachine("m0", false))
		require.NoError(t, <-failed)
		go func() {
			_, err := p.Acquire(context.Background(), "d", v(2))
			failed <- err
		}()
		synctest.Wait()
		// What no machine can hold any more is refused, not forgotten.
		require.NoError(t, p.ResizeMachine("m0", v(1, 1)))
		require.ErrorIs(t, <-failed, pool.ErrNeed)
		release(t, c)
		require.NoError(t, p.RemoveMachine("more"))
		_, err = p.AddMachine(omega.Machine{Name: "more", Capacity: v(7)})
		require.NoError(t, err)
		release(t, acquire(t, p, "e", 7))
	})
}

func TestLease_ShrinksAndServesWhatFits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(4))
		l := acquire(t, p, "a", 4)
		waits := queue(t, p, "b", v(3))
		require.ErrorIs(t, l.Resize(v(5)), pool.ErrNeed)
		require.ErrorIs(t, l.Resize(v()), pool.ErrNeed)
		require.ErrorIs(t, l.Resize(v(-1)), resources.ErrQuantity)
		require.NoError(t, l.Resize(v(1)))
		require.Equal(t, v(1), l.Need())
		b := arrived(waits)
		require.Equal(t, v(3), b.Need())
		release(t, l, b)
		require.ErrorIs(t, l.Resize(v(1)), pool.ErrReleased)
		require.Equal(t, v(4, 4), p.Stats().Free)
	})
}

func TestAcquire_NamesARequestThatWaitsForItself(t *testing.T) {
	p := newPool(t, oneMachine(4))
	n := tenant(t, p, "a")
	require.NoError(t, n.Do(t.Context(), v(3), func(ctx context.Context, _ pool.Lease) error {
		_, err := n.Acquire(ctx, v(2))
		require.ErrorIs(t, err, pool.ErrNeed)
		require.ErrorContains(t, err, "would wait for itself")
		l, err := n.Acquire(ctx, v(1))
		require.NoError(t, err)
		return l.Release()
	}))
}

func TestTenant_RefusesBadSettings(t *testing.T) {
	p := newPool(t, oneMachine(4))
	tenant(t, p, "owed", pool.Settings{Guarantee: v(3)})
	for name, s := range map[string]pool.Settings{
		"weight":                {Weight: -1},
		"weight NaN":            {Weight: math.NaN()},
		"guarantee":             {Guarantee: v(-1)},
		"more than there is":    {Guarantee: v(2)},
		"limit below guarantee": {Guarantee: v(1), Limit: v(0, 4), Limited: true},
		"limit not limited":     {Limit: v(1)},
		"queue":                 {Queue: -1},
		"wait":                  {MaxWait: -1},
		"rate":                  {Rate: -1},
		"rate NaN":              {Rate: math.NaN()},
		"burst without a rate":  {Burst: 3},
	} {
		_, err := p.Tenant("bad", s)
		require.ErrorIs(t, err, pool.ErrConfig, name)
		require.ErrorContains(t, err, `"bad"`, name)
		require.Len(t, p.Stats().Tenants, 1, "%s: a refused tenant is not there", name)
	}
	for _, name := range []string{"", "a\nb", string([]byte{0xff})} {
		_, err := p.Tenant(name)
		require.ErrorIs(t, err, pool.ErrTenant, "%q", name)
		_, err = p.Acquire(t.Context(), name, v(1))
		require.ErrorIs(t, err, pool.ErrTenant, "%q", name)
	}
	owed := tenant(t, p, "owed")
	require.Equal(t, v(3), owed.Settings().Guarantee, "a look-up changes nothing")
	child, err := owed.Tenant("child")
	require.NoError(t, err)
	require.Equal(t, "owed/child", child.Name())
	_, err = owed.Acquire(t.Context(), v(1))
	require.ErrorIs(t, err, pool.ErrTenant, "a group")
	l, err := child.Acquire(t.Context(), v(1))
	require.NoError(t, err)
	_, err = child.Tenant("grandchild")
	require.ErrorIs(t, err, pool.ErrTenant, "it holds a lease")
	release(t, l)
	require.NoError(t, p.Close(t.Context()))
}

// The time to the next token may be more than a Duration holds.
func TestRate_MayBeTiny(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(2))
		n := tenant(t, p, "a", pool.Settings{Rate: 1e-11})
		l, ok := n.TryAcquire(v(1))
		require.True(t, ok)
		release(t, l)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := n.Acquire(ctx, v(1))
		require.ErrorContains(t, err, "over its rate for another 24h0m0s")
	})
}

// Where leases are watched for leaks, too, a lease of Overdue equals that of its
// holder, and one that was leaked is still named.
func TestOverdue_EqualsTheLeaseOfTheHolder(t *testing.T) {
	for i := range 4 {
		watched, early := i%2 == 0, i < 2
		t.Run(fmt.Sprintf("watched %v, guarantee before the grant %v", watched, early), func(t *testing.T) {
			leaked := make(chan pool.Lease, 1)
			cfg := pool.Config{Machines: machines(4), Grace: 1, Patience: -1}
			if watched {
				cfg.OnLeak = func(l pool.Lease) { leaked <- l }
			}
			p := newPool(t, cfg)
			var n *pool.Tenant
			if early {
				n = tenant(t, p, "a", pool.Settings{Guarantee: v(4)})
			}
			l := acquire(t, p, "b", 4)
			if !early {
				require.NoError(t, l.Context().Err())
				n = tenant(t, p, "a", pool.Settings{Guarantee: v(4)})
			}
			g, _ := n.Group(t.Context())
			require.NoError(t, g.Go(v(4), func(context.Context, pool.Lease) error { return nil }))
			require.ErrorIs(t, context.Cause(l.Context()), pool.ErrPreempted)
			late := p.Overdue()
			for len(late) == 0 { // the grace is a nanosecond
				late = p.Overdue()
			}
			require.Len(t, late, 1)
			require.Contains(t, late, l)
			if watched {
				late, l = nil, pool.Lease{}
				for {
					runtime.GC()
					select {
					case again := <-leaked:
						require.Contains(t, p.Overdue(), again)
						release(t, again)
						require.NoError(t, g.Wait())
						require.Empty(t, p.Overdue())
						return
					default:
					}
				}
			}
			for overdue := range late {
				release(t, overdue)
			}
			require.ErrorIs(t, l.Release(), pool.ErrReleased)
			require.NoError(t, g.Wait())
		})
	}
}

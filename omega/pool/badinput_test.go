package pool_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// A priority that an int has room for, and a class of the order has not.
func TestBadInput_APriorityHas32Bits(t *testing.T) {
	wide := math.MaxInt
	if wide == math.MaxInt32 {
		t.Skip("an int has 32 bits here")
	}
	p := newPool(t, oneMachine(8))
	n := tenant(t, p, "n")
	require.EqualError(t, n.Set(pool.Settings{Priority: wide}), fmt.Sprintf("pool: settings of \"n\": priority %d, want 32 bits: invalid configuration", wide))
	_, err := n.Request(t.Context(), pool.Request{Needs: []resources.Vector{v(1)}, Priority: wide})
	require.ErrorIs(t, err, pool.ErrConfig)
	require.ErrorContains(t, err, fmt.Sprint(wide))
}

// Each bad input has an error that names the value and what was expected, wraps
// its condition, and changes nothing.
func TestBadInput_HasExactErrors(t *testing.T) {
	p := newPool(t, oneMachine(8))
	tenant(t, p, "owed", pool.Settings{Guarantee: v(6)})
	set := func(s pool.Settings) error {
		_, err := p.Tenant("bad", s)
		return err
	}
	l := acquire(t, p, "owed", 1)
	copied := l
	release(t, l)
	again := acquire(t, p, "owed", 1) // takes the same record
	closed := newPool(t, oneMachine(1))
	late := tenant(t, closed, "late")
	require.NoError(t, closed.Shutdown(t.Context()))
	never := func(context.Context, pool.Lease) error { t.Error("it ran"); return nil }
	for name, test := range map[string]struct {
		err  error
		is   error
		says string
	}{
		"guarantees together":   {set(pool.Settings{Guarantee: v(3)}), pool.ErrConfig, `pool: settings of "bad": guarantees add up to cpu=9m, more than cpu=8m,memory=8 of the pool: invalid configuration`},
		"limit below guarantee": {set(pool.Settings{Guarantee: v(2), Limit: v(1), Limited: true}), pool.ErrConfig, `pool: settings of "bad": guarantee cpu=2m, more than the limit cpu=1m: invalid configuration`},
		"negative rate":         {set(pool.Settings{Rate: -1}), pool.ErrConfig, `pool: settings of "bad": rate -1 a second, want 0 to 1e+09: invalid configuration`},
		"negative burst":        {set(pool.Settings{Rate: 1, Burst: -1}), pool.ErrConfig, `pool: settings of "bad": burst -1 at a rate of 1, want 0 or more, and a rate with it: invalid configuration`},
		"negative run time":     {set(pool.Settings{MaxRun: -1}), pool.ErrConfig, `pool: settings of "bad": maximum run time -1ns, want 0 or more: invalid configuration`},
		"negative wait":         {set(pool.Settings{MaxWait: -1}), pool.ErrConfig, `pool: settings of "bad": maximum wait -1ns, want 0 or more: invalid configuration`},
		"negative queue":        {set(pool.Settings{Queue: -1}), pool.ErrConfig, `pool: settings of "bad": queue -1, want 0 or more: invalid configuration`},
		"negative guarantee":    {set(pool.Settings{Guarantee: v(-1)}), pool.ErrConfig, `pool: settings of "bad": guarantee cpu=-1m, want 0 to 2^62 of each kind: invalid configuration`},
		"negative limit":        {set(pool.Settings{Limit: v(-1), Limited: true}), pool.ErrConfig, `pool: settings of "bad": limit cpu=-1m, want 0 to 2^62 of each kind: invalid configuration`},
		"a limit of none":       {set(pool.Settings{Limit: v(1)}), pool.ErrConfig, `pool: settings of "bad": limit cpu=1m, but Limited is not set: invalid configuration`},
		"a second release":      {copied.Release(), pool.ErrReleased, "pool: release: lease is already released"},
		"resize of a stale one": {copied.Resize(v(1)), pool.ErrReleased, "pool: release: lease is already released"},
		"the zero lease":        {pool.Lease{}.Release(), pool.ErrReleased, "pool: the zero Lease: lease is already released"},
		"a lease that grows":    {again.Resize(v(2)), pool.ErrNeed, `pool: resize of "owed": cpu=2m, want at most cpu=1m: a lease does not grow`},
		"go after shutdown":     {late.Go(t.Context(), v(1), never), pool.ErrClosed, "pool: pool is closed"},
		"a task of nothing":     {late.Go(t.Context(), v(1), nil), pool.ErrConfig, `pool: task of "late": nil func, want work: invalid configuration`},
		"an unknown machine":    {p.ResizeMachine("m7", v(1)), pool.ErrMachine, `pool: machine "m7": the pool has none of that name: unknown or duplicate machine`},
		"a machine with leases": {p.RemoveMachine("m0"), pool.ErrMachine, `pool: remove machine "m0": leases on it: 1, want none: machine is in use`},
		"a negative capacity":   {p.ResizeMachine("m0", v(-1)), resources.ErrQuantity, `pool: machine "m0": cpu=-1m, want 0 to 2^62 of each kind: invalid quantity`},
	} {
		require.ErrorIs(t, test.err, test.is, name)
		require.EqualError(t, test.err, test.says, name)
	}
	require.Len(t, p.Stats().Tenants, 1)
	require.Equal(t, v(7, 8), p.Stats().Free)
	release(t, again)
}

// A machine that shrinks below what is held says so, loses nothing and grants
// nothing of any kind until it fits.
func TestResizeMachine_BelowWhatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(8))
		a, b := acquire(t, p, "a", 4), acquire(t, p, "a", 2)
		require.NoError(t, p.ResizeMachine("m0", v(5, 8)))
		m := p.Stats().Machines[0]
		require.Equal(t, v(6), m.Held)
		require.Equal(t, v(5, 8), m.Capacity)
		require.Equal(t, v(0, 8), m.Free)
		_, ok := p.TryAcquire("b", v(0, 1))
		require.False(t, ok)
		got := queue(t, p, "b", v(0, 1))
		require.Equal(t, `"m0" holds cpu=1m more than its capacity`, p.Waiters()[0].Reason)
		release(t, b)
		release(t, arrived(got), a)
		require.Equal(t, v(5, 8), p.Stats().Free)
	})
}

// The error of a request that was not served tells which tenant asked for what,
// what was short and where, and when to come back.
func TestWaitError_TellsWhatWasShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(8, 2)})
		a := tenant(t, p, "a", pool.Settings{Queue: 1})
		held := []pool.Lease{acquire(t, p, "x", 7), acquire(t, p, "x", 2)}
		wait := func(ctx context.Context, n *pool.Tenant, most time.Duration) error {
			_, err := n.Request(ctx, pool.Request{Needs: []resources.Vector{v(2, 1)}, MaxWait: most})
			return err
		}
		require.EqualError(t, wait(t.Context(), a, time.Second),
			`pool: request of "a" for cpu=2m,memory=1: short of cpu: needs 2m, 1m of 8m free on m0; memory is enough; no other tenant waits; it waited for 1s: maximum wait exceeded`)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		b, c := queue(t, p, "b", v(2)), queue(t, p, "c", v(2))
		err := wait(ctx, a, 0)
		require.EqualError(t, err,
			`pool: request of "a" for cpu=2m,memory=1: short of cpu: needs 2m, 1m of 8m free on m0; memory is enough; 2 other tenants wait; it waited for 1s: context deadline exceeded`)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, pool.ErrWait)

		enough := errors.New("the client has left")
		given, giveUp := context.WithCancelCause(t.Context())
		giveUp(enough)
		require.Equal(t, enough, wait(given, a, 0), "a context that has ended is not waited for")

		first := queue(t, p, "a", v(2))
		var full *pool.WaitError
		require.ErrorAs(t, wait(t.Context(), a, 0), &full)
		require.ErrorIs(t, full, pool.ErrQueueFull)
		require.EqualError(t, full, `pool: request of "a" for cpu=2m,memory=1: behind 1 of its tenant; 2 other tenants wait: queue of the tenant is full`)
		require.Equal(t, "a", full.Tenant)
		require.Equal(t, v(2, 1), full.Need)
		require.Equal(t, 2, full.Others)
		release(t, held...)
		release(t, arrived(first), arrived(b), arrived(c))
		s := p.Stats().Tenants[0]
		require.Equal(t, "a", s.Name)
		require.Equal(t, []uint64{1, 1, 1, 1}, []uint64{s.Granted, s.TimedOut, s.Cancelled, s.QueueFull})
	})
}

func TestWaitError_RetryAfterComesFromTheQueueAndTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(2))
		n := tenant(t, p, "a", pool.Settings{Queue: 1})
		full := func(n *pool.Tenant) *pool.WaitError {
			var e *pool.WaitError
			_, err := n.Acquire(t.Context(), v(1))
			require.ErrorAs(t, err, &e)
			return e
		}
		held := []pool.Lease{acquire(t, p, "x", 1), acquire(t, p, "x", 1)}
		first := queue(t, p, "a", v(1))
		require.Zero(t, full(n).RetryAfter(), "no task has ended yet")
		other := queue(t, p, "b", v(1))
		release(t, held[0])
		l := arrived(first)
		time.Sleep(4 * time.Second)
		release(t, l) // a task of four seconds
		held[0] = arrived(other)
		first = queue(t, p, "a", v(1))
		other = queue(t, p, "b", v(1))
		// Ahead of it are one of its own and one of b, and it needs a turn itself.
		e := full(n)
		require.InDelta(t, 4*3/2, e.RetryAfter().Seconds(), 1)
		release(t, held...)
		release(t, arrived(first), arrived(other))

		slow := tenant(t, p, "slow", pool.Settings{Rate: 0.1, Queue: 1})
		l, ok := slow.TryAcquire(v(1))
		require.True(t, ok)
		release(t, l)
		first = queue(t, p, "slow", v(1))
		require.InDelta(t, 20, full(slow).RetryAfter().Seconds(), 0.1)
		_, ok = slow.TryAcquire(v(1))
		require.False(t, ok)
		time.Sleep(time.Minute)
		release(t, arrived(first))
		for _, s := range p.Stats().Tenants {
			if s.Name == "slow" {
				require.EqualValues(t, 1, s.Throttled)
			}
		}
	})
}

func TestGo_BoundsTheRunBesideTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(1))
		n := tenant(t, p, "a", pool.Settings{MaxRun: 2 * time.Second})
		const says = `pool: task of "a" ran for 2s: maximum run time exceeded`
		work := func(ctx context.Context, _ pool.Lease) error {
			<-ctx.Done()
			return ctx.Err()
		}
		start := time.Now()
		err := n.Do(t.Context(), v(1), work)
		require.EqualError(t, err, says)
		require.ErrorIs(t, err, pool.ErrRun)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 2*time.Second, time.Since(start))
		g, _ := n.Group(t.Context())
		require.NoError(t, g.Go(v(1), func(ctx context.Context, l pool.Lease) error {
			<-ctx.Done()
			require.NoError(t, l.Context().Err(), "the lease is still its own")
			return context.Cause(ctx)
		}))
		require.EqualError(t, g.Wait(), says)
		require.EqualError(t, n.Do(t.Context(), v(1), func(context.Context, pool.Lease) error { return errors.New("mine") }), "mine")
		require.NoError(t, p.Shutdown(t.Context()))
	})
}

// Waiters are noted some at a time, and none is missing while the pool rests.
func TestWaiters_OfManyTenantsAreAllThere(t *testing.T) {
	p := newPool(t, oneMachine(1))
	held := acquire(t, p, "x", 1)
	const tenants, each = 40, 11
	for i := range tenants {
		n := tenant(t, p, string(rune('A'+i)))
		for range each {
			require.NoError(t, n.Go(t.Context(), v(1), func(context.Context, pool.Lease) error { return nil }))
		}
	}
	all := p.Waiters()
	require.Len(t, all, tenants*each)
	for i, w := range all {
		require.Equal(t, string(rune('A'+i/each)), w.Tenant)
		if i%each == 0 {
			require.Equal(t, "short of cpu: needs 1m, 0 of 1m free on m0", w.Reason)
		} else {
			require.Contains(t, w.Reason, "behind ")
		}
	}
	release(t, held)
	require.NoError(t, p.Shutdown(t.Context()))
}

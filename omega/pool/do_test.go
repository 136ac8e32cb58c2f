package pool_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// A server calls Do for each request, by the name of the customer.
func ExamplePool_Do() {
	p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "server", Capacity: resources.Vector{4000}}}})
	if err != nil {
		panic(err)
	}
	r := pool.Request{Needs: []resources.Vector{{1000}}, Priority: 2, MaxWait: time.Second}
	err = p.Do(context.Background(), "customer 17", r, func(_ context.Context, l []pool.Lease) error {
		fmt.Println("running", l[0])
		return nil
	})
	fmt.Println(err, p.Stats().Leases)
	// Output:
	// running customer 17: cpu=1 on server
	// <nil> 0
}

func TestPoolDo_ReleasesAllAndReturnsTheError(t *testing.T) {
	mine := errors.New("mine")
	r := pool.Request{Needs: []resources.Vector{v(2), v(1)}}
	for name, test := range map[string]struct {
		fn   func(context.Context, []pool.Lease) error
		want error
	}{
		"success": {func(_ context.Context, l []pool.Lease) error {
			require.Len(t, l, 2)
			require.Equal(t, v(2), l[0].Need())
			require.Equal(t, v(1), l[1].Need())
			return nil
		}, nil},
		"error":            {func(context.Context, []pool.Lease) error { return mine }, mine},
		"released already": {func(_ context.Context, l []pool.Lease) error { return l[1].Release() }, pool.ErrReleased},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, pool.Config{Machines: machines(2, 1)})
			require.ErrorIs(t, p.Do(t.Context(), "a", r, test.fn), test.want)
			release(t, acquire(t, p, "b", 2), acquire(t, p, "b", 1))
		})
	}
	t.Run("panic", func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(2, 1)})
		require.PanicsWithValue(t, "oh", func() {
			_ = p.Do(t.Context(), "a", r, func(context.Context, []pool.Lease) error { panic("oh") })
		})
		release(t, acquire(t, p, "b", 2), acquire(t, p, "b", 1))
	})
}

// The context of the function ends with the first of the leases that is preempted.
func TestPoolDo_ContextEndsWithAnyLease(t *testing.T) {
	for _, need := range []resources.Vector{v(2), v(1)} {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, pool.Config{Machines: machines(2, 1)})
			owner := tenant(t, p, "owner", pool.Settings{Guarantee: need})
			type key struct{}
			parent := context.WithValue(t.Context(), key{}, "mine")
			var got <-chan pool.Lease
			r := pool.Request{Needs: []resources.Vector{v(2), v(1)}}
			err := p.Do(parent, "a", r, func(ctx context.Context, _ []pool.Lease) error {
				require.Equal(t, "mine", ctx.Value(key{}))
				require.NoError(t, ctx.Err())
				got = queue(t, p, owner.Name(), need)
				<-ctx.Done()
				return context.Cause(ctx)
			})
			require.ErrorIs(t, err, pool.ErrPreempted)
			release(t, arrived(got))
		})
	}
}

// Work that fails after its lease was preempted fails for that reason, whatever its own
// error is. Work that succeeds even so has succeeded.
func TestDo_TellsThatTheLeaseWasPreempted(t *testing.T) {
	mine := errors.New("mine")
	one := pool.Request{Needs: []resources.Vector{v(1)}}
	for way, do := range map[string]func(t *testing.T, p *pool.Pool, fn func(context.Context) error) error{
		"Pool.Do": func(t *testing.T, p *pool.Pool, fn func(context.Context) error) error {
			t.Helper()
			return p.Do(t.Context(), "a", one, func(ctx context.Context, _ []pool.Lease) error { return fn(ctx) })
		},
		"Tenant.Do": func(t *testing.T, p *pool.Pool, fn func(context.Context) error) error {
			t.Helper()
			return tenant(t, p, "a").Do(t.Context(), v(1), func(ctx context.Context, _ pool.Lease) error { return fn(ctx) })
		},
		"Group.Go": func(t *testing.T, p *pool.Pool, fn func(context.Context) error) error {
			t.Helper()
			g, _ := tenant(t, p, "a").Group(t.Context())
			require.NoError(t, g.Go(v(1), func(ctx context.Context, _ pool.Lease) error { return fn(ctx) }))
			return g.Wait()
		},
		"with a time to run": func(t *testing.T, p *pool.Pool, fn func(context.Context) error) error {
			t.Helper()
			a := tenant(t, p, "a", pool.Settings{MaxRun: time.Minute})
			return a.Do(t.Context(), v(1), func(ctx context.Context, _ pool.Lease) error { return fn(ctx) })
		},
		"within other work": func(t *testing.T, p *pool.Pool, fn func(context.Context) error) error {
			t.Helper()
			other := newPool(t, pool.Config{Machines: machines(1)})
			return tenant(t, p, "a").Do(t.Context(), v(1), func(ctx context.Context, _ pool.Lease) error {
				return other.Do(ctx, "b", one, func(ctx context.Context, _ []pool.Lease) error { return fn(ctx) })
			})
		},
	} {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				want := `pool: task of "a": mine: lease is preempted`
				if way == "within other work" {
					want = `pool: task of "b": mine: lease is preempted`
				}
				for _, fails := range []error{mine, nil} {
					p := newPool(t, pool.Config{Machines: machines(1)})
					owner := tenant(t, p, "owner", pool.Settings{Guarantee: v(1)})
					var got <-chan pool.Lease
					err := do(t, p, func(ctx context.Context) error {
						got = queue(t, p, owner.Name(), v(1))
						<-ctx.Done()
						return fails
					})
					if fails == nil {
						require.NoError(t, err)
					} else {
						require.ErrorIs(t, err, pool.ErrPreempted)
						require.ErrorIs(t, err, mine)
						require.EqualError(t, err, want)
					}
					release(t, arrived(got))
				}
				require.Equal(t, mine, do(t, newPool(t, pool.Config{Machines: machines(1)}), func(context.Context) error { return mine }))
			})
		})
	}
}

func TestPoolDo_RunsForAsLongAsTheTenantAllows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(1)})
		tenant(t, p, "a", pool.Settings{MaxRun: time.Minute})
		begun := time.Now()
		err := p.Do(t.Context(), "a", pool.Request{Needs: []resources.Vector{v(1)}}, func(ctx context.Context, _ []pool.Lease) error {
			<-ctx.Done()
			return ctx.Err()
		})
		require.ErrorIs(t, err, pool.ErrRun)
		require.Equal(t, time.Minute, time.Since(begun))
	})
}

func TestPoolDo_RefusesBadInputAndHoldsNothing(t *testing.T) {
	p := newPool(t, pool.Config{Machines: machines(1)})
	one := pool.Request{Needs: []resources.Vector{v(1)}}
	nothing := func(context.Context, []pool.Lease) error {
		t.Error("was called")
		return nil
	}
	over, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("over"))
	require.ErrorIs(t, p.Do(t.Context(), "a", one, nil), pool.ErrConfig)
	require.ErrorIs(t, p.Do(t.Context(), "", one, nothing), pool.ErrTenant)
	require.ErrorIs(t, p.Do(t.Context(), "a", pool.Request{}, nothing), pool.ErrNeed)
	require.ErrorIs(t, p.Do(t.Context(), "a", pool.Request{Needs: []resources.Vector{v(2)}}, nothing), pool.ErrNeed)
	require.EqualError(t, p.Do(over, "a", one, nothing), "over")
	require.ErrorIs(t, p.Do(nil, "a", one, nothing), resources.ErrNil) //nolint:staticcheck // a nil context is refused
	require.ErrorIs(t, (*pool.Pool)(nil).Do(t.Context(), "a", one, nothing), resources.ErrNil)
	release(t, acquire(t, p, "b", 1))
}

func TestLeases_AreThoseOfTheContext(t *testing.T) {
	p := newPool(t, pool.Config{Machines: machines(2, 4)})
	other := newPool(t, pool.Config{Machines: machines(1)})
	walk := func(ctx context.Context) (machines []string) {
		for l := range pool.Leases(ctx) {
			machines = append(machines, l.Machine())
		}
		return machines
	}
	require.Empty(t, walk(t.Context()))
	require.Empty(t, walk(nil))
	r := pool.Request{Needs: []resources.Vector{v(4), v(2)}}
	require.NoError(t, p.Do(t.Context(), "a", r, func(ctx context.Context, _ []pool.Lease) error {
		require.Equal(t, []string{"m0", "m1"}, walk(ctx))
		return tenant(t, other, "b").Do(ctx, v(1), func(ctx context.Context, _ pool.Lease) error {
			require.Equal(t, []string{"m0", "m0", "m1"}, walk(ctx))
			for l := range pool.Leases(ctx) {
				require.Equal(t, v(1), l.Need(), "the innermost")
				break
			}
			return nil
		})
	}))
}

func TestRetryAfter_TellsWhichRequestsMayComeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(1)})
		a := tenant(t, p, "a", pool.Settings{Queue: 1})
		held := acquire(t, p, "a", 1)
		one := pool.Request{Needs: []resources.Vector{v(1)}, MaxWait: time.Second}
		_, late := a.Request(t.Context(), one)
		require.ErrorIs(t, late, pool.ErrWait)
		after, ok := pool.RetryAfter(fmt.Errorf("mine: %w", late))
		require.True(t, ok)
		require.Equal(t, time.Second, after, "no task has ended, so as long as the wait")

		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			_, err := a.Acquire(ctx, v(1))
			gone <- err
		}()
		synctest.Wait()
		_, full := a.Acquire(t.Context(), v(1))
		require.ErrorIs(t, full, pool.ErrQueueFull)
		_, ok = pool.RetryAfter(full)
		require.True(t, ok)

		cancel()
		for name, err := range map[string]error{"gone": <-gone, "need": a.Do(t.Context(), v(2), func(context.Context, pool.Lease) error { return nil }), "none": nil} {
			_, ok = pool.RetryAfter(err)
			require.False(t, ok, name)
		}
		after, ok = pool.RetryAfter(pool.ErrPreempted)
		require.True(t, ok)
		require.Zero(t, after)
		release(t, held)
	})
}

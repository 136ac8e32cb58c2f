package pool_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// A worker of a job queue asks the pool, and puts off what it refuses.
func ExampleBacklog() {
	p, err := pool.New(pool.Config{
		Tenants: map[string]pool.Settings{"etl": {Queue: 1, Rate: 2}}, // two jobs a second
	})
	if err != nil {
		panic(err)
	}
	var later pool.Backlog
	r := pool.Request{Needs: []resources.Vector{{1}}, MaxWait: time.Nanosecond}
	for job := range 4 {
		again, err := later.Do(context.Background(), p, "etl", r, false, func(context.Context, []pool.Lease) error {
			fmt.Println("job", job, "runs")
			return nil
		})
		if again > 0 {
			fmt.Println("job", job, "comes again after", again.Round(time.Second))
		} else if err != nil {
			panic(err)
		}
	}
	// Output:
	// job 0 runs
	// job 1 comes again after 1s
	// job 2 comes again after 1s
	// job 3 comes again after 1s
}

// A thousand jobs are put off again and again until they have run. The slots never idle,
// and a job comes a few times only, however long the tasks are.
func TestBacklog_KeepsThePoolBusyAndAsksSeldom(t *testing.T) {
	const slots, jobs, others = 4, 1000, 100
	for name, length := range map[string]func(*rand.Rand) time.Duration{
		"1 ms":  func(*rand.Rand) time.Duration { return time.Millisecond },
		"20 ms": func(*rand.Rand) time.Duration { return 20 * time.Millisecond },
		"10 s":  func(*rand.Rand) time.Duration { return 10 * time.Second },
		"1 to 200 ms": func(r *rand.Rand) time.Duration {
			return time.Millisecond + time.Duration(min(r.ExpFloat64(), 10)*20*float64(time.Millisecond))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, pool.Config{Machines: machines(slots)})
				tenant(t, p, "a", pool.Settings{Queue: 4})
				tenant(t, p, "b", pool.Settings{Queue: 4})
				backlog := &pool.Backlog{Least: 10 * time.Millisecond}
				one := pool.Request{Needs: []resources.Vector{v(1)}}
				var refusals atomic.Int64
				run := func(tenant string, length time.Duration, ended chan<- bool) {
					for {
						after, _ := backlog.Do(t.Context(), p, tenant, one, false, func(context.Context, []pool.Lease) error {
							time.Sleep(length)
							return nil
						})
						if after == 0 {
							ended <- true
							return
						}
						refusals.Add(1)
						time.Sleep(after)
					}
				}
				r := rand.New(rand.NewPCG(1, 2))
				ended := make(chan bool)
				var work time.Duration
				began := time.Now()
				for i := range jobs + others {
					d := length(r)
					work += d
					if i < jobs {
						go run("a", d, ended)
					} else {
						go run("b", d, ended)
					}
				}
				for range jobs + others {
					<-ended
				}
				least := work / slots
				require.Less(t, time.Since(began), least+least/10+100*time.Millisecond)
				require.Less(t, refusals.Load(), int64(6*(jobs+others)))
			})
		})
	}
}

// Requests come again one after the other, about twice as fast as their tenant is served.
func TestBacklog_SpreadsRequestsOverHalfTheTimeOfTheirQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(1000))
		a := tenant(t, p, "a", pool.Settings{Rate: 1, Burst: 1})
		release(t, acquire(t, p, "a", 1)) // the token
		backlog := pool.Backlog{Least: time.Millisecond}
		var last time.Duration
		for i := range 100 {
			_, err := a.Request(t.Context(), pool.Request{Needs: []resources.Vector{v(1)}, MaxWait: 1})
			again := pool.Again(&backlog, "a", err, time.Now())
			require.Greater(t, again, last, "request %d", i)
			last = again
		}
		require.InDelta(t, 50, last.Seconds(), 15, "a hundred tokens take 100 s")
	})
}

// Tenants with requests put off take no memory once these have come again, although
// no later request of theirs asks.
func TestBacklog_ForgetsTenants(t *testing.T) {
	p := newPool(t, pool.Config{Machines: machines(1)})
	held := acquire(t, p, "holder", 1)
	var backlog pool.Backlog
	now := time.Unix(0, 0)
	for i := range 1000 {
		name := fmt.Sprint("tenant ", i)
		_, err := tenant(t, p, "a").Request(t.Context(), pool.Request{Needs: []resources.Vector{v(1)}, MaxWait: 1})
		require.Equal(t, time.Second, pool.Again(&backlog, name, err, now))
		now = now.Add(100 * time.Millisecond)
	}
	require.Less(t, pool.Waiting(&backlog), 50)
	release(t, held)
}

func TestBacklog_KnowsWhichErrorsAreFinal(t *testing.T) {
	var backlog pool.Backlog
	for _, err := range []error{nil, pool.ErrNeed, pool.ErrTenant, context.Canceled} {
		require.Zero(t, pool.Again(&backlog, "a", err, time.Now()), "%v", err)
	}
	for _, err := range []error{pool.ErrPreempted, pool.ErrClosed} {
		require.Equal(t, time.Second, pool.Again(&backlog, "a", err, time.Now()), "%v", err)
	}
}

// Of eight workers two run, and three wait for one tenant: no more than are left. A
// request that runs or has ended counts no longer as waiting.
func TestBacklogDo_KeepsWorkersForOtherTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(2)})
		backlog := pool.Backlog{Workers: 8}
		one := pool.Request{Needs: []resources.Vector{v(1)}}
		end := make(chan bool)
		var running, later atomic.Int64
		ask := func(tenant string) {
			go func() {
				defer func() { _ = recover() }()
				again, _ := backlog.Do(t.Context(), p, tenant, one, false, func(context.Context, []pool.Lease) error {
					running.Add(1)
					defer running.Add(-1)
					if <-end {
						panic("a job")
					}
					return nil
				})
				if again > 0 {
					later.Add(1)
				}
			}()
			synctest.Wait()
			time.Sleep(time.Nanosecond) // for what does not wait
			synctest.Wait()
		}
		for _, fails := range []bool{true, false} { // twice: nothing is left of the first time
			later.Store(0)
			for _, step := range []struct {
				tenant string
				asks   int
				later  int64 // in all
			}{
				{"a", 2, 0}, // run
				{"a", 4, 1}, // 3 wait beside the 2, and 3 workers are left
				{"b", 2, 2}, // 1 waits
				{"c", 1, 2}, // 1 waits
				{"c", 1, 3}, // one worker is left
				{"d", 1, 4}, // and none beside the request itself
				{"a", 1, 5},
			} {
				for range step.asks {
					ask(step.tenant)
				}
				require.Equal(t, step.later, later.Load(), "%+v", step)
				require.Equal(t, int64(2), running.Load())
			}
			for range 7 {
				end <- fails
				synctest.Wait()
			}
			require.Zero(t, running.Load())
		}
		refused := uint64(0)
		for _, s := range p.Stats().Tenants {
			require.Zero(t, s.TimedOut, "no request has waited too long")
			refused += s.QueueFull
		}
		require.EqualValues(t, 10, refused)
	})
}

// What the work itself fails with is final, also if it was refused by a pool that it uses.
func TestBacklogDo_PutsOffWhatThePoolRefuses(t *testing.T) {
	one := pool.Request{Needs: []resources.Vector{v(1)}, MaxWait: time.Nanosecond}
	fails := func(err error) func(context.Context, []pool.Lease) error {
		return func(context.Context, []pool.Lease) error { return err }
	}
	p := newPool(t, pool.Config{Machines: machines(1)})
	backlog := pool.Backlog{Least: time.Minute}
	held := acquire(t, p, "b", 1)
	again, busy := backlog.Do(t.Context(), p, "a", one, false, fails(nil))
	require.ErrorIs(t, busy, pool.ErrWait)
	require.Equal(t, time.Minute, again)
	release(t, held)

	again, err := backlog.Do(t.Context(), p, "c", one, false, fails(nil))
	require.NoError(t, err)
	require.Zero(t, again)
	again, err = backlog.Do(t.Context(), p, "c", one, false, fails(busy))
	require.Equal(t, busy, err)
	require.Zero(t, again)
	again, err = backlog.Do(t.Context(), p, "", one, false, fails(nil))
	require.ErrorIs(t, err, pool.ErrTenant)
	require.Zero(t, again)

	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(1)})
		owner := tenant(t, p, "owner", pool.Settings{Guarantee: v(1)})
		for _, fail := range []error{busy, nil} {
			var got <-chan pool.Lease
			again, err := backlog.Do(t.Context(), p, "d", one, false, func(ctx context.Context, _ []pool.Lease) error {
				got = queue(t, p, owner.Name(), v(1))
				<-ctx.Done()
				return fail
			})
			if fail != nil {
				require.ErrorIs(t, err, pool.ErrPreempted)
				require.Equal(t, time.Minute, again)
			} else {
				require.NoError(t, err)
				require.Zero(t, again)
			}
			release(t, arrived(got))
		}
	})
	again, err = (&pool.Backlog{Workers: -1}).Do(t.Context(), p, "c", one, false, fails(nil))
	require.ErrorIs(t, err, pool.ErrConfig)
	require.EqualError(t, err, "pool: Backlog.Workers -1, want 0 or more: invalid configuration")
	require.Zero(t, again)
	_, err = (*pool.Backlog)(nil).Do(t.Context(), p, "c", one, false, fails(nil))
	require.ErrorIs(t, err, resources.ErrNil)
	require.NoError(t, p.Close(t.Context()))
	again, err = backlog.Do(t.Context(), p, "c", one, false, fails(nil))
	require.ErrorIs(t, err, pool.ErrClosed)
	require.Equal(t, time.Minute, again)
}

// A request that stays keeps its worker until its time has come: with two of three workers
// taken so, one is left, and no request may wait.
func TestBacklogDo_CountsTheWorkerOfARequestThatStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(1)})
		backlog := pool.Backlog{Workers: 3, Least: time.Hour}
		soon := pool.Request{Needs: []resources.Vector{v(1)}, MaxWait: time.Nanosecond}
		nothing := func(context.Context, []pool.Lease) error { return nil }
		held := acquire(t, p, "holder", 1)
		began, ended := time.Now(), make(chan time.Duration, 2)
		for range 2 {
			go func() {
				again, err := backlog.Do(t.Context(), p, "a", soon, true, nothing)
				if again < time.Hour || !errors.Is(err, pool.ErrWait) {
					t.Errorf("again after %v: %v", again, err)
				}
				ended <- time.Since(began) - again
			}()
			synctest.Wait()
			time.Sleep(time.Nanosecond)
			synctest.Wait()
		}
		_, err := backlog.Do(t.Context(), p, "b", soon, false, nothing)
		require.ErrorIs(t, err, pool.ErrQueueFull)
		for range 2 {
			require.InDelta(t, 0, <-ended, 10) // nanoseconds
		}
		_, err = backlog.Do(t.Context(), p, "b", soon, false, nothing)
		require.ErrorIs(t, err, pool.ErrWait, "all workers are left")

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began = time.Now()
		again, err := backlog.Do(ctx, p, "c", soon, true, nothing)
		require.Zero(t, again)
		require.ErrorIs(t, err, pool.ErrWait)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Minute, time.Since(began))
		release(t, held)
	})
}

// A request that is put off while many tenants wait. The bar of the middlewares is 5 µs.
func BenchmarkBacklog_PutOff(b *testing.B) {
	for _, waiting := range []int{0, 1, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			p, err := pool.New(pool.Config{Machines: machines(1)})
			require.NoError(b, err)
			ctx, cancel := context.WithCancel(b.Context())
			one := pool.Request{Needs: []resources.Vector{v(1)}}
			held, err := p.Acquire(ctx, "holder", v(1))
			require.NoError(b, err)
			for i := range waiting {
				o, err := p.Tenant(fmt.Sprint("other ", i))
				require.NoError(b, err)
				require.NoError(b, o.Go(ctx, v(1), func(context.Context, pool.Lease) error { return nil }))
			}
			backlog := pool.Backlog{Least: time.Millisecond, Workers: 1} // nothing may wait
			b.ReportAllocs()
			for b.Loop() {
				again, err := backlog.Do(ctx, p, "flood", one, false, nil)
				if again == 0 {
					b.Fatal(err)
				}
			}
			cancel()
			require.NoError(b, held.Release())
			require.NoError(b, p.Close(context.Background()))
		})
	}
}

package pool_test

import (
	"context"
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
	now := time.Unix(0, 0)
	r := pool.Request{Needs: []resources.Vector{{1}}, MaxWait: time.Nanosecond}
	for job := range 4 {
		err := p.Do(context.Background(), "etl", r, func(context.Context, []pool.Lease) error {
			fmt.Println("job", job, "runs")
			return nil
		})
		if after, ok := later.After("etl", err, now); ok {
			fmt.Println("job", job, "comes again after", after.Round(time.Second))
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
						err := p.Do(t.Context(), tenant, one, func(context.Context, []pool.Lease) error {
							time.Sleep(length)
							return nil
						})
						after, ok := backlog.After(tenant, err, time.Now())
						if !ok {
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
				require.Less(t, refusals.Load(), int64(8*(jobs+others)))
			})
		})
	}
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
		after, ok := backlog.After(name, err, now)
		require.True(t, ok)
		require.Equal(t, time.Second, after)
		now = now.Add(100 * time.Millisecond)
	}
	require.Less(t, pool.Waiting(&backlog), 50)
	release(t, held)
}

func TestBacklog_KnowsWhichErrorsAreFinal(t *testing.T) {
	var backlog pool.Backlog
	for _, err := range []error{nil, pool.ErrNeed, pool.ErrClosed, context.Canceled} {
		_, ok := backlog.After("a", err, time.Now())
		require.False(t, ok, "%v", err)
	}
	after, ok := backlog.After("a", pool.ErrPreempted, time.Now())
	require.True(t, ok)
	require.Equal(t, time.Second, after)
}

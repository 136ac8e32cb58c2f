package admission_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// A fairQueue runs tasks of tenants on so many slots, in its order. The weights
// of all tenants are set when it is opened.
type fairQueue interface {
	// do runs a task and returns when it has run.
	do(tenant int, task func())
	// close ends the queue. No task waits or runs by then.
	close()
}

// fairQueues are the pool and the queues of other systems, written as their code does it.
func fairQueues() map[string]func(t *testing.T, slots int, weights []int) fairQueue {
	return map[string]func(*testing.T, int, []int) fairQueue{
		"pool":        openFairPool,
		"round-robin": openRoundRobin,
		"interleaved": openInterleaved,
		"stride":      openStride,
	}
}

// fairPool is omega/pool with a tenant for each tenant.
type fairPool struct {
	t       *testing.T
	pool    *pool.Pool
	tenants []*pool.Tenant
}

func openFairPool(t *testing.T, slots int, weights []int) fairQueue {
	t.Helper()
	host := omega.Machine{Name: "host", Capacity: resources.Vector{int64(slots)}}
	p, err := pool.New(pool.Config{Machines: []omega.Machine{host}})
	require.NoError(t, err)
	q := &fairPool{t: t, pool: p}
	for i, weight := range weights {
		n, err := p.Tenant(fmt.Sprint("tenant-", i))
		require.NoError(t, err)
		require.NoError(t, n.Set(pool.Settings{Weight: float64(weight)}))
		q.tenants = append(q.tenants, n)
	}
	return q
}

func (q *fairPool) do(tenant int, task func()) {
	err := q.tenants[tenant].Do(context.Background(), unit, func(context.Context, pool.Lease) error { task(); return nil })
	if err != nil {
		q.t.Error(err)
	}
}

func (q *fairPool) close() { require.NoError(q.t, q.pool.Close(context.Background())) }

// advantage lets tenants compete in virtual time, each with so many tasks that wait or run. It
// returns the slot time of the first tenant as a multiple of the mean of the others.
func advantage(t *testing.T, open func(*testing.T, int, []int) fairQueue, slots int, weights []int, lengths []time.Duration) (ratio float64) {
	t.Helper()
	const outstanding = 100
	synctest.Test(t, func(t *testing.T) {
		span := time.Duration(600*len(weights)/slots) * time.Second
		q := open(t, slots, weights)
		ran := make([]time.Duration, len(weights))
		var wg sync.WaitGroup
		var mu sync.Mutex
		start := time.Now()
		for tenant, length := range lengths {
			for range outstanding {
				wg.Go(func() {
					for time.Since(start) < span {
						q.do(tenant, func() {
							left := span - time.Since(start)
							time.Sleep(length)
							mu.Lock()
							ran[tenant] += max(0, min(length, left))
							mu.Unlock()
						})
					}
				})
			}
		}
		wg.Wait()
		q.close()
		var rest time.Duration
		for _, r := range ran[1:] {
			rest += r
		}
		ratio = float64(ran[0]) * float64(len(ran)-1) / float64(rest)
	})
	return ratio
}

// Slot time over a long while, where every tenant has 100 tasks outstanding. By weight: the first
// tenant has weight 10, and tasks are alike. By length: weights are alike, and the first tenant's
// tasks are ten times as long. Fair is 10 and 1.
func TestWeights_OnlyThePoolSharesSlotTime(t *testing.T) {
	want := map[string]struct{ byWeight, byLength float64 }{
		"pool":        {10, 1},
		"round-robin": {1, 10}, // has no weights
		"interleaved": {10, 10},
		"stride":      {10, 10},
	}
	for _, shape := range []struct{ slots, tenants int }{{1, 2}, {2, 2}, {8, 8}, {8, 20}, {8, 4}} {
		for name, open := range fairQueues() {
			t.Run(fmt.Sprintf("slots=%d/tenants=%d/%s", shape.slots, shape.tenants, name), func(t *testing.T) {
				weights, lengths := make([]int, shape.tenants), make([]time.Duration, shape.tenants)
				for i := range weights {
					weights[i], lengths[i] = 1, time.Second
				}
				weights[0] = 10
				byWeight := advantage(t, open, shape.slots, weights, lengths)
				weights[0], lengths[0] = 1, 10*time.Second
				byLength := advantage(t, open, shape.slots, weights, lengths)
				t.Logf("by weight %.2f, by length %.2f", byWeight, byLength)
				require.InEpsilon(t, want[name].byWeight, byWeight, 0.15)
				require.InEpsilon(t, want[name].byLength, byLength, 0.15)
			})
		}
	}
}

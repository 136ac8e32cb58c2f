package pool_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// A tenant has 50 jobs of 20 ms for four slots, some at once, beside 1,000 jobs of another
// tenant. Half of its jobs wait no longer than alone on half of the slots, which is its share,
// and until a job of the other ends, but for a tenth. That is twice as long as alone on all
// slots, for bursts that these do not serve at once. Jobs come again as from the queue of a database: it has
// 1,000 workers, and hands out what was put off at the time for that.
func TestBacklogDo_KeepsWaitsShortBesideAFlood(t *testing.T) {
	const length = 20 * time.Millisecond
	for _, burst := range []int{1, 2, 5, 10, 25} {
		for _, other := range []time.Duration{time.Millisecond, length, 200 * time.Millisecond, 2 * time.Second} {
			t.Run(fmt.Sprintf("burst=%d/flood=%v", burst, other), func(t *testing.T) {
				share := median(floodWaits(t, 2, burst, length, 0, 0))
				beside := median(floodWaits(t, 4, burst, length, 1000, other))
				require.LessOrEqual(t, beside, share+share/10+other)
			})
		}
	}
}

// floodWaits returns the waits of 50 jobs of one tenant for slots, from their first request to
// their start, that come in bursts while another tenant has a flood.
func floodWaits(t *testing.T, slots int64, burst int, length time.Duration, flood int, floods time.Duration) (waits []time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(slots))
		backlog := pool.Backlog{Least: 10 * time.Millisecond, Workers: 1000}
		one := pool.Request{Needs: []resources.Vector{v(1)}, MaxWait: 10 * time.Second}
		ctx, cancel := context.WithCancel(t.Context())
		work := func(tenant string, length time.Duration, wait chan<- time.Duration) {
			asked := time.Now()
			for ctx.Err() == nil {
				again, err := backlog.Do(ctx, p, tenant, one, false, func(ctx context.Context, _ []pool.Lease) error {
					if wait != nil {
						wait <- time.Since(asked)
					}
					select {
					case <-time.After(length):
					case <-ctx.Done():
					}
					return nil
				})
				if again == 0 {
					if err != nil && ctx.Err() == nil {
						t.Error(err)
					}
					return
				}
				select {
				case <-time.After(again):
				case <-ctx.Done():
				}
			}
		}
		for range flood {
			go work("flood", floods, nil)
		}
		synctest.Wait()
		for range 50 / burst {
			wait := make(chan time.Duration, burst)
			for range burst {
				go work("few", length, wait)
			}
			for range burst {
				waits = append(waits, <-wait)
			}
			time.Sleep(length) // until the last has ended
		}
		cancel()
		synctest.Wait()
	})
	return waits
}

func median(waits []time.Duration) time.Duration {
	slices.Sort(waits)
	return waits[len(waits)/2]
}

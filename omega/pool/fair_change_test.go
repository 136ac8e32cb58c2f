package pool_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
)

// Tenants come and go, 19 at a time beside one of weight 10 that stays: its slot
// time is ten times that of a present one.
func TestPool_SlotTimeFollowsWeightsWhileTenantsComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(8))
		const present, stay, total = 19, 40 * time.Second, 400 * time.Second
		heavy := &load{tenant: tenant(t, p, "heavy", pool.Settings{Weight: 10}), need: v(1), length: time.Second, workers: 24}
		var mu sync.Mutex
		var others time.Duration
		var wg sync.WaitGroup
		wg.Go(func() { run(t, total, heavy) })
		for seat := range present {
			wg.Go(func() {
				time.Sleep(time.Duration(seat) * stay / present) // one changes every two seconds
				for turn := 0; time.Duration(turn) < (total-time.Duration(seat)*stay/present)/stay; turn++ {
					n, err := p.Tenant(fmt.Sprint("guest-", seat, "-", turn))
					if err != nil {
						t.Error(err)
						return
					}
					guest := &load{tenant: n, need: v(1), length: time.Second, workers: 8}
					run(t, stay, guest)
					mu.Lock()
					others += guest.ran
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		// Guests are there for nine or ten stays of ten.
		require.InDelta(t, 10, float64(heavy.ran)/float64(total)/(float64(others)/float64(present)/float64(total-stay/2)), 1.5)
	})
}

// A tenant that was idle for an hour gets its share from then on, not what it has
// missed; so does one that had the pool for itself.
func TestPool_AnIdleHourEarnsNothing(t *testing.T) {
	for name, alone := range map[string]bool{"idle beside others": false, "after one was alone": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, oneMachine(4))
				var loads []*load
				for i := range 4 {
					loads = append(loads, &load{tenant: tenant(t, p, fmt.Sprint(i)), need: v(1), length: time.Second, workers: 12})
				}
				if alone {
					run(t, time.Hour, loads[0])
				} else {
					run(t, time.Hour, loads[1:]...)
				}
				for _, l := range loads {
					l.ran = 0
				}
				run(t, 100*time.Second, loads...)
				for _, l := range loads {
					require.InDelta(t, 100, l.ran.Seconds(), 5)
				}
			})
		})
	}
}

// An acquire that a tenant makes now and then beside others that always wait is
// served in its turn, after each of them once at most.
func TestPool_ALightTenantWaitsForOneRoundAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(1))
		var heavy []*load
		for i := range 10 {
			heavy = append(heavy, &load{tenant: tenant(t, p, fmt.Sprint(i)), need: v(1), length: time.Second, workers: 3})
		}
		light := tenant(t, p, "light")
		var wg sync.WaitGroup
		wg.Go(func() { run(t, 500*time.Second, heavy...) })
		for range 20 {
			time.Sleep(20 * time.Second)
			start := time.Now()
			l, err := light.Acquire(context.Background(), v(1))
			require.NoError(t, err)
			require.LessOrEqual(t, time.Since(start), 12*time.Second)
			release(t, l)
		}
		wg.Wait()
	})
}

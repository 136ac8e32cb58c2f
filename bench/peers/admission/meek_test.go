package admission_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The pool's price buys fairness: a tenant with two goroutines gets half beside
// a tenant with six. (A tenant with one only gets
// less: one that runs does not wait, and its turn comes when it asks again.) Elsewhere
// each goroutine is served in its turn, and a user with more of them gets more.
// Tasks take a millisecond of virtual time.
func TestMeek_GetsHalfBesideTheGreedyOnlyFromThePool(t *testing.T) {
	const submitters, meek, limit, span = 8, 2, 2, time.Second
	meekAndGreedy := func(tb testing.TB, limit int, task func()) peer {
		tb.Helper()
		names := tenants(1)
		for s := range meek {
			names[s] = "meek"
		}
		return newPool(tb, limit, task, names)
	}
	tests := map[string]struct {
		open  func(testing.TB, int, func()) peer
		share float64
	}{
		"pool of two tenants": {meekAndGreedy, 1.0 / 2},
		"pool of one tenant":  {openPool, float64(meek) / submitters},
		"semaphore":           {openSemaphore, float64(meek) / submitters},
		"channel":             {openChannel, float64(meek) / submitters},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := test.open(t, limit, func() { time.Sleep(time.Millisecond) })
				var ran [submitters]int
				var wg sync.WaitGroup
				start := time.Now()
				for s := range submitters {
					wg.Go(func() {
						for time.Since(start) < span {
							p.submit(s)
							ran[s]++
						}
					})
				}
				wg.Wait()
				p.wait()
				got, sum := 0, 0
				for s, n := range ran {
					if sum += n; s < meek {
						got += n
					}
				}
				share := float64(got) / float64(sum)
				t.Logf("%d of %d tasks are the meek one's: %.3f", got, sum, share)
				require.InDelta(t, test.share, share, 0.02)
			})
		})
	}
}

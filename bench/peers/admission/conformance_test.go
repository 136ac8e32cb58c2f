package admission_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// A comparison is only worth something if all do the same. They run every task,
// as many at a time as allowed and no more. They report when the last one has run, and
// leave no goroutine behind.
func TestPeers_RunAllAsManyAtATimeAsAllowed(t *testing.T) {
	const submitters, tasks = 8, 40
	for place, contenders := range map[string][]contender{"here": inPlace(), "elsewhere": elsewhere()} {
		for _, c := range contenders {
			for _, limit := range []int{1, 3} {
				t.Run(fmt.Sprintf("%s/%s/limit=%d", place, c.name, limit), func(t *testing.T) {
					// ants has two goroutines that start when it is imported.
					defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
					synctest.Test(t, func(t *testing.T) {
						var running, ran atomic.Int64
						var over atomic.Bool
						end := make(chan struct{})
						defer func() { // so that a failure leaves no task blocked
							close(end)
							synctest.Wait()
						}()
						p := c.open(t, limit, func() {
							running.Add(1)
							<-end
							running.Add(-1)
							ran.Add(1)
						})
						go func() {
							drive(p, submitters, tasks)
							p.wait()
							over.Store(true)
						}()
						for left := tasks; left > 0; left-- {
							synctest.Wait()
							require.EqualValues(t, min(left, limit), running.Load(), "%d tasks left", left)
							require.False(t, over.Load(), "%d tasks left", left)
							end <- struct{}{}
						}
						synctest.Wait()
						require.EqualValues(t, tasks, ran.Load())
						require.True(t, over.Load())
					})
				})
			}
		}
	}
}

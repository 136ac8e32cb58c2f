package experiments

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCore_SharesEvenlyUpToALink(t *testing.T) {
	c := core{capacity: 150, link: 100}
	c.start(0, 1, 1000)
	at, flow, ok := c.next()
	require.True(t, ok)
	require.Equal(t, 10*time.Second, at, "alone it has a link")
	require.Equal(t, int64(1), flow)

	c.start(4*time.Second, 2, 150) // 600 are left of the first; 75 a second each
	at, flow, _ = c.next()
	require.Equal(t, 6*time.Second, at)
	require.Equal(t, int64(2), flow)
	require.Equal(t, int64(150), c.stop(at, flow))

	at, flow, _ = c.next() // 450 are left
	require.Equal(t, 10500*time.Millisecond, at)
	require.Equal(t, int64(1), flow)
	require.Equal(t, int64(550+200), c.stop(8*time.Second, 1), "stopped on the way")
	_, _, ok = c.next()
	require.False(t, ok)
	require.Zero(t, c.stop(9*time.Second, 1), "it is gone")
}

// The model has the rest of each flow, and no number that all share.
func TestCore_IsAsOneFlowAfterTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := core{capacity: rapid.Int64Range(1, 5000).Draw(t, "capacity"), link: rapid.Int64Range(1, 2000).Draw(t, "link")}
		left := map[int64]float64{}
		whole := map[int64]int64{}
		now, flows, moved := time.Duration(0), int64(0), 0.0
		pass := func(to time.Duration) {
			for flow := range left {
				left[flow] -= (to - now).Seconds() * float64(c.rate())
			}
			moved += (to - now).Seconds() * float64(c.rate()) * float64(len(left))
			now = to
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			to := now + time.Duration(rapid.Int64Range(0, 5e6).Draw(t, "wait"))*time.Microsecond
			for {
				at, flow, ok := c.next()
				if !ok || at > to {
					break
				}
				pass(at)
				require.InDelta(t, 0, left[flow], 1+2e-6*float64(c.link), "it ends when nothing is left")
				require.Equal(t, whole[flow], c.stop(at, flow))
				delete(left, flow)
			}
			pass(to)
			if rapid.Bool().Draw(t, "stop") && len(c.flows) > 0 {
				flow := c.flows[rapid.IntRange(0, len(c.flows)-1).Draw(t, "which")].number
				require.InDelta(t, float64(whole[flow])-left[flow], float64(c.stop(now, flow)), 2)
				delete(left, flow)
				continue
			}
			flows++
			whole[flows] = rapid.Int64Range(1, 10_000).Draw(t, "bytes")
			left[flows] = float64(whole[flows])
			c.start(now, flows, whole[flows])
			require.LessOrEqual(t, c.rate()*int64(len(c.flows)), max(c.capacity, int64(len(c.flows))))
		}
		require.LessOrEqual(t, moved, now.Seconds()*float64(max(c.capacity, flows))+1)
	})
}

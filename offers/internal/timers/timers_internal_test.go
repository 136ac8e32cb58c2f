package timers

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Timers are due in the order of their times. Timers of the same time are due in the order
// in which they were started, however many are started again or stopped in between.
func TestTimers_AreDueInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ts Heap
		all := make([]Timer, 40)
		var running []*Timer // the model, in order
		stop := func(one *Timer) { running = slices.DeleteFunc(running, func(r *Timer) bool { return r == one }) }
		t.Repeat(map[string]func(*rapid.T){
			"start": func(t *rapid.T) {
				for range rapid.IntRange(1, 8).Draw(t, "many") {
					one := &all[rapid.IntRange(0, len(all)-1).Draw(t, "timer")]
					at := time.Unix(rapid.Int64Range(0, 30).Draw(t, "at"), 0)
					ts.Start(one, at, one)
					stop(one)
					i := slices.IndexFunc(running, func(r *Timer) bool { return r.at.After(at) })
					if i < 0 {
						i = len(running)
					}
					running = slices.Insert(running, i, one)
				}
			},
			"stop": func(t *rapid.T) {
				one := &all[rapid.IntRange(0, len(all)-1).Draw(t, "timer")]
				ts.Stop(one)
				stop(one)
			},
			"due": func(t *rapid.T) {
				now := time.Unix(rapid.Int64Range(0, 30).Draw(t, "now"), 0)
				for one := ts.Due(now); one != nil; one = ts.Due(now) {
					require.Same(t, running[0], one)
					running = running[1:]
				}
				require.True(t, len(running) == 0 || running[0].at.After(now))
			},
			"": func(t *rapid.T) {
				require.Len(t, ts.heap, len(running))
				at, due := ts.Next()
				require.Equal(t, len(running) > 0, due)
				if due {
					require.Equal(t, running[0].at, at)
				}
				for i, one := range ts.heap {
					require.Equal(t, i+1, one.place)
				}
			},
		})
		for _, one := range running {
			require.Same(t, one, ts.Due(time.Unix(100, 0)))
		}
		require.Nil(t, ts.Due(time.Unix(100, 0)))
	})
}

// The timer that takes the place of a stopped timer may belong above it.
func TestTimers_MoveUpInTheirHeap(t *testing.T) {
	var ts Heap
	all := make([]Timer, 7)
	for i, at := range []int64{0, 10, 1, 11, 12, 2, 3} { // in heap order, the last one below 1
		ts.Start(&all[i], time.Unix(at, 0), &all[i])
	}
	ts.Stop(&all[3]) // 11: 3 takes its place, below 10
	var got []int64
	for one := ts.Due(time.Unix(100, 0)); one != nil; one = ts.Due(time.Unix(100, 0)) {
		got = append(got, one.(*Timer).at.Unix())
	}
	require.Equal(t, []int64{0, 1, 2, 3, 10, 12}, got)
}

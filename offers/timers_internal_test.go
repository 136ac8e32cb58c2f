package offers

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Timers are due in the order of their times, those of the same time in that in which they
// were started, however many are started again or stopped in between.
func TestTimers_AreDueInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ts timers
		all := make([]timer, 40)
		var running []*timer // the model, in order
		stop := func(one *timer) { running = slices.DeleteFunc(running, func(r *timer) bool { return r == one }) }
		t.Repeat(map[string]func(*rapid.T){
			"start": func(t *rapid.T) {
				for range rapid.IntRange(1, 8).Draw(t, "many") {
					one := &all[rapid.IntRange(0, len(all)-1).Draw(t, "timer")]
					at := time.Unix(rapid.Int64Range(0, 30).Draw(t, "at"), 0)
					ts.start(one, at, nil)
					stop(one)
					i := slices.IndexFunc(running, func(r *timer) bool { return r.at.After(at) })
					if i < 0 {
						i = len(running)
					}
					running = slices.Insert(running, i, one)
				}
			},
			"stop": func(t *rapid.T) {
				one := &all[rapid.IntRange(0, len(all)-1).Draw(t, "timer")]
				ts.stop(one)
				stop(one)
			},
			"due": func(t *rapid.T) {
				now := time.Unix(rapid.Int64Range(0, 30).Draw(t, "now"), 0)
				for one := ts.due(now); one != nil; one = ts.due(now) {
					require.Same(t, running[0], one)
					running = running[1:]
				}
				require.True(t, len(running) == 0 || running[0].at.After(now))
			},
			"": func(t *rapid.T) {
				require.Len(t, ts.heap, len(running))
				at, due := ts.next()
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
			require.Same(t, one, ts.due(time.Unix(100, 0)))
		}
		require.Nil(t, ts.due(time.Unix(100, 0)))
	})
}

// One that moves into the place of one that is stopped may belong above it.
func TestTimers_MoveUpInTheirHeap(t *testing.T) {
	var ts timers
	all := make([]timer, 7)
	for i, at := range []int64{0, 10, 1, 11, 12, 2, 3} { // in heap order, the last one below 1
		ts.start(&all[i], time.Unix(at, 0), nil)
	}
	ts.stop(&all[3]) // 11, in whose place 3 comes, below 10
	var got []int64
	for one := ts.due(time.Unix(100, 0)); one != nil; one = ts.due(time.Unix(100, 0)) {
		got = append(got, one.at.Unix())
	}
	require.Equal(t, []int64{0, 1, 2, 3, 10, 12}, got)
}

// Nodes stand in the list of the idle from when they were added last, in that order,
// until they are removed. The list has no more than twice as many entries and a few.
func TestIdle_HasEachNodeOnceAndForgetsTheOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l idle
		nodes := make([]node, 40)
		var model []*node
		drop := func(n *node) { model = slices.DeleteFunc(model, func(o *node) bool { return o == n }) }
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(nodes)-1), 1, 50).Draw(t, "nodes") {
					l.add(&nodes[i])
					drop(&nodes[i])
					model = append(model, &nodes[i])
				}
			},
			"remove": func(t *rapid.T) {
				for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(nodes)-1), 1, 50).Draw(t, "nodes") {
					l.remove(&nodes[i])
					drop(&nodes[i])
				}
			},
			"": func(t *rapid.T) {
				var standing []*node
				for _, e := range l.entries {
					if e.node.idle == e.seq {
						standing = append(standing, e.node)
					}
				}
				require.Len(t, standing, len(model))
				for i := range model {
					require.Same(t, model[i], standing[i])
				}
				require.Equal(t, len(model), l.live)
				require.LessOrEqual(t, len(l.entries), 2*len(nodes)+64)
			},
		})
	})
}

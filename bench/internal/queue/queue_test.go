package queue_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/bench/internal/queue"
)

// The model is a slice that is sorted by time, stably.
func TestQueue_IsAStableOrderByTime(t *testing.T) {
	type event struct {
		at time.Duration
		n  int
	}
	rapid.Check(t, func(t *rapid.T) {
		var q queue.Queue[int]
		var model []event
		pushed := 0
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				at := time.Duration(rapid.IntRange(0, 9).Draw(t, "at"))
				q.Push(at, pushed)
				model = append(model, event{at, pushed})
				slices.SortStableFunc(model, func(a, b event) int { return cmp.Compare(a.at, b.at) })
				pushed++
			},
			"pop": func(t *rapid.T) {
				at, n, ok := q.Pop()
				require.Equal(t, len(model) > 0, ok)
				if ok {
					want := model[0]
					require.Equal(t, want, event{at, n})
					model = model[1:]
				}
			},
			"": func(t *rapid.T) {
				require.Equal(t, len(model), q.Len())
				at, ok := q.Next()
				require.Equal(t, len(model) > 0, ok)
				if ok {
					require.Equal(t, model[0].at, at)
				}
			},
		})
	})
}

package slots_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality/quincy/internal/slots"
)

// What a way costs is what the oracle finds where the task has no other option,
// and there is one if the oracle finds anything.
func TestWays_CostWhatTheOracleSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for range rapid.IntRange(1, 9).Draw(t, "tasks") {
			w.tasks = append(w.tasks, w.net.Add(w.options(t)))
		}
		if w.net.Solve(context.Background(), w.now) != nil {
			return
		}
		for _, task := range w.tasks {
			leaf := w.net.Below(task, slots.Sink)
			_, cost, _ := w.net.At(task)
			options := w.net.Options(nil, task)
			options = slices.DeleteFunc(options, func(o slots.Option) bool { return o.At == leaf })
			options = append(options, slots.Option{Base: cost, At: leaf}) // a rack's price is that of the machine
			w.net.Ground(task, leaf, options)
		}
		best := w.net.Cost()
		task := rapid.SampledFrom(w.tasks).Draw(t, "task")
		at, paid, _ := w.net.At(task)
		first := 0 // its arcs in the graph
		for _, other := range w.tasks[:task] {
			first += len(w.net.Options(nil, other))
		}
		all := w.net.Options(nil, task)
		for i, way := range w.net.Ways(task, w.now) {
			require.Equal(t, all[i], way.Option)
			g := w.net.Graph(w.now)
			for k := range all {
				if k != i {
					g.Arcs[first+k].Cap = 0
				}
			}
			forced, err := g.Solve(context.Background())
			require.Equal(t, err == nil, way.Open)
			if !way.Open {
				continue
			}
			require.Equal(t, forced.Cost-best, way.Extra)

			// The steps add up, and lead to where there is room.
			sum := all[i].Base + int64(all[i].Slope)*w.now - paid
			here := map[slots.Loc]int{way.Leaf: 1}
			here[at]--
			for _, s := range way.Steps {
				from, _, _ := w.net.At(s.Task)
				require.Equal(t, from, s.From)
				sum += s.Extra
				here[s.From]--
				here[s.To]++
			}
			require.Equal(t, way.Extra, sum)
			for v, more := range here {
				most, used := w.net.Room(v)
				require.LessOrEqual(t, used+more, most)
			}
			if all[i].At == at {
				require.Empty(t, way.Steps)
			}
		}
	})
}

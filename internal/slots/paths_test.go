package slots_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/internal/mcf"
	"github.com/cellsched/cellsched/internal/shapes"
	"github.com/cellsched/cellsched/internal/slots"
)

// fewest returns how many tasks move in the cheapest solutions of g in which the
// fewest do.
func fewest(t require.TestingT, w *world, g *mcf.Graph) int {
	g = &mcf.Graph{Supply: g.Supply, Arcs: slices.Clone(g.Arcs)}
	k := 0
	for _, task := range w.tasks {
		at, _, _ := w.net.At(task)
		for _, o := range w.net.Options(nil, task) {
			g.Arcs[k].Cost *= 10 // there are 9 tasks at most
			if o.At != at {
				g.Arcs[k].Cost++
			}
			k++
		}
	}
	both, err := g.Solve(context.Background())
	require.NoError(t, err)
	return int((both.Cost%10 + 10) % 10)
}

// moved returns the tasks that move; -1 stands for the one that the path is for.
func moved(at slots.Loc, way *slots.Path) (tasks []int32) {
	if way.Option.At != at {
		tasks = append(tasks, -1)
	}
	for _, s := range way.Steps {
		tasks = append(tasks, s.Task)
	}
	return tasks
}

// What a path costs is what the oracle finds where the task has no other option,
// and there is one if the oracle finds anything.
func TestPaths_CostMatchesTheOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for _, v := range w.waits { // some have to wait
			w.net.SetLeaf(v, rapid.IntRange(0, 2).Draw(t, "must wait"), rapid.IntRange(0, 4).Draw(t, "may wait"))
		}
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
			w.net.ReplaceAt(task, leaf, options)
		}
		best := w.net.Cost()
		task := rapid.SampledFrom(w.tasks).Draw(t, "task")
		at, paid, _ := w.net.At(task)
		first := 0 // its arcs in the graph
		for _, other := range w.tasks[:task] {
			first += len(w.net.Options(nil, other))
		}
		all := w.net.Options(nil, task)
		for i, way := range w.net.Paths(task, w.now) {
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
			require.Len(t, moved(at, &way), fewest(t, w, g), "of ways that cost the same it is one that moves the fewest")
		}
	})
}

// A search for the paths of one task is no search of everything. Where slots are free it
// looks at less than a fiftieth of the arcs for half of the tasks, and at less than a
// twentieth for most others.
func TestPaths_LookAtFewArcs(t *testing.T) {
	c := newCell(shapes.B(), 90)
	require.NoError(t, c.net.Solve(t.Context(), 0))
	for _, task := range c.tasks {
		leaf := c.net.Below(task, slots.Sink)
		_, cost, _ := c.net.At(task)
		options := slices.DeleteFunc(c.net.Options(nil, task), func(o slots.Option) bool { return o.At == leaf })
		c.net.ReplaceAt(task, leaf, append(options, slots.Option{Base: cost, At: leaf}))
	}
	require.NoError(t, c.net.Solve(t.Context(), 0))
	var looked []int64
	for i := 0; i < len(c.tasks); i += len(c.tasks) / 100 {
		c.net.Paths(c.tasks[i], 0)
		looked = append(looked, c.net.Looked())
	}
	slices.Sort(looked)
	_, arcs := c.net.Used()
	require.Less(t, looked[len(looked)/2], arcs/50)
	require.Less(t, looked[len(looked)*9/10], arcs/20)
}

// A task that has to wait for its job can go to a free machine if another waits in its
// stead; not one that has to wait for its own.
func TestPaths_KeepTheWaitingTasksOfAJob(t *testing.T) {
	for keeps := range 2 {
		n := slots.New()
		free, own, other := n.AddLeaf(slots.Sink), n.AddLeaf(slots.Sink), n.AddLeaf(slots.Sink)
		const waiting = 60 // so many that the search goes forwards
		n.SetLeaf(free, 0, 1)
		n.SetLeaf(own, waiting, 0)
		n.SetLeaf(other, keeps, 1-keeps)
		task := n.Add([]slots.Option{{At: own}, {Base: 1, At: free}})
		for range waiting - 1 {
			n.Add([]slots.Option{{At: own}})
		}
		stands := n.Add([]slots.Option{{At: other}, {Base: 2, At: own}})
		require.NoError(t, n.Solve(t.Context(), 0))
		way := n.Paths(task, 0)[1]
		require.Equal(t, keeps == 0, way.Open)
		if way.Open {
			require.Equal(t, []slots.Step{{Task: stands, From: other, To: own, Extra: 2}}, way.Steps)
		}
	}
}

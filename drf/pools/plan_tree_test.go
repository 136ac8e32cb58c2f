package pools_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf/allot"
	"github.com/cellsched/cellsched/drf/pools"
)

// TestPreempt_OverTheTreeComesToRest lets the jobs of a tree start tasks that fit
// and preempt for others, in any order, by the tree's own standings. No state ever
// comes back, and in the end no job can do either.
func TestPreempt_OverTheTreeComesToRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Int64Range(0, 3)
		vector := rapid.Custom(func(t *rapid.T) vec { return vec{amount.Draw(t, "a"), amount.Draw(t, "b")} })
		some := vector.Filter(func(v vec) bool { return v != vec{} })
		weight := rapid.SampledFrom([]float64{1, 1, 2, 3})
		total := vec{rapid.Int64Range(4, 12).Draw(t, "t0"), rapid.Int64Range(4, 12).Draw(t, "t1")}
		tree, err := pools.New[int](total, nil)
		require.NoError(t, err)

		type worker struct {
			node    pools.Node
			demand  vec
			waiting int64
		}
		var workers []worker
		parents := []pools.Node{tree.Root()}
		wait := func(w *worker) { require.NoError(t, tree.Backlog(w.node, w.demand.Scale(w.waiting))) }
		for key := range rapid.IntRange(3, 9).Draw(t, "nodes") {
			parent := rapid.SampledFrom(parents).Draw(t, "parent")
			config := pools.Config{Weight: weight.Draw(t, "weight")}
			if rapid.Bool().Draw(t, "promised") {
				config.Min = vector.Draw(t, "min")
			}
			if rapid.IntRange(0, 2).Draw(t, "sort") == 0 {
				config.Order = []pools.Order{nil, nil, pools.FIFO, pools.Fair(0)}[rapid.IntRange(0, 3).Draw(t, "order")]
				h, err := tree.AddPool(parent, key, config)
				require.NoError(t, err)
				parents = append(parents, h)
				continue
			}
			h, err := tree.AddJob(parent, key, config)
			require.NoError(t, err)
			w := worker{h, some.Draw(t, "demand"), rapid.Int64Range(1, 12).Draw(t, "tasks")}
			require.NoError(t, tree.Demand(h, w.demand))
			workers = append(workers, w)
			wait(&workers[len(workers)-1])
		}
		if len(workers) == 0 {
			t.Skip("no jobs")
		}

		free := total
		var tasks []running
		owners := map[pools.Node]*worker{}
		for i := range workers {
			owners[workers[i].node] = &workers[i]
		}
		start := func(w *worker) {
			tasks = append(tasks, running{Job: w.node, Need: w.demand, Started: int64(len(tasks))})
			require.NoError(t, tree.Charge(w.node, w.demand))
			free, _ = free.Sub(w.demand)
			if w.waiting--; w.waiting == 0 {
				require.NoError(t, tree.Park(w.node))
			}
			wait(w)
		}
		fair := map[pools.Node]vec{}
		for _, s := range tree.Standings() {
			fair[s.Node] = s.Fair
		}
		for i := range workers { // the first comes by night
			for w := &workers[i]; w.waiting > 0 && w.demand.Fits(free); {
				start(w)
			}
		}
		seen := map[[9]vec]bool{}
		for idle := 0; idle < 3*len(workers); {
			w := &workers[rapid.IntRange(0, len(workers)-1).Draw(t, "who")]
			idle++
			if w.waiting == 0 {
				continue
			}
			if w.demand.Fits(free) {
				start(w)
				idle = 0
				continue
			}
			standings := tree.Standings()
			p, err := preempt(standings, w.node, w.demand, []vec{free}, tasks)
			require.NoError(t, err)
			if p.Verdict != allot.Yields {
				continue
			}
			for _, i := range p.Tasks {
				task := &tasks[i]
				owner := owners[task.Job]
				require.NoError(t, tree.Credit(task.Job, task.Need))
				free = free.Add(task.Need)
				if owner.waiting++; owner.waiting == 1 {
					require.NoError(t, tree.Demand(owner.node, owner.demand))
				}
				wait(owner)
				task.Need = vec{}
			}
			require.True(t, w.demand.Fits(free))
			start(w)
			idle = 0
			var state [9]vec
			for i := range workers {
				state[i], _ = tree.Usage(workers[i].node)
			}
			require.False(t, seen[state], "preemption leads back")
			seen[state] = true
			for _, s := range tree.Standings() {
				require.Equal(t, fair[s.Node], s.Fair, "fair shares do not depend on the usage")
			}
		}
	})
}

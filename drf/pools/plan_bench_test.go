package pools_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf/allot"
	"github.com/cellsched/cellsched/drf/pools"
)

// BenchmarkPreempt plans for a job with less than its share, among 10,000 tasks in
// 1,000 pools below 10.
func BenchmarkPreempt(b *testing.B) {
	for _, machines := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("tasks=10000/pools=1000/machines=%d", machines), func(b *testing.B) {
			tree, err := pools.New[int](vec{1}, nil)
			require.NoError(b, err)
			standings := []pools.Standing{{Node: tree.Root()}}
			add := func(pool pools.Node, plant func(pools.Node, int, pools.Config) (pools.Node, error)) pools.Node {
				h, err := plant(pool, len(standings), pools.Config{})
				require.NoError(b, err)
				standings = append(standings, pools.Standing{Node: h, Parent: pool})
				return h
			}
			parents := []int{-1}
			var jobs []int
			for range 10 {
				department := add(tree.Root(), tree.AddPool)
				top := len(standings) - 1
				parents = append(parents, 0)
				for range 100 {
					pool := add(department, tree.AddPool)
					parents = append(parents, top)
					jobs = append(jobs, len(standings))
					add(pool, tree.AddJob)
					parents = append(parents, len(standings)-2)
				}
			}
			r := rand.New(rand.NewPCG(1, 2))
			tasks := make([]running, 10_000)
			for t := range tasks {
				j := jobs[1+min(r.IntN(len(jobs)-1), r.IntN(len(jobs)-1))] // the first ones have more
				tasks[t] = running{Job: standings[j].Node, Machine: t % machines, Need: vec{1 + r.Int64N(4), 1 + r.Int64N(4)}, Started: r.Int64()}
				for i := j; i >= 0; i = parents[i] {
					standings[i].Usage = standings[i].Usage.Add(tasks[t].Need)
				}
			}
			for i := range standings {
				n := int64(1000)
				switch {
				case i == 0:
					n = 1
				case parents[i] == 0:
					n = 10
				}
				s := &standings[i]
				s.Wants = vec{1 << 20, 1 << 20}
				s.Fair = vec{standings[0].Usage[0] / n, standings[0].Usage[1] / n}
			}
			free := make([]vec, machines)
			b.ReportAllocs()
			for b.Loop() {
				p, err := preempt(standings, standings[jobs[0]].Node, vec{8, 8}, free, tasks)
				if err != nil || p.Verdict != allot.Yields {
					b.Fatal(p.Verdict, err)
				}
			}
		})
	}
}

package pools_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf/pools"
	"github.com/cellsched/cellsched/resources"
)

// Three kinds, of which there is too little; jobs in pools of a hundred.
func BenchmarkStandings(b *testing.B) {
	for _, jobs := range []int{100, 1_000, 10_000, 100_000} {
		for _, order := range []string{"DRF", "FIFO"} {
			b.Run(fmt.Sprintf("jobs=%d/order=%s", jobs, order), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, 2))
				n := int64(jobs)
				tree, err := pools.New[int](resources.Vector{16 * n, 64 * n, 4 * n}, nil)
				require.NoError(b, err)
				config := pools.Config{}
				if order == "FIFO" {
					config.Order = pools.FIFO
				}
				var pool pools.Node
				for i := range jobs {
					if i%100 == 0 {
						pool, err = tree.AddPool(tree.Root(), -1-i, config)
						require.NoError(b, err)
					}
					job, err := tree.AddJob(pool, i, pools.Config{Weight: 1 + rng.Float64(), Min: resources.Vector{rng.Int64N(8), rng.Int64N(32)}})
					require.NoError(b, err)
					require.NoError(b, tree.Charge(job, resources.Vector{rng.Int64N(16), rng.Int64N(64), rng.Int64N(4)}))
					require.NoError(b, tree.Demand(job, resources.Vector{1, 1, 1}))
					require.NoError(b, tree.Backlog(job, resources.Vector{rng.Int64N(40), rng.Int64N(160), rng.Int64N(10)}))
				}
				b.ReportAllocs()
				for b.Loop() {
					if s := tree.Standings(); s[0].Fair == (resources.Vector{}) {
						b.Fatal("nothing is divided")
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(tree.Len()+1), "ns/node")
			})
		}
	}
}

package score_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/score"
	"github.com/cellsched/cellsched/resources"
)

// machines is how many a benchmark goes through: enough that no branch is
// learnt by heart, few enough to stay in the first-level cache.
const machines = 64

// operands returns seeded tasks and machines that have the first n kinds.
func operands(n int) (need, free, capacity [machines]resources.Vector) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range machines {
		for k := range n {
			capacity[i][k] = 1<<20 + r.Int64N(1<<30)
			free[i][k] = r.Int64N(capacity[i][k])
			need[i][k] = r.Int64N(1 + free[i][k])
		}
	}
	return need, free, capacity
}

// BenchmarkScore reports the time of one score, though each turn of b.Loop does
// all machines.
func BenchmarkScore(b *testing.B) {
	for _, kinds := range []int{3, resources.MaxKinds} {
		need, free, capacity := operands(kinds)
		for _, c := range candidates(b, score.Weights{}, all(1<<31)) {
			b.Run(fmt.Sprintf("score=%s/kinds=%d", c.name, kinds), func(b *testing.B) {
				run(b, c.score, &need, &free, &capacity)
			})
		}
	}
}

func BenchmarkFGD(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, devs := range []int{1, 4} {
		need, free, capacity := operands(1 + devs)
		for _, n := range []int{10, 91} {
			classes := make([]score.Class, n)
			for i := range classes {
				classes[i].Popularity = 1 + r.Float64()
				classes[i].Need[0] = r.Int64N(1 << 29)
				share := r.Int64N(1 << 29)
				for k := range 1 + i%devs {
					classes[i].Need[1+k] = share
				}
			}
			f, err := score.NewFragmentation(devices(devs), classes)
			require.NoError(b, err)
			b.Run(fmt.Sprintf("devices=%d/classes=%d", devs, n), func(b *testing.B) {
				run(b, f.FGD, &need, &free, &capacity)
			})
		}
	}
}

func run(b *testing.B, f score.Func, need, free, capacity *[machines]resources.Vector) {
	b.Helper()
	sum := 0.0
	b.ReportAllocs()
	for b.Loop() {
		for i := range machines {
			sum += f(&need[i], &free[i], &capacity[i])
		}
	}
	if sum == 0 {
		b.Fatal("nothing was computed")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/machines, "ns/op")
}

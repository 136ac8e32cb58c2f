package allot_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf/allot"
	"github.com/cellsched/cellsched/resources"
)

// BenchmarkDivide shares out eight kinds. With demand=finite most takers have all
// of their tasks before a kind is used up, as in a cell that is nearly large
// enough. With demands=sparse each taker leaves out most kinds, so that there is a
// round for each kind.
func BenchmarkDivide(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		for _, demands := range []string{"dense", "sparse"} {
			for _, tasks := range []string{"endless", "finite"} {
				b.Run(fmt.Sprintf("takers=%d/demands=%s/tasks=%s", n, demands, tasks), func(b *testing.B) {
					total, takers := benchTakers(n, resources.MaxKinds, demands == "sparse")
					if tasks == "finite" {
						random := rand.New(rand.NewPCG(2, uint64(n)))
						for i := range takers {
							takers[i].Tasks = 1 + random.Int64N(40)
						}
					}
					b.ReportAllocs()
					for b.Loop() {
						if _, err := allot.Divide(total, takers); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// BenchmarkFill shares out three kinds in whole tasks, some ten a taker, and
// reports the time for each.
func BenchmarkFill(b *testing.B) {
	for _, n := range []int{10, 1_000, 100_000} {
		for _, rule := range []string{"skip", "stop"} {
			b.Run(fmt.Sprintf("takers=%d/rule=%s", n, rule), func(b *testing.B) {
				total, takers := benchTakers(n, 3, false)
				o, steps := allot.FillOptions{Stop: rule == "stop"}, int64(0)
				b.ReportAllocs()
				for b.Loop() {
					tasks, err := allot.Fill(total, takers, o)
					require.NoError(b, err)
					for _, t := range tasks {
						steps += t
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/task")
			})
		}
	}
}

// benchTakers is n takers with demands of about 1,000 of each kind, of which
// there is enough for some ten tasks each.
func benchTakers(n, kinds int, sparse bool) (total resources.Vector, takers []allot.Taker) {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	for k := range kinds {
		total[k] = int64(n) * (8_000 + 1_000*int64(k))
	}
	takers = make([]allot.Taker, n)
	for i := range takers {
		t := &takers[i]
		for k := range kinds {
			if !sparse || random.IntN(kinds) < 2 {
				t.Demand[k] = 1 + random.Int64N(2_000)
			}
		}
		if t.Demand == (resources.Vector{}) {
			t.Demand[random.IntN(kinds)] = 1_000
		}
		t.Weight = []float64{1, 2, 4}[random.IntN(3)]
	}
	return total, takers
}

package pools_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf/pools"
)

// grow makes a tree of so many jobs, in pools that branch so far below each
// other.
func grow(tb testing.TB, jobs int, branches []int, shapes int) (*pools.Tree[int], []vec) {
	tb.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	total := vec{int64(jobs) * 64_000, int64(jobs) * 256 << 30, int64(jobs) * 8}
	tree, err := pools.New[int](total, nil)
	require.NoError(tb, err)
	key := -1
	level := []pools.Node{tree.Root()}
	for _, n := range branches {
		var below []pools.Node
		for _, p := range level {
			for range n {
				h, err := tree.AddPool(p, key, pools.Config{})
				require.NoError(tb, err)
				key--
				below = append(below, h)
			}
		}
		level = below
	}
	kinds := make([]vec, shapes)
	for i := range kinds {
		kinds[i] = vec{r.Int64N(4000) + 1, (r.Int64N(16<<20) + 1) << 10, r.Int64N(10) / 7}
	}
	demands := make([]vec, 1, 2*jobs)
	for j := range jobs {
		h, err := tree.AddJob(level[j%len(level)], j, pools.Config{Weight: []float64{1, 2, 4}[r.IntN(3)]})
		require.NoError(tb, err)
		v := kinds[r.IntN(shapes)]
		require.NoError(tb, tree.Demand(h, v))
		demands = append(demands, v)
	}
	return tree, demands[1:]
}

// BenchmarkTree_PickCharge places task after task while everything fits.
func BenchmarkTree_PickCharge(b *testing.B) {
	for _, c := range []struct {
		name     string
		jobs     int
		branches []int
	}{
		{"pools=10/jobs=1000", 1000, []int{10}},
		{"pools=10/jobs=100000", 100_000, []int{10}},
		{"depth=4/jobs=1000", 1000, []int{5, 5, 5}},
	} {
		for _, shapes := range []int{4, 1 << 30} {
			b.Run(fmt.Sprintf("%s/shapes=%d", c.name, min(shapes, c.jobs)), func(b *testing.B) {
				tree, _ := grow(b, c.jobs, c.branches, min(shapes, c.jobs))
				free := vec{1 << 60, 1 << 60, 1 << 60}
				b.ReportAllocs()
				for b.Loop() {
					_, _ = tree.Take(free)
				}
			})
		}
	}
}

// BenchmarkTree_FullCell ends a task and places what fits in its stead.
func BenchmarkTree_FullCell(b *testing.B) {
	for _, jobs := range []int{1000, 100_000} {
		for _, shapes := range []int{4, 1 << 30} {
			b.Run(fmt.Sprintf("pools=10/jobs=%d/shapes=%d", jobs, min(shapes, jobs)), func(b *testing.B) {
				tree, demands := grow(b, jobs, []int{10}, min(shapes, jobs))
				free := vec{int64(jobs) * 4000, int64(jobs) * 16 << 30, int64(jobs)}
				var running []int
				place := func() {
					for {
						h, ok := tree.Pick(free)
						if !ok {
							return
						}
						j, _ := tree.Key(h)
						_ = tree.Charge(h, demands[j])
						free, _ = free.Sub(demands[j])
						running = append(running, j)
					}
				}
				place()
				r := rand.New(rand.NewPCG(3, 4))
				b.ReportAllocs()
				for b.Loop() {
					i := r.IntN(len(running))
					j := running[i]
					running[i] = running[len(running)-1]
					running = running[:len(running)-1]
					h, _ := tree.Node(j)
					_ = tree.Credit(h, demands[j])
					free = free.Add(demands[j])
					place()
				}
			})
		}
	}
}

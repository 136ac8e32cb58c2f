package pools_test

import (
	"fmt"
	"math"
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

// BenchmarkTree_PickCharge places task after task while everything fits. How
// tree is this package's; all is the definition, computed anew before each pick,
// as open schedulers do it.
func BenchmarkTree_PickCharge(b *testing.B) {
	free := vec{1 << 60, 1 << 60, 1 << 60}
	for _, c := range []struct {
		name     string
		jobs     int
		branches []int
	}{
		{"pools=10/jobs=1000", 1000, []int{10}},
		{"pools=10/jobs=100000", 100_000, []int{10}},
		{"pools=155/depth=4/jobs=1000", 1000, []int{5, 5, 5}},
	} {
		for _, shapes := range []int{4, c.jobs} {
			b.Run(fmt.Sprintf("%s/shapes=%d/how=tree", c.name, shapes), func(b *testing.B) {
				tree, _ := grow(b, c.jobs, c.branches, shapes)
				for range 3 * c.jobs { // all hold something, and room for all is made
					_, _ = tree.Take(free)
				}
				b.ReportAllocs()
				for b.Loop() {
					_, _ = tree.Take(free)
				}
			})
		}
		b.Run(fmt.Sprintf("%s/shapes=%d/how=all", c.name, c.jobs), func(b *testing.B) {
			tree, _ := grow(b, c.jobs, c.branches, c.jobs)
			all := copyBranch(tree, tree.Root())
			b.ReportAllocs()
			for b.Loop() {
				all.take()
			}
		})
	}
}

// branch is a pool or a job while everything fits, of which all is computed
// anew each time.
type branch struct {
	kids                   []*branch
	weight, share          float64
	usage, demand, consume [3]float64
}

func copyBranch(tree *pools.Tree[int], h pools.Node) *branch {
	config, _ := tree.Config(h)
	b := &branch{weight: config.Weight}
	total := tree.Total()
	if more, ok := tree.Wants(h); ok {
		for k := range b.demand {
			b.demand[k] = float64(more[k]) / float64(total[k])
		}
	}
	for c := range tree.Children(h) {
		b.kids = append(b.kids, copyBranch(tree, c))
	}
	return b
}

// take starts a task of the job that the definition picks, computed from the leaves
// up.
func (b *branch) take() {
	b.define()
	for len(b.kids) > 0 {
		best := b.kids[0]
		for _, k := range b.kids {
			if k.share < best.share {
				best = k
			}
		}
		b = best
	}
	for k := range b.usage {
		b.usage[k] += b.demand[k]
	}
}

func (b *branch) define() {
	if len(b.kids) == 0 {
		b.consume = b.usage
	} else {
		least := math.Inf(1)
		for _, c := range b.kids {
			c.define()
			if c.share > 0 {
				least = min(least, c.share)
			}
		}
		b.consume = [3]float64{}
		for _, c := range b.kids {
			if c.share > 0 {
				for k := range b.consume {
					b.consume[k] += least / c.share * c.consume[k]
				}
			}
		}
	}
	b.share = max(b.consume[0], b.consume[1], b.consume[2]) / b.weight
}

// BenchmarkTree_FullCell ends a task and places the tasks that fit in its stead.
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

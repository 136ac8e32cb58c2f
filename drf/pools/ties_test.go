package pools_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf/pools"
)

// A pool with three jobs that hold a fifth each ties with a job that holds three:
// its share is 3 * 1/5, whichever way it is computed.
func TestTree_TieOfAPoolAndAJobGoesToTheOlder(t *testing.T) {
	for name, poolFirst := range map[string]bool{"the pool": true, "the job": false} {
		t.Run(name, func(t *testing.T) {
			tree, err := pools.New[string](vec{5}, nil)
			require.NoError(t, err)
			job := func(parent pools.Node, key string, held int64) pools.Node {
				h, err := tree.AddJob(parent, key, pools.Config{})
				require.NoError(t, err)
				require.NoError(t, tree.Charge(h, vec{held}))
				require.NoError(t, tree.Demand(h, vec{1}))
				return h
			}
			var q pools.Node
			if !poolFirst {
				q = job(tree.Root(), "q", 3)
			}
			p, err := tree.AddPool(tree.Root(), "p", pools.Config{})
			require.NoError(t, err)
			want := job(p, "1", 1)
			job(p, "2", 1)
			job(p, "3", 1)
			if poolFirst {
				job(tree.Root(), "q", 3)
			} else {
				want = q
			}
			for _, next := range []func() (pools.Node, bool){
				func() (pools.Node, bool) { return tree.Pick(vec{5}) },
				func() (pools.Node, bool) { return tree.First(tree.Root()) },
			} {
				h, ok := next()
				require.True(t, ok)
				require.Equal(t, want, h)
			}
		})
	}
}

// Two pools tie if only their jobs' usage beside CPUs counts: three jobs with a
// third of it each, and one job. Weights are so small that the sums of usage are
// off in a place that float64 shows.
func TestTree_TieIsKeptWhereSumsAreRounded(t *testing.T) {
	const weight = 1e-6
	for depth := range 3 {
		tree, err := pools.New[string](vec{90, 9}, nil)
		require.NoError(t, err)
		below := func(name string) pools.Node {
			p := tree.Root()
			for d := range depth + 1 {
				p, err = tree.AddPool(p, fmt.Sprint(name, d), pools.Config{})
				require.NoError(t, err)
			}
			return p
		}
		add := func(p pools.Node, key string, held vec) pools.Node {
			h, err := tree.AddJob(p, key, pools.Config{Weight: weight})
			require.NoError(t, err)
			require.NoError(t, tree.Charge(h, held))
			require.NoError(t, tree.Demand(h, vec{0, 1}))
			return h
		}
		first := add(below("q"), "q", vec{30, 3})
		p := below("p")
		for _, key := range []string{"1", "2", "3"} {
			add(p, key, vec{30, 1})
		}
		h, ok := tree.Pick(vec{0, 1})
		require.True(t, ok)
		require.Equal(t, first, h, "depth %d", depth)
	}
}

// Shares of two children that float64 does not show as they are.
func TestTree_ComparesSharesBeyondFloatPrecision(t *testing.T) {
	type child struct {
		weight float64
		held   vec
	}
	const most = 1 << 62
	tests := map[string]struct {
		total, demand vec
		free          vec
		first, second child // the second one has less
		pools         bool  // each in a pool of its own
	}{
		"weights that differ in the last place": {
			vec{8}, vec{1}, vec{8}, child{1.5, vec{1}}, child{1.5 + 0x1p-52, vec{1}}, false,
		},
		"more tasks than float64 counts": {
			vec{most}, vec{1}, vec{1}, child{1, vec{1 << 55}}, child{1, vec{1<<55 - 1}}, false,
		},
		"a demand of which some tasks are beyond 64 bits": {
			vec{10, most}, vec{1, most}, vec{1, most}, child{1, vec{5}}, child{1, vec{4}}, false,
		},
		"so little beside a used-up kind that sums do not show it": {
			vec{9, most}, vec{0, 1}, vec{0, 1}, child{1, vec{3, 2}}, child{1, vec{3, 1}}, true,
		},
		"pools that differ in the last place": {
			vec{most}, vec{1}, vec{1}, child{1, vec{1<<60 + 1}}, child{1, vec{1 << 60}}, true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tree, err := pools.New[int](test.total, nil)
			require.NoError(t, err)
			var jobs [2]pools.Node
			for i, c := range []child{test.first, test.second} {
				parent := tree.Root()
				if test.pools {
					parent, err = tree.AddPool(parent, 2+i, pools.Config{})
					require.NoError(t, err)
				}
				jobs[i], err = tree.AddJob(parent, i, pools.Config{Weight: c.weight})
				require.NoError(t, err)
				require.NoError(t, tree.Charge(jobs[i], c.held))
				require.NoError(t, tree.Demand(jobs[i], test.demand))
			}
			h, ok := tree.Pick(test.free)
			require.True(t, ok)
			require.Equal(t, jobs[1], h)
			if test.free[0] > 0 {
				h, _ = tree.First(tree.Root())
				require.Equal(t, jobs[1], h)
			}
		})
	}
}

// Of two children with the same part of their min shares, the one added first comes
// first, with any other usage.
func TestTree_TieOfMinSharesGoesToTheOlder(t *testing.T) {
	tests := map[string]struct{ low, a, b vec }{
		"both have some": {vec{0, 4}, vec{5, 2}, vec{1, 2}},
		"both have none": {vec{0, 1}, vec{}, vec{1}},
		"of two kinds":   {vec{4, 8}, vec{2, 1}, vec{1, 4}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tree, err := pools.New[string](vec{10, 10}, nil)
			require.NoError(t, err)
			jobs := map[string]pools.Node{}
			for _, key := range []string{"a", "b"} {
				h, err := tree.AddJob(tree.Root(), key, pools.Config{Min: test.low})
				require.NoError(t, err)
				require.NoError(t, tree.Demand(h, vec{1, 1}))
				jobs[key] = h
			}
			require.NoError(t, tree.Charge(jobs["a"], test.a))
			require.NoError(t, tree.Charge(jobs["b"], test.b))
			h, _ := tree.Pick(vec{10, 10})
			require.Equal(t, jobs["a"], h)
			h, _ = tree.First(tree.Root())
			require.Equal(t, jobs["a"], h)
		})
	}
}

// Of two equal pools a charge leaves one with less of their dominant kind, by a
// part of 2^58 only. That one is first.
func TestTree_ATieEndsWithTheLeastTurnOfAJob(t *testing.T) {
	const total, whole = 1 << 60, 1 << 58
	tree, err := pools.New[string](vec{total, total}, nil)
	require.NoError(t, err)
	add := func(pool string) (even, first pools.Node) {
		p, err := tree.AddPool(tree.Root(), pool, pools.Config{})
		require.NoError(t, err)
		job := func(key string, held vec) pools.Node {
			h, err := tree.AddJob(p, pool+key, pools.Config{})
			require.NoError(t, err)
			require.NoError(t, tree.Charge(h, held))
			require.NoError(t, tree.Demand(h, vec{1, 1}))
			return h
		}
		return job(" even", vec{whole, whole}), job(" one kind", vec{0, whole / 2})
	}
	_, p := add("p")
	even, q := add("q")
	first := func(want pools.Node) {
		t.Helper()
		h, ok := tree.Pick(vec{total, total})
		require.True(t, ok)
		require.Equal(t, want, h)
		h, ok = tree.First(tree.Root())
		require.True(t, ok)
		require.Equal(t, want, h)
	}
	first(p)
	require.NoError(t, tree.Charge(even, vec{1}))
	first(q)
	require.NoError(t, tree.Credit(even, vec{1}))
	first(p)
	require.NoError(t, tree.Charge(even, vec{1, 1}))
	first(p)
}

package pools_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf/pools"
)

// requireNext requires that a job is next, or, for the zero Node, that none is.
func requireNext(t *testing.T, tree *pools.Tree[string], free vec, job pools.Node) {
	t.Helper()
	next, _ := tree.Pick(free)
	require.Equal(t, job, next)
}

// TestTree_PicksAJobAgainBelowItsMax credits a job that was at its max share, and
// changes nothing else, not even the free amount.
func TestTree_PicksAJobAgainBelowItsMax(t *testing.T) {
	tree, err := pools.New[string](vec{10}, nil)
	require.NoError(t, err)
	job, err := tree.AddJob(tree.Root(), "job", pools.Config{Max: &vec{2}})
	require.NoError(t, err)
	require.NoError(t, tree.Demand(job, vec{1}))
	for _, free := range []int64{10, 9} {
		h, ok := tree.Take(vec{free})
		require.True(t, ok)
		require.Equal(t, job, h)
	}
	requireNext(t, tree, vec{8}, pools.Node{})
	require.NoError(t, tree.Credit(job, vec{1}))
	requireNext(t, tree, vec{8}, job)
	require.NoError(t, tree.Charge(job, vec{1}))
	requireNext(t, tree, vec{8}, pools.Node{})
}

// TestTree_ReplacesItsOwnPromise changes a min share to another. The new one fits
// on top of those of the siblings, though not on top of the old one.
func TestTree_ReplacesItsOwnPromise(t *testing.T) {
	tree, err := pools.New[string](vec{10}, nil)
	require.NoError(t, err)
	job, err := tree.AddJob(tree.Root(), "job", pools.Config{Min: vec{1 << 62}})
	require.NoError(t, err)
	require.NoError(t, tree.SetLimits(job, vec{1 << 61}, nil))
	config, ok := tree.Config(job)
	require.True(t, ok)
	require.Equal(t, vec{1 << 61}, config.Min)
}

// TestTree_MoveCountsBelowTheMaxOfThePools moves a job's usage into a pool with a
// max share, which closes the job that is there, and out again.
func TestTree_MoveCountsBelowTheMaxOfThePools(t *testing.T) {
	tree, err := pools.New[string](vec{10}, nil)
	require.NoError(t, err)
	pool, err := tree.AddPool(tree.Root(), "pool", pools.Config{Max: &vec{3}})
	require.NoError(t, err)
	job, err := tree.AddJob(pool, "job", pools.Config{})
	require.NoError(t, err)
	require.NoError(t, tree.Demand(job, vec{1}))
	holder, err := tree.AddJob(tree.Root(), "holder", pools.Config{})
	require.NoError(t, err)
	require.NoError(t, tree.Charge(holder, vec{3}))
	requireNext(t, tree, vec{7}, job)
	require.NoError(t, tree.Move(holder, pool))
	requireNext(t, tree, vec{7}, pools.Node{})
	require.NoError(t, tree.Move(holder, tree.Root()))
	requireNext(t, tree, vec{7}, job)
}

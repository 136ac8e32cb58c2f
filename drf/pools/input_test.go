package pools_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/drf/pools"
	"github.com/cellsched/cellsched/resources"
)

// TestTree_RefusesBadInput goes through all calls: an error that names the
// value, and nothing changed.
func TestTree_RefusesBadInput(t *testing.T) {
	for _, total := range []vec{{}, {-1}, {resources.MaxQuantity + 1}} {
		_, err := pools.New[any](total, nil)
		require.Error(t, err)
	}
	tree, err := pools.New[any](vec{100, 100}, nil)
	require.NoError(t, err)
	root := tree.Root()
	pool, err := tree.AddPool(root, "pool", pools.Config{Min: vec{10}, Max: &vec{50, 50}})
	require.NoError(t, err)
	below, err := tree.AddPool(pool, "below", pools.Config{})
	require.NoError(t, err)
	job, err := tree.AddJob(below, "job", pools.Config{})
	require.NoError(t, err)
	require.NoError(t, tree.Demand(job, vec{1}))
	require.NoError(t, tree.Charge(job, vec{2}))
	gone, err := tree.AddJob(root, "gone", pools.Config{})
	require.NoError(t, err)
	require.NoError(t, tree.Remove(gone))
	huge, err := tree.AddPool(root, "huge", pools.Config{Min: vec{resources.MaxQuantity - 20}})
	require.NoError(t, err)

	add := func(parent pools.Node, key any, config pools.Config) error {
		_, err := tree.AddJob(parent, key, config)
		_, again := tree.AddPool(parent, key, config)
		require.Equal(t, err == nil, again == nil)
		return err
	}
	addOrdered := func() error {
		_, err := tree.AddJob(root, "x", pools.Config{Order: pools.FIFO})
		return err
	}
	for _, c := range []struct {
		err  error
		is   error
		says string
	}{
		{tree.SetTotal(vec{}), drf.ErrEmpty, "amount 0,"},
		{tree.SetTotal(vec{-7}), resources.ErrQuantity, "-7"},
		{add(gone, "x", pools.Config{}), pools.ErrNode, "want the handle of"},
		{add(pools.Node{}, "x", pools.Config{}), pools.ErrNode, "parent node"},
		{add(job, "x", pools.Config{}), pools.ErrTree, "parent is job \"job\""},
		{add(root, "job", pools.Config{}), drf.ErrKey, "job"},
		{add(root, math.NaN(), pools.Config{}), drf.ErrKey, "NaN"},
		{add(root, []int{7}, pools.Config{}), drf.ErrKey, "[7]"},
		{add(root, "x", pools.Config{Weight: -1}), drf.ErrWeight, "-1"},
		{add(root, "x", pools.Config{Weight: 1e-7}), drf.ErrWeight, "1e-07"},
		{add(root, "x", pools.Config{Weight: 2e6}), drf.ErrWeight, "2e+06"},
		{add(root, "x", pools.Config{Weight: math.NaN()}), drf.ErrWeight, "NaN"},
		{add(root, "x", pools.Config{Weight: math.Inf(1)}), drf.ErrWeight, "+Inf"},
		{add(root, "x", pools.Config{Min: vec{5}, Max: &vec{4}}), pools.ErrLimits, "min share kind0=5, max share kind0=4"},
		{add(root, "x", pools.Config{Min: vec{-5}}), resources.ErrQuantity, "-5"},
		{add(root, "x", pools.Config{Max: &vec{0, -5}}), resources.ErrQuantity, "-5"},
		{add(root, "x", pools.Config{Min: vec{11}}), resources.ErrQuantity, "min shares in the root"},
		{addOrdered(), pools.ErrTree, "with an order"},
		{tree.Remove(gone), pools.ErrNode, "want the handle of"},
		{tree.Remove(root), pools.ErrTree, "root"},
		{tree.Remove(pool), pools.ErrTree, "has children"},
		{tree.Remove(job), drf.ErrHeld, "holds kind0=2"},
		{tree.Move(gone, root), pools.ErrNode, "want the handle of"},
		{tree.Move(pool, gone), pools.ErrNode, "parent node"},
		{tree.Move(pool, below), pools.ErrTree, "below it"},
		{tree.Move(pool, pool), pools.ErrTree, "below it"},
		{tree.Move(root, pool), pools.ErrTree, "below it"},
		{tree.Move(pool, job), pools.ErrTree, "parent is job \"job\""},
		{tree.SetWeight(gone, 1), pools.ErrNode, "want the handle of"},
		{tree.SetWeight(job, 0), drf.ErrWeight, "0"},
		{tree.SetPriority(gone, 1), pools.ErrNode, "want the handle of"},
		{tree.SetLimits(gone, vec{}, nil), pools.ErrNode, "want the handle of"},
		{tree.SetLimits(job, vec{2}, &vec{1}), pools.ErrLimits, "min share kind0=2, max share kind0=1"},
		{tree.SetLimits(pool, vec{31}, nil), resources.ErrQuantity, "min shares in the root"},
		{tree.Demand(gone, vec{1}), pools.ErrNode, "want the handle of"},
		{tree.Demand(pool, vec{1}), pools.ErrNode, "want the handle of a job"},
		{tree.Demand(job, vec{}), drf.ErrEmpty, "amount 0,"},
		{tree.Demand(job, vec{-3}), resources.ErrQuantity, "-3"},
		{tree.Backlog(pool, vec{1}), pools.ErrNode, "want the handle of a job"},
		{tree.Backlog(job, vec{-3}), resources.ErrQuantity, "-3"},
		{tree.Park(gone), pools.ErrNode, "want the handle of"},
		{tree.Park(pool), pools.ErrNode, "want the handle of a job"},
		{tree.Charge(pool, vec{1}), pools.ErrNode, "want the handle of a job"},
		{tree.Charge(job, vec{-3}), resources.ErrQuantity, "-3"},
		{tree.Charge(job, vec{resources.MaxQuantity - 1}), resources.ErrQuantity, "2^62"},
		{tree.Credit(gone, vec{1}), pools.ErrNode, "want the handle of"},
		{tree.Credit(job, vec{3}), drf.ErrHeld, "holds kind0=2"},
		{tree.Credit(job, vec{-3}), resources.ErrQuantity, "-3"},
	} {
		require.ErrorIs(t, c.err, c.is)
		require.ErrorContains(t, c.err, c.says)
	}

	require.Equal(t, 4, tree.Len())
	require.Equal(t, vec{100, 100}, tree.Total())
	for h, usage := range map[pools.Node]vec{root: {2}, pool: {2}, below: {2}, job: {2}, huge: {}} {
		got, ok := tree.Usage(h)
		require.True(t, ok)
		require.Equal(t, usage, got)
	}
	config, ok := tree.Config(pool)
	require.True(t, ok)
	require.Equal(t, pools.Config{Weight: 1, Min: vec{10}, Max: &vec{50, 50}}, config)
	parent, ok := tree.Parent(pool)
	require.True(t, ok)
	require.Equal(t, root, parent)
	h, ok := tree.Pick(vec{1})
	require.True(t, ok)
	require.Equal(t, job, h)
}

// TestTree_ZeroNodeIsNotFound queries absent nodes by methods without an error.
func TestTree_ZeroNodeIsNotFound(t *testing.T) {
	tree, err := pools.New[any](vec{1}, nil)
	require.NoError(t, err)
	for range tree.Children(pools.Node{}) {
		require.Fail(t, "the zero node has no children")
	}
	_, found := tree.Node([]int{1})
	_, shared := tree.Share(pools.Node{})
	_, used := tree.Usage(pools.Node{})
	_, below := tree.Parent(tree.Root())
	_, named := tree.Key(tree.Root())
	_, wants := tree.Wants(tree.Root())
	_, told := tree.Tally(tree.Root())
	_, configured := tree.Config(pools.Node{})
	_, taken := tree.Take(vec{1})
	_, picked := tree.PickWhere(vec{1}, func(vec) bool { return true })
	_, first := tree.First(tree.Root())
	_, second := tree.First(pools.Node{})
	_, next := tree.Next(tree.Root())
	require.NotContains(t, []bool{found, shared, used, below, named, wants, told, configured, taken, picked, first, second, next}, true)
}

// TestTree_TakeRefusesUsageBeyondTheLimit picks a job with a charge that would be
// too much for the sums.
func TestTree_TakeRefusesUsageBeyondTheLimit(t *testing.T) {
	tree, err := pools.New[int](vec{1}, nil)
	require.NoError(t, err)
	job, err := tree.AddJob(tree.Root(), 1, pools.Config{})
	require.NoError(t, err)
	require.NoError(t, tree.Charge(job, vec{resources.MaxQuantity}))
	require.NoError(t, tree.Demand(job, vec{1}))
	_, ok := tree.Pick(vec{1})
	require.True(t, ok)
	_, ok = tree.Take(vec{1})
	require.False(t, ok)
	usage, _ := tree.Usage(job)
	require.Equal(t, vec{resources.MaxQuantity}, usage)
}

// TestTree_TalliesUsage reads meters in virtual time.
func TestTree_TalliesUsage(t *testing.T) {
	tree, err := pools.New[string](vec{10, 100}, nil)
	require.NoError(t, err)
	a, err := tree.AddPool(tree.Root(), "a", pools.Config{})
	require.NoError(t, err)
	b, err := tree.AddPool(tree.Root(), "b", pools.Config{})
	require.NoError(t, err)
	j, err := tree.AddJob(a, "j", pools.Config{})
	require.NoError(t, err)

	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) { require.NoError(t, tree.Advance(start.Add(time.Duration(seconds)*time.Second))) }
	since := func(h pools.Node, earlier pools.Tally) (float64, float64, time.Duration) {
		now, ok := tree.Tally(h)
		require.True(t, ok)
		held, span := now.Since(earlier)
		return held[0], held[1], span
	}
	require.NoError(t, tree.Charge(j, vec{5})) // before there is a meter
	at(0)
	none, _ := tree.Tally(a)
	_, span := none.Since(pools.Tally{})
	require.Zero(t, span)
	at(10)
	require.NoError(t, tree.Charge(j, vec{5, 50}))
	at(20)
	cpu, memory, span := since(a, pools.Tally{})
	require.InDelta(t, 0.75, cpu, 1e-12)
	require.InDelta(t, 0.25, memory, 1e-12)
	require.Equal(t, 20*time.Second, span)

	middle, _ := tree.Tally(a)
	k, err := tree.AddJob(a, "k", pools.Config{}) // its meter starts here
	require.NoError(t, err)
	require.NoError(t, tree.Charge(k, vec{0, 50}))
	require.NoError(t, tree.Move(j, b))
	at(30)
	cpu, memory, span = since(a, middle)
	require.InDelta(t, 0, cpu, 1e-12)
	require.InDelta(t, 0.5, memory, 1e-12)
	require.Equal(t, 10*time.Second, span)
	_, memory, span = since(k, pools.Tally{})
	require.InDelta(t, 0.5, memory, 1e-12)
	require.Equal(t, 10*time.Second, span)
	cpu, _, _ = since(b, pools.Tally{})
	require.InDelta(t, 1.0/3, cpu, 1e-12)

	require.NoError(t, tree.SetTotal(vec{20, 100})) // usage is as it was
	at(40)
	cpu, _, _ = since(b, pools.Tally{})
	require.InDelta(t, (10+5)/40.0, cpu, 1e-12)
	root, _, _ := since(tree.Root(), pools.Tally{})
	require.InDelta(t, (5+10+10+5)/40.0, root, 1e-12)

	at(50)
	require.NoError(t, tree.Move(j, a))
	at(60)
	cpu, _, _ = since(b, pools.Tally{})
	require.InDelta(t, (10+5+5)/60.0, cpu, 1e-12)
	require.ErrorIs(t, tree.Advance(start), pools.ErrTime)
}

package pools_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf/pools"
	"github.com/cellsched/cellsched/resources"
)

func addPool(t require.TestingT, tree *pools.Tree[string], parent pools.Node, key string, config pools.Config) pools.Node {
	pool, err := tree.AddPool(parent, key, config)
	require.NoError(t, err)
	return pool
}

func addJob(t require.TestingT, tree *pools.Tree[string], parent pools.Node, key string, config pools.Config) pools.Node {
	job, err := tree.AddJob(parent, key, config)
	require.NoError(t, err)
	return job
}

// standingOf returns how the node of a key stands.
func standingOf(t require.TestingT, tree *pools.Tree[string], key string) pools.Standing {
	h, ok := tree.Node(key)
	require.True(t, ok)
	for _, s := range tree.Standings() {
		if s.Node == h {
			return s
		}
	}
	require.Fail(t, "no standing of "+key)
	return pools.Standing{}
}

func TestStandings_IdleSharesAreLentAndComeBack(t *testing.T) {
	tree, err := pools.New[string](resources.Vector{100}, nil)
	require.NoError(t, err)
	prod := addPool(t, tree, tree.Root(), "prod", pools.Config{Min: resources.Vector{60}})
	dev := addPool(t, tree, tree.Root(), "dev", pools.Config{})
	web := addJob(t, tree, prod, "web", pools.Config{})
	ann := addJob(t, tree, dev, "ann", pools.Config{})
	bob := addJob(t, tree, dev, "bob", pools.Config{})

	step := func(webMore, annMore, bobMore int64, fair map[string]int64) {
		want(t, tree, web, resources.Vector{webMore})
		want(t, tree, ann, resources.Vector{annMore})
		want(t, tree, bob, resources.Vector{bobMore})
		for key, q := range fair {
			require.Equal(t, q, standingOf(t, tree, key).Fair[0], key)
		}
	}
	step(0, plenty, plenty, map[string]int64{"prod": 0, "web": 0, "dev": 100, "ann": 50, "bob": 50})
	step(10, plenty, plenty, map[string]int64{"prod": 10, "web": 10, "dev": 90, "ann": 45, "bob": 45})
	step(10, plenty, 20, map[string]int64{"prod": 10, "web": 10, "dev": 90, "ann": 70, "bob": 20})
	step(plenty, plenty, plenty, map[string]int64{"prod": 60, "web": 60, "dev": 40, "ann": 20, "bob": 20})
	step(plenty, 5, 5, map[string]int64{"prod": 90, "web": 90, "dev": 10, "ann": 5, "bob": 5})
}

// A fair share does not depend on the usage of others.
func TestStandings_DoNotDependOnTheUsageOfOthers(t *testing.T) {
	fair := func(held ...int64) []int64 {
		var siblings []sibling
		for _, q := range held {
			siblings = append(siblings, sibling{held: q, more: 80 - q})
		}
		return fairOf(standings(t, 90, nil, siblings))
	}
	require.Equal(t, []int64{30, 30, 30}, fair(0, 0, 0))
	require.Equal(t, []int64{30, 30, 30}, fair(80, 10, 0))
	require.Equal(t, []int64{30, 30, 30}, fair(0, 10, 80))
}

func TestStandings_LimitsHoldThroughTheTree(t *testing.T) {
	tree, err := pools.New[string](resources.Vector{100, 10}, nil)
	require.NoError(t, err)
	// Its max share bounds a pool's wants and its children's shares. A min share
	// that its pool cannot keep is cut.
	small := addPool(t, tree, tree.Root(), "small", pools.Config{Max: &resources.Vector{30, 0}})
	one := addJob(t, tree, small, "one", pools.Config{Min: resources.Vector{40}})
	two := addJob(t, tree, small, "two", pools.Config{Min: resources.Vector{20}})
	rest := addJob(t, tree, tree.Root(), "rest", pools.Config{Max: &resources.Vector{65, 20}})
	for _, job := range []pools.Node{one, two, rest} {
		want(t, tree, job, resources.Vector{plenty, plenty, plenty})
	}
	require.Equal(t, []pools.Standing{
		{
			Node:  tree.Root(),
			Wants: resources.Vector{95, 20}, Fair: resources.Vector{95, 10},
		},
		{
			Node: small, Parent: tree.Root(),
			Wants: resources.Vector{30}, Fair: resources.Vector{30},
		},
		{
			Node: rest, Parent: tree.Root(),
			Wants: resources.Vector{65, 20}, Fair: resources.Vector{65, 10},
		},
		{
			Node: one, Parent: small,
			Wants: resources.Vector{plenty, plenty, plenty}, Min: resources.Vector{20}, Fair: resources.Vector{20},
		},
		{
			Node: two, Parent: small,
			Wants: resources.Vector{plenty, plenty, plenty}, Min: resources.Vector{10}, Fair: resources.Vector{10},
		},
	}, tree.Standings())

	// The root has limits as well.
	require.NoError(t, tree.SetLimits(tree.Root(), resources.Vector{1 << 50}, &resources.Vector{1 << 50, 5}))
	root := tree.Standings()[0]
	require.Equal(t, resources.Vector{95, 5}, root.Wants)
	require.Equal(t, resources.Vector{95, 5}, root.Fair)
	require.Equal(t, resources.Vector{95}, root.Min)
}

// First come is by the addition of a node to the tree, not to the pool.
func TestStandings_MovedIsNotLastCome(t *testing.T) {
	for name, order := range map[string]pools.Order{"FIFO": pools.FIFO, "Priority": pools.Priority} {
		tree, err := pools.New[string](resources.Vector{10}, nil)
		require.NoError(t, err)
		pool := addPool(t, tree, tree.Root(), "pool", pools.Config{Order: order})
		moved := addJob(t, tree, tree.Root(), "moved", pools.Config{})
		want(t, tree, moved, resources.Vector{7})
		want(t, tree, addJob(t, tree, pool, "other", pools.Config{}), resources.Vector{7})
		require.NoError(t, tree.Move(moved, pool))
		require.Equal(t, int64(7), standingOf(t, tree, "moved").Fair[0], name)
		require.Equal(t, int64(3), standingOf(t, tree, "other").Fair[0], name)
	}
}

func TestStandings_OfAnEmptyTree(t *testing.T) {
	tree, err := pools.New[string](resources.Vector{100}, pools.FIFO)
	require.NoError(t, err)
	require.Equal(t, []pools.Standing{{Node: tree.Root()}}, tree.Standings())
	pool := addPool(t, tree, tree.Root(), "pool", pools.Config{Min: resources.Vector{50}, Order: pools.FIFO})
	require.Equal(t, []pools.Standing{{Node: tree.Root()}, {Node: pool, Parent: tree.Root()}}, tree.Standings())
}

// drawTree grows a tree of random pools and jobs in two kinds.
func drawTree(t *rapid.T) *pools.Tree[int] {
	quantity := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 30), rapid.Int64Range(0, 1<<50))
	vector := rapid.Custom(func(t *rapid.T) resources.Vector {
		return resources.Vector{quantity.Draw(t, "first"), quantity.Draw(t, "second")}
	})
	total := resources.Vector{rapid.Int64Range(1, 200).Draw(t, "total"), quantity.Draw(t, "total")}
	orders := rapid.SampledFrom([]pools.Order{nil, nil, pools.Fair(0), pools.FIFO, pools.Priority})
	tree, err := pools.New[int](total, orders.Draw(t, "order"))
	require.NoError(t, err)
	open := []pools.Node{tree.Root()}
	for i := range rapid.IntRange(0, 15).Draw(t, "nodes") {
		parent := rapid.SampledFrom(open).Draw(t, "parent")
		config := pools.Config{
			Weight:   rapid.SampledFrom([]float64{0, 1, 2, 0.3, 1e6, 1e-6}).Draw(t, "weight"),
			Priority: rapid.Int64Range(0, 2).Draw(t, "priority"),
		}
		if rapid.IntRange(0, 2).Draw(t, "promised") == 0 {
			config.Min = vector.Draw(t, "min")
		}
		if rapid.IntRange(0, 3).Draw(t, "limited") == 0 {
			high := config.Min.Add(vector.Draw(t, "above min"))
			config.Max = &high
		}
		if rapid.IntRange(0, 2).Draw(t, "pool") == 0 {
			config.Order = orders.Draw(t, "order")
			pool, err := tree.AddPool(parent, i, config)
			require.NoError(t, err)
			open = append(open, pool)
			continue
		}
		job, err := tree.AddJob(parent, i, config)
		require.NoError(t, err)
		require.NoError(t, tree.Charge(job, vector.Draw(t, "usage")))
		want(t, tree, job, vector.Draw(t, "more"))
	}
	return tree
}

func TestStandings_FairSharesAddUpThroughTheTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := drawTree(t)
		all := tree.Standings()
		require.Len(t, all, tree.Len()+1)
		seen := make(map[pools.Node]int)
		children := make([][2][]sibling, len(all)) // as claims in each kind
		for i, s := range all {
			usage, _ := tree.Usage(s.Node)
			require.Equal(t, usage, s.Usage)
			require.True(t, s.Min.Fits(s.Fair), "node %d: min share %v, fair share %v", i, s.Min, s.Fair)
			require.True(t, s.Fair.Fits(s.Wants), "node %d: fair share %v, wants %v", i, s.Fair, s.Wants)
			seen[s.Node] = i
			parent, ok := tree.Parent(s.Node)
			require.Equal(t, i > 0, ok)
			require.Equal(t, parent, s.Parent)
			if i == 0 {
				require.Equal(t, s.Wants.Min(tree.Total()), s.Fair)
				continue
			}
			p, ok := seen[s.Parent]
			require.True(t, ok, "node %d before its parent", i)
			config, _ := tree.Config(s.Node)
			for k := range children[p] {
				children[p][k] = append(children[p][k], sibling{weight: config.Weight, low: config.Min[k], more: s.Wants[k]})
			}
		}
		for p, pool := range all {
			config, _ := tree.Config(pool.Node)
			for k, claims := range children[p] {
				if len(claims) == 0 {
					continue
				}
				lows, shares := exactShares(pool.Fair[k], claims)
				sum, i := int64(0), 0
				for _, s := range all {
					if s.Parent != pool.Node {
						continue
					}
					sum += s.Fair[k]
					requireRounded(t, lows[i], s.Min[k], "kind %d: min share of child %d of pool %d", k, i, p)
					if config.Order == nil {
						requireRounded(t, shares[i], s.Fair[k], "kind %d: fair share of child %d of pool %d", k, i, p)
					}
					i++
				}
				require.Equal(t, pool.Fair[k], sum, "kind %d: the children of pool %d", k, p)
			}
		}
	})
}

// Standings changes nothing: neither its next result nor the next job.
func TestStandings_ChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := drawTree(t)
		free := tree.Total()
		next, ok := tree.Pick(free)
		all := tree.Standings()
		require.Equal(t, all, tree.Standings())
		again, still := tree.Pick(free)
		require.Equal(t, ok, still)
		require.Equal(t, next, again)
	})
}

// The sum of all wants may exceed a component's limit, and 64 bits.
func TestStandings_WantsSaturate(t *testing.T) {
	const most = resources.MaxQuantity
	all := standings(t, most, nil, []sibling{{more: most}, {more: most}, {held: most, more: most}, {more: most}, {more: most}})
	require.Equal(t, []int64{most/5 + 1, most/5 + 1, most/5 + 1, most/5 + 1, most / 5}, fairOf(all)) // 2^62 = 5x + 4
	for _, s := range all {
		require.Equal(t, most, s.Wants[0])
	}
}

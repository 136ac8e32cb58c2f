package pools

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// churn is a tree to which things happen at random.
type churn struct {
	t       *testing.T
	tree    *Tree[int]
	random  *rand.Rand
	kinds   int
	demands []resources.Vector
	pools   []Node // the root is the first
	jobs    []Node
	added   int
	free    resources.Vector
	fresh   bool // nothing has happened since the last Pick
}

// newChurn returns a tree with some pools and no jobs, the demands of which
// are of so many kinds, and so many in all.
func newChurn(t *testing.T, seed uint64, kinds, pools, demands int) *churn {
	t.Helper()
	c := &churn{t: t, random: rand.New(rand.NewPCG(seed, 0)), kinds: kinds}
	var err error
	c.tree, err = New[int](c.some(1000), nil)
	require.NoError(t, err)
	c.pools = []Node{c.tree.Root()}
	c.addPool(Config{}) // one that has no order and no limits
	for range pools - 1 {
		c.addRandomPool()
	}
	for range demands {
		c.demands = append(c.demands, c.some(6))
	}
	return c
}

// amounts draws from nothing to most of each kind.
func (c *churn) amounts(most int64) (v resources.Vector) {
	for k := range c.kinds {
		v[k] = c.random.Int64N(most + 1)
	}
	return v
}

// some draws as amounts does, but not nothing.
func (c *churn) some(most int64) resources.Vector {
	v := c.amounts(most)
	if v == (resources.Vector{}) {
		v[0] = 1
	}
	return v
}

// room draws a free amount, now and then a negative one.
func (c *churn) room() resources.Vector {
	v := c.amounts(7)
	if c.oneIn(10) {
		v[c.random.IntN(c.kinds)] = -1
	}
	return v
}

func (c *churn) oneIn(n int) bool { return c.random.IntN(n) == 0 }

func (c *churn) pool() Node { return c.pools[c.random.IntN(len(c.pools))] }

func (c *churn) job() Node {
	if len(c.jobs) == 0 {
		c.addJob(c.pool())
	}
	return c.jobs[c.random.IntN(len(c.jobs))]
}

func (c *churn) node() Node {
	if c.oneIn(4) {
		return c.pool()
	}
	return c.job()
}

func (c *churn) demand() resources.Vector { return c.demands[c.random.IntN(len(c.demands))] }

// weight draws one of the weights that sums of directions are made for.
func (c *churn) weight() float64 {
	weights := []float64{1, 1, 1, 2, 0.5, 3, drf.MinWeight, drf.MaxWeight, math.Pi}
	return weights[c.random.IntN(len(weights))]
}

// limits draws a min and a max share: nothing and none, most often.
func (c *churn) limits() (low resources.Vector, high *resources.Vector) {
	if c.oneIn(5) {
		low = c.amounts(4)
	}
	if c.oneIn(6) {
		h := low.Add(c.amounts(12))
		high = &h
	}
	return low, high
}

func (c *churn) order() Order {
	byShare := func(a, b Child) int { return cmp.Compare(a.Share(), b.Share()) }
	orders := []Order{nil, nil, nil, nil, FIFO, Priority, Fair(0), byShare}
	return orders[c.random.IntN(len(orders))]
}

func (c *churn) addPool(config Config) {
	c.added++
	h, err := c.tree.AddPool(c.pool(), c.added, config)
	require.NoError(c.t, err)
	c.pools = append(c.pools, h)
}

func (c *churn) addRandomPool() {
	config := Config{Weight: c.weight(), Priority: c.random.Int64N(3), Order: c.order()}
	config.Min, config.Max = c.limits()
	c.addPool(config)
}

// addJob adds a job to a pool. Most have a demand, and few have limits.
func (c *churn) addJob(pool Node) {
	config := Config{Weight: c.weight(), Priority: c.random.Int64N(3)}
	if c.oneIn(8) {
		config.Min, config.Max = c.limits()
	}
	c.added++
	h, err := c.tree.AddJob(pool, c.added, config)
	require.NoError(c.t, err)
	c.jobs = append(c.jobs, h)
	if !c.oneIn(4) {
		require.NoError(c.t, c.tree.Demand(h, c.demand()))
	}
}

// pick picks in the same room as before, or in another.
func (c *churn) pick() {
	if c.oneIn(2) {
		c.free = c.room()
	}
	c.tree.Pick(c.free)
	c.fresh = true
}

// remove removes a node, if it holds nothing and has no children.
func (c *churn) remove(h Node) {
	err := c.tree.Remove(h)
	if errors.Is(err, drf.ErrHeld) || errors.Is(err, ErrTree) {
		return
	}
	require.NoError(c.t, err)
	is := func(n Node) bool { return n == h }
	c.pools, c.jobs = slices.DeleteFunc(c.pools, is), slices.DeleteFunc(c.jobs, is)
}

// creditAll takes from a job all that it holds.
func (c *churn) creditAll(job Node) {
	held, _ := c.tree.Usage(job)
	require.NoError(c.t, c.tree.Credit(job, held))
}

// places returns the bits that the largest contest by share needs for places.
func (c *churn) places() (most uint64) {
	for _, n := range c.tree.core.nodes {
		if n.group != nil && len(n.group.contests[low]) > 0 {
			most = max(most, n.group.contests[low].places())
		}
	}
	return most
}

// happening is one of the things that may happen.
type happening struct {
	name string
	do   func() error
}

func (c *churn) happenings() []happening {
	tree := c.tree
	return []happening{
		{"add a job", func() error { c.addJob(c.pool()); return nil }},
		{"add a pool", func() error { c.addRandomPool(); return nil }},
		{"remove", func() error { c.remove(c.node()); return nil }},
		{"remove a pool", func() error { c.remove(c.pool()); return nil }},
		{"demand", func() error { return tree.Demand(c.job(), c.demand()) }},
		{"park", func() error { return tree.Park(c.job()) }},
		{"charge", func() error { return tree.Charge(c.job(), c.amounts(5)) }},
		{"credit all", func() error { c.creditAll(c.job()); return nil }},
		{"credit some", func() error {
			j := c.job()
			held, _ := tree.Usage(j)
			return tree.Credit(j, held.Min(c.amounts(5)))
		}},
		{"weight", func() error { return tree.SetWeight(c.node(), c.weight()) }},
		{"priority", func() error { return tree.SetPriority(c.node(), c.random.Int64N(3)) }},
		{"limits", func() error {
			low, high := c.limits()
			return tree.SetLimits(c.node(), low, high)
		}},
		{"move", func() error {
			if err := tree.Move(c.node(), c.pool()); !errors.Is(err, ErrTree) {
				return err
			}
			return nil
		}},
		{"total", func() error { return tree.SetTotal(c.some(1000)) }},
		{"pick", func() error { c.pick(); return nil }},
		{"pick where it fits", func() error {
			c.free = c.room()
			tree.PickWhere(c.free, func(resources.Vector) bool { return c.oneIn(3) })
			return nil
		}},
		{"take", func() error { tree.Take(c.free); return nil }},
		{"take again", func() error { tree.Take(c.free); return nil }},
	}
}

// run runs many random events. It compares the kept state after every few of them,
// half of the time after another pick.
func (c *churn) run(steps, every int) {
	happenings := c.happenings()
	for i := range steps {
		h := happenings[c.random.IntN(len(happenings))]
		c.fresh = false
		require.NoError(c.t, h.do(), "step %d: %s", i, h.name)
		if i%every != 0 {
			continue
		}
		c.tree.core.requireConsistent(c.t, c.fresh, "step %d: %s", i, h.name)
		if c.oneIn(2) {
			c.pick()
			c.tree.core.requireConsistent(c.t, true, "step %d: %s, pick", i, h.name)
		}
	}
}

// unwind credits all usage, after which every sum has to be empty. It then removes
// everything, after which no node may be left.
func (c *churn) unwind() {
	for _, j := range c.jobs {
		c.creditAll(j)
	}
	k := &c.tree.core
	k.requireConsistent(c.t, false, "all credited")
	for s := range k.nodes {
		if n := &k.nodes[s]; n.group != nil {
			require.Zero(c.t, n.usage)
			require.Zero(c.t, n.share)
			n.group.sum.kept = false // it only says where to look
			require.Zero(c.t, n.group.sum)
			require.Zero(c.t, n.group.own)
			require.Zero(c.t, n.group.closed)
		}
	}
	for _, j := range c.jobs {
		require.NoError(c.t, c.tree.Remove(j))
	}
	for len(c.pools) > 1 {
		for _, p := range slices.Backward(slices.Clone(c.pools)) {
			c.remove(p)
		}
	}
	k.requireConsistent(c.t, false, "all removed")
	require.Zero(c.t, c.tree.Len())
	require.Len(c.t, k.vacant, len(k.nodes)-1)
	require.Empty(c.t, k.nodes[0].group.bands)
	require.Empty(c.t, k.nodes[0].group.pools)
}

// There are no more nodes at a time than sums of directions have digits for.
// Removed ones do not count.
func TestAdd_RefusesMoreNodesThanSumsAllow(t *testing.T) {
	tree, err := New[int](resources.Vector{10}, nil)
	require.NoError(t, err)
	require.Equal(t, 1<<23, tree.core.most)
	tree.core.most = 4 // the root is one
	var last Node
	for key := range 3 {
		last, err = tree.AddJob(tree.Root(), key, Config{})
		require.NoError(t, err)
	}
	for _, add := range []func(Node, int, Config) (Node, error){tree.AddJob, tree.AddPool} {
		_, err = add(tree.Root(), 3, Config{})
		require.ErrorIs(t, err, resources.ErrQuantity)
		require.ErrorContains(t, err, "there are 4 nodes, want fewer than 4")
	}
	require.NoError(t, tree.Remove(last))
	_, err = tree.AddJob(tree.Root(), 3, Config{})
	require.NoError(t, err)
}

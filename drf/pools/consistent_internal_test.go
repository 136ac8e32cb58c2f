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

// known is what is kept of a pool or a band so as not to look at all of its
// members.
type known struct {
	usage, shut resources.Vector
	sum, own    direction
	share       float64
	smallest    float64
	opened      int
	open        bool
	bands       int         // demands by which a member is found
	pools       []uint32    // by slot
	entered     []uint32    // members that take part, by place
	leaders     [2]uint32   // by contest
	contests    [2][]uint32 // who is in each of them, by place
	astray      []uint32    // places of which a member knows another thing, or that are not as empty as they should be
	beyond      []uint32    // members that most and least, here or further up, leave out
}

// kept returns what c keeps of a pool or a band.
func (c *core) kept(slot uint32) known {
	n := &c.nodes[slot]
	g := n.group
	k := known{
		usage: n.usage, shut: g.shut, sum: g.sum, own: g.own, share: n.share, smallest: c.smallest(g),
		opened: g.opened, open: n.open, bands: len(g.bands), pools: slices.Sorted(slices.Values(g.pools)),
		leaders: [2]uint32{g.leader(ahead), g.leader(low)},
	}
	for place, s := range g.members {
		enters := g.enters(place)
		if s == none {
			if enters || n.sort == isPool && g.demands[place] != unwanted {
				k.astray = append(k.astray, uint32(place))
			}
			continue
		}
		m := &c.nodes[s]
		if m.in != slot || int(m.place) != place || m.open != (enters && n.sort == isPool) {
			k.astray = append(k.astray, uint32(place))
		}
		if enters {
			k.entered = append(k.entered, s)
		}
		if m.ahead {
			k.contests[ahead] = append(k.contests[ahead], s)
		}
		if t := g.contests[low]; place < len(t)/2 && t[len(t)/2+place] != nobody {
			k.contests[low] = append(k.contests[low], s)
		}
	}
	return k
}

// computed returns what [core.kept] should: by a look at all members, all of
// their children, and all jobs of bands. Fresh says that nothing has happened
// since the last Pick, so that it is known what has to be open.
func (c *core) computed(slot uint32, fresh bool) known {
	n := &c.nodes[slot]
	g := n.group
	k := known{open: n.open, leaders: [2]uint32{none, none}}
	for _, s := range c.children(slot) {
		k.usage = k.usage.Add(c.nodes[s].usage)
	}
	if n.sort == isPool {
		k.shut = k.usage
	}
	pool := slot
	if n.sort == isBand {
		pool = n.parent
	}
	best := [2]uint32{none, none}
	for place, s := range g.members {
		if s == none {
			continue
		}
		m := &c.nodes[s]
		if m.sort == isPool {
			k.pools = append(k.pools, s)
		} else if n.sort == isPool && g.bands[g.demands[place]] == s {
			k.bands++
		}
		if n.sort == isPool && m.sort != isPool && !c.counted(s) {
			k.beyond = append(k.beyond, s)
		}
		if n.sort == isPool && !c.shouldOpen(s, fresh) {
			continue
		}
		k.opened++
		k.entered = append(k.entered, s)
		if n.sort == isPool {
			shift(&k.shut, &m.usage, true)
		}
		if c.directed(pool) {
			var d direction
			k.sum.add(c.heading(m, &d), c.kinds)
		}
		var in [2]bool
		for _, j := range c.contestants(s) {
			for which, key := range c.keys(g, j) {
				if key == nobody {
					continue
				}
				in[which] = true
				if best[which] == none || c.beats(g, which, j, best[which]) {
					best[which], k.leaders[which] = j, s
				}
			}
		}
		for which := range in {
			if in[which] {
				k.contests[which] = append(k.contests[which], s)
			}
		}
	}
	if best[low] != none {
		k.smallest = c.nodes[best[low]].share
	}
	slices.Sort(k.pools)
	if n.sort == isPool {
		k.open = k.opened > 0
		k.share, k.own = c.consumed(slot)
	}
	return k
}

// children returns the nodes of which a pool or a band holds the sum.
func (c *core) children(slot uint32) (children []uint32) {
	if g := c.nodes[slot].group; c.nodes[slot].sort == isBand {
		return slices.DeleteFunc(slices.Clone(g.members), func(s uint32) bool { return s == none })
	}
	for s := c.settings[slot].first; s != none; s = c.settings[s].next {
		children = append(children, s)
	}
	return children
}

// contestants returns who stands for a member: all jobs of a band, or itself.
func (c *core) contestants(member uint32) []uint32 {
	if c.nodes[member].sort == isBand {
		return c.children(member)
	}
	return []uint32{member}
}

// beats reports whether a is before b in a contest of g that both are in.
func (c *core) beats(g *group, which int, a, b uint32) bool {
	d := cmp.Compare(c.keys(g, a)[which], c.keys(g, b)[which])
	if d == 0 && g.order != nil {
		d = g.order(Child{c, a}, Child{c, b})
	}
	return cmp.Or(d, cmp.Compare(c.nodes[a].seq, c.nodes[b].seq)) < 0
}

// shouldOpen reports whether a member of a pool has to be open, for all that
// is known.
func (c *core) shouldOpen(member uint32, fresh bool) bool {
	if n := &c.nodes[member]; n.sort == isPool || !fresh {
		return n.open
	}
	room := c.free
	for s := member; s != none; s = c.nodes[s].parent {
		room = c.headroom(s, room)
	}
	return resources.Fits(c.demand(member), &room)
}

// counted reports whether each pool that a member is in has its demand within
// the largest of who is open below, or, if it is not open, at or above the
// smallest of who is not, as long as more room would help it.
func (c *core) counted(member uint32) bool {
	d, open, able := c.demand(member), c.nodes[member].open, true
	for s := member; ; {
		limit := c.headroom(s, limitless)
		able = able && resources.Fits(d, &limit)
		if s = c.nodes[s].parent; s == none || c.nodes[s].group.stale {
			return true
		}
		g := c.nodes[s].group
		if open && !resources.Fits(d, &g.most) || !open && able && !resources.Fits(&g.least, d) {
			return false
		}
	}
}

// consumed computes the share and the direction of a pool anew, and leaves them
// as they are. The root has none.
func (c *core) consumed(pool uint32) (share float64, own direction) {
	n := &c.nodes[pool]
	if n.parent == none {
		return 0, direction{}
	}
	was, wasOwn := n.share, n.group.own
	c.consume(pool)
	share, own = n.share, n.group.own
	n.share, n.group.own = was, wasOwn
	return share, own
}

// requireConsistent compares all that is kept with what it should be.
func (c *core) requireConsistent(t *testing.T, fresh bool, at ...any) {
	t.Helper()
	limits := 0
	for s := range c.nodes {
		n := &c.nodes[s]
		if n.limited {
			limits++
		}
		if n.group != nil {
			require.Equal(t, c.computed(uint32(s), fresh), c.kept(uint32(s)), at...)
		}
	}
	require.Equal(t, limits, c.limits, at...)
}

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

// room draws what is free; once in a while that is less than nothing.
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

// weight draws one of those that sums of directions are made for.
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

// run has so many things happen, and compares all that is kept after each of
// every so many, and half of the time after another pick.
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

// unwind gives back all that is held, after which nothing may be left in any
// sum, and then removes everything, after which nobody may be left.
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
			require.Zero(c.t, n.group.sum)
			require.Zero(c.t, n.group.own)
			require.Zero(c.t, n.group.shut)
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

// TestTree_KeepsWhatAWalkWouldFind compares sums, contests, bands and who is
// open with what a walk over all of the tree finds, after each of many things
// that happen to small trees.
func TestTree_KeepsWhatAWalkWouldFind(t *testing.T) {
	for seed := range 50 {
		c := newChurn(t, uint64(seed), 1+seed%3, 1+seed%9, 1+seed%7)
		for range 5 + seed%40 {
			c.addJob(c.pool())
		}
		c.run(100, 1)
		c.unwind()
	}
}

// TestTree_KeepsWhatAWalkWouldFind_InACrowd does so in a pool with more members,
// or bands of more jobs, than a contest tells apart by the bits that shares
// leave over.
func TestTree_KeepsWhatAWalkWouldFind_InACrowd(t *testing.T) {
	tests := map[string]struct{ demands, jobs int }{
		"bands":     {demands: 2, jobs: roundedOff * 3},
		"few alike": {demands: 30_000, jobs: roundedOff * 3 / 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newChurn(t, 1, 7, 2, test.demands)
			for range test.jobs {
				c.addJob(c.pools[1])
			}
			c.run(600, 53)
			require.Greater(t, c.places(), uint64(roundedOff))
			c.unwind()
		})
	}
}

// TestTree_TieGoesToWhoCameFirst_WhoeverAskedFirst is of a pool in which places
// are not in the order in which jobs came, though none was ever left.
func TestTree_TieGoesToWhoCameFirst_WhoeverAskedFirst(t *testing.T) {
	tree, err := New[string](resources.Vector{10}, nil)
	require.NoError(t, err)
	early, err := tree.AddJob(tree.Root(), "early", Config{})
	require.NoError(t, err)
	late, err := tree.AddJob(tree.Root(), "late", Config{})
	require.NoError(t, err)
	require.NoError(t, tree.Demand(late, resources.Vector{1}))
	require.NoError(t, tree.Demand(early, resources.Vector{2}))
	next, ok := tree.Pick(resources.Vector{10})
	require.True(t, ok)
	require.Equal(t, early, next)
}

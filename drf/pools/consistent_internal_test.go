package pools

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// known is the state that is kept of a pool or a band, to avoid a look at all of
// its members.
type known struct {
	usage, closed resources.Vector
	sum           direction
	own           heading
	share         float64
	smallest      float64
	opened        int
	open          bool
	bands         int         // demands by which a member is found
	crude         int         // of a band
	pools         []uint32    // by slot
	entered       []uint32    // members that take part, by place
	leaders       [2]uint32   // by contest
	contests      [2][]uint32 // members in each of them, by place
	astray        []uint32    // places of which a member knows another thing, or that are not as empty as they should be
	beyond        []uint32    // members that most and least, here or further up, leave out
}

// kept returns the state that c keeps of a pool or a band.
func (c *core) kept(slot uint32) known {
	n := &c.nodes[slot]
	g := n.group
	smallest, _ := c.smallest(g)
	k := known{
		usage: n.usage, closed: g.closed, sum: g.sum, own: g.own, share: n.share, smallest: smallest,
		opened: g.opened, open: n.open, crude: g.crude, bands: len(g.bands), pools: slices.Sorted(slices.Values(g.pools)),
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
		if t := g.contests[low]; place < len(t)/2 && t[len(t)/2+place] != noEntry {
			k.contests[low] = append(k.contests[low], s)
		}
	}
	return k
}

// computed returns the state that [core.kept] should return, from a look at all
// members, all of their children, and all jobs of bands. Fresh reports that nothing
// has happened since the last Pick, so that the set of open members is known.
func (c *core) computed(slot uint32, fresh bool) known {
	n := &c.nodes[slot]
	g := n.group
	k := known{open: n.open, leaders: [2]uint32{none, none}}
	for _, s := range c.children(slot) {
		k.usage = k.usage.Add(c.nodes[s].usage)
	}
	if n.sort == isPool {
		k.closed = k.usage
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
		if n.sort == isBand {
			if _, simple := m.tasks(c.demand(slot)); !simple {
				k.crude++
			}
		}
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
			shift(&k.closed, &m.usage, true)
		}
		if c.directed(pool) {
			if m.sort == isPool {
				k.sum.near.add(&m.group.own, c.kinds)
			} else {
				var d direction
				k.sum.add(c.direct(m, &d), c.kinds)
			}
		}
		var in [2]bool
		for _, j := range c.contestants(s) {
			first, second := c.keys(g, j)
			for which, key := range [2]uint64{first, second} {
				if key == noEntry {
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

// enters reports whether the member at a place takes part.
func (g *group) enters(place int) bool {
	return g.contests[low].has(place) || g.contests[ahead].has(place)
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

// contestants returns the jobs that may compete for a member: all jobs of a band,
// or itself.
func (c *core) contestants(member uint32) []uint32 {
	if c.nodes[member].sort == isBand {
		return c.children(member)
	}
	return []uint32{member}
}

// beats reports whether a is before b in a contest of g that both are in.
func (c *core) beats(g *group, which int, a, b uint32) bool {
	d := c.compareNeeds(a, b)
	if uint8(which) == low {
		d = c.compareShares(a, b)
	}
	return c.tieBreak(g, d, a, b) < 0
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

// counted reports whether each pool above a member accounts for its demand. If the
// member is open, the demand is within the largest of open members below. If more
// room would open it, the demand is at or above the smallest of closed ones.
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
func (c *core) consumed(pool uint32) (share float64, own heading) {
	n := &c.nodes[pool]
	if n.parent == none {
		return 0, heading{}
	}
	was, wasOwn := n.share, n.group.own
	c.consume(pool)
	share, own = n.share, n.group.own
	n.share, n.group.own = was, wasOwn
	return share, own
}

// requireConsistent compares the kept state with the computed one.
func (c *core) requireConsistent(t *testing.T, fresh bool, at ...any) {
	t.Helper()
	limits := 0
	for s := range c.nodes {
		n := &c.nodes[s]
		if n.limited {
			limits++
		}
		if n.group != nil {
			want, have := c.computed(uint32(s), fresh), c.kept(uint32(s))
			want.sum.kept, have.sum.kept = false, false // it only says where to look
			require.Equal(t, want, have, at...)
		}
	}
	require.Equal(t, limits, c.limits, at...)
}

// TestTree_KeptStateEqualsAWalk compares sums, contests, bands and the open members
// with a walk over all of the tree, after each of many events in small trees.
func TestTree_KeptStateEqualsAWalk(t *testing.T) {
	for seed := range 50 {
		c := newChurn(t, uint64(seed), 1+seed%3, 1+seed%9, 1+seed%7)
		for range 5 + seed%40 {
			c.addJob(c.pool())
		}
		c.run(100, 1)
		c.unwind()
	}
}

// TestTree_KeptStateEqualsAWalk_InACrowd is the same for large pools and bands.
// They have more members than a contest tells apart by the bits that shares leave
// over.
func TestTree_KeptStateEqualsAWalk_InACrowd(t *testing.T) {
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

// TestTree_TieGoesToTheOlderNodeInAnyOrderOfDemands is of a pool in which places
// are not in the order in which jobs came, though none was ever left.
func TestTree_TieGoesToTheOlderNodeInAnyOrderOfDemands(t *testing.T) {
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

// TestTree_TellsSharesApart_InACrowd has two shares that differ in the last bit
// that is not rounded off. With so many places that is the bit of a place.
func TestTree_TellsSharesApart_InACrowd(t *testing.T) {
	const half = 1 << 40
	tree, err := New[int](resources.Vector{2 * half}, nil)
	require.NoError(t, err)
	jobs := make([]Node, roundedOff+2)
	for i := range jobs {
		jobs[i], err = tree.AddJob(tree.Root(), i, Config{})
		require.NoError(t, err)
		require.NoError(t, tree.Demand(jobs[i], resources.Vector{int64(i + 1)}))
	}
	first, last := jobs[0], jobs[len(jobs)-1]
	for _, j := range jobs {
		held := int64(2 * half)
		switch j {
		case first:
			held = half + 1
		case last:
			held = half
		}
		require.NoError(t, tree.Charge(j, resources.Vector{held}))
	}
	next, ok := tree.Pick(resources.Vector{int64(len(jobs))})
	require.True(t, ok)
	require.Equal(t, last, next)
}

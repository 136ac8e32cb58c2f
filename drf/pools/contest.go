package pools

import "math"

// contest is a tournament: node 1 is the winner of all, i's children are 2i and
// 2i+1, and the member at place p is leaf len/2+p.
//
// An entry is one word. Its high bits are those of a key: a share, as a float64,
// which orders as its bits do. Its low bits, as many as places need, are the place.
// One comparison of two words decides, unless keys are so close that it takes the
// exact one: see exact.go.
type contest []uint64

// noEntry is the entry of no member, behind all.
const noEntry uint64 = math.MaxUint64

// The contests of a group. All in ahead are before all in low.
const (
	ahead uint8 = iota // members below min share, then members without usage; under an Order, all
	low                // members with usage, by share; a member below min share is in both
)

// places is the mask of an entry's place.
func (t contest) places() uint64 { return uint64(len(t)/2 - 1) }

// leader returns the first member in a contest of g, or none.
func (g *group) leader(which uint8) uint32 {
	t := g.contests[which]
	if len(t) == 0 || t[1] == noEntry {
		return none
	}
	return g.members[t[1]&t.places()]
}

// enter puts a key, or noEntry, at a place of a contest and replays its matches.
func (c *core) enter(g *group, which uint8, place uint32, key uint64) {
	t := g.contests[which]
	i := len(t)/2 + int(place)
	if i >= len(t) {
		if key == noEntry {
			return
		}
		t = c.widen(g, which)
		i = len(t)/2 + int(place)
	}
	if key == noEntry && t[i] == noEntry {
		return
	}
	places := t.places()
	w := noEntry
	if key != noEntry {
		w = key&^places | uint64(place)
	}
	t[i] = w
	if g.lazy {
		return
	}
	slack := g.tolerance + places + 1
	simple := g.byEntry(which, places)
	for i > 1 {
		if o := t[i^1]; simple || w-o+slack > 2*slack {
			w = min(w, o)
		} else {
			w = c.untie(g, which, w, o, places)
		}
		i >>= 1
		// Another member won here before and wins now: nothing changes from here
		// up. The same place is no reason to stop: ties are decided by more than
		// the entry.
		if t[i] == w && w&places != uint64(place) {
			return
		}
		t[i] = w
	}
}

// better returns the winner of two entries. Most often the words decide. A key is
// cut off by less than places+1.
func (c *core) better(g *group, which uint8, a, b, places uint64) uint64 {
	if slack := g.tolerance + places + 1; g.byEntry(which, places) || a-b+slack > 2*slack {
		return min(a, b)
	}
	return c.untie(g, which, a, b, places)
}

// byEntry reports whether the smaller entry wins always: equal shares have equal
// keys, others have keys that are not close, and places are in the order of
// addition.
func (g *group) byEntry(which uint8, places uint64) bool {
	return g.band && which == low && !g.ties && g.crude == 0 && places <= simplePlaces
}

// replay plays all matches of the contests of g.
func (c *core) replay(g *group) {
	for which, t := range g.contests {
		if len(t) == 0 {
			continue
		}
		places := t.places()
		for i := len(t)/2 - 1; i > 0; i-- {
			t[i] = c.better(g, uint8(which), t[2*i], t[2*i+1], places)
		}
	}
}

// widen makes room for all members of g in a contest, and at least doubles it.
func (c *core) widen(g *group, which uint8) contest {
	old := g.contests[which]
	half := max(1, len(old))
	for half < len(g.members) {
		half *= 2
	}
	t := make(contest, 2*half)
	for i := range t {
		t[i] = noEntry
	}
	for place, e := range old[len(old)/2:] {
		if e != noEntry {
			var keys [2]uint64
			keys[ahead], keys[low] = c.keys(g, c.champion(which, g.members[place]))
			key := keys[which]
			t[half+place] = key&^t.places() | uint64(place)
		}
	}
	g.contests[which] = t
	for i := half - 1; i > 0; i-- {
		t[i] = c.better(g, which, t[2*i], t[2*i+1], t.places())
	}
	return t
}

// untie returns the winner of two entries with close keys.
func (c *core) untie(g *group, which uint8, a, b, places uint64) uint64 {
	alike := which == ahead && !g.ties && a&^places == satisfied && b&^places == satisfied
	if a == noEntry || b == noEntry || alike {
		return min(a, b)
	}
	x, y := c.champion(which, g.members[a&places]), c.champion(which, g.members[b&places])
	d := 0
	if which == ahead {
		d = c.compareNeeds(x, y)
	} else {
		d = c.compareShares(x, y)
	}
	if c.tieBreak(g, d, x, y) < 0 {
		return a
	}
	return b
}

// champion returns the node that a member competes with: the best job of a band,
// else the member itself.
func (c *core) champion(which uint8, slot uint32) uint32 {
	if n := &c.nodes[slot]; n.sort == isBand {
		return n.group.leader(which)
	}
	return slot
}

// smallest returns the smallest share in the contest low of g and a bound on its
// relative error, or 0.
func (c *core) smallest(g *group) (share, err float64) {
	s := g.leader(low)
	if s == none {
		return 0, 0
	}
	return c.shareOf(c.champion(low, s))
}

// present enters a member into the contests of g.
func (c *core) present(g *group, slot uint32) {
	n := &c.nodes[slot]
	first, second := noEntry, noEntry
	if n.sort != isBand {
		first, second = c.keys(g, slot)
	} else { // a band stands where its best job does
		if s := n.group.leader(ahead); s != none {
			first, _ = c.keys(g, s)
		}
		if s := n.group.leader(low); s != none {
			_, second = c.keys(g, s)
		}
	}
	c.lead(g, n, first)
	c.enter(g, low, n.place, second)
}

// lead enters a member into the contest ahead. Most members are not in it, and the
// flag shows that without a look at the contest.
func (c *core) lead(g *group, n *node, key uint64) {
	if n.ahead || key != noEntry {
		n.ahead = key != noEntry
		c.enter(g, ahead, n.place, key)
	}
}

// absent takes a member out of the contests of g.
func (c *core) absent(g *group, slot uint32) {
	n := &c.nodes[slot]
	c.lead(g, n, noEntry)
	c.enter(g, low, n.place, noEntry)
}

// has reports whether the member at a place is in the contest.
func (t contest) has(place int) bool {
	i := len(t)/2 + place
	return i < len(t) && t[i] != noEntry
}

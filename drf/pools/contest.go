package pools

import (
	"cmp"
	"math"
)

// contest is a tournament: node 1 is the winner of all, i's children are 2i and
// 2i+1, and the member at place p is leaf len/2+p.
//
// An entry is one word: the high bits of a key, which is a share, a float64 of
// which the order is that of its bits, and in as many low bits as there are
// places the place. One comparison of two words decides, unless they agree in
// all but the place.
type contest []uint64

// nobody is behind all.
const nobody uint64 = math.MaxUint64

// The contests of a group. All in ahead are before all in low.
const (
	ahead uint8 = iota // those below min share, then those who hold nothing; all, where there is an order
	low                // those who hold something, by share; whoever is below min share is in both
)

// places are the bits of an entry that are a place.
func (t contest) places() uint64 { return uint64(len(t)/2 - 1) }

// leader returns who is first in a contest of g, or none.
func (g *group) leader(which uint8) uint32 {
	t := g.contests[which]
	if len(t) == 0 || t[1] == nobody {
		return none
	}
	return g.members[t[1]&t.places()]
}

// enter puts a key, or nobody, at a place of a contest and replays the matches
// of that place.
func (c *core) enter(g *group, which uint8, place uint32, key uint64) {
	t := g.contests[which]
	i := len(t)/2 + int(place)
	if i >= len(t) {
		if key == nobody {
			return
		}
		t = c.widen(g, which)
		i = len(t)/2 + int(place)
	}
	if key == nobody && t[i] == nobody {
		return
	}
	places := t.places()
	w := nobody
	if key != nobody {
		w = key&^places | uint64(place)
	}
	t[i] = w
	if g.lazy {
		return
	}
	for i > 1 {
		w = c.better(g, which, w, t[i^1], places)
		i >>= 1
		// Where somebody else won before and wins now, nothing changes from
		// here up. That it is whose place this is does not tell: ties are
		// decided by more than the entry.
		if t[i] == w && w&places != uint64(place) {
			return
		}
		t[i] = w
	}
}

// better returns which of two entries wins. Most often that is a matter of the
// two alone: see group.ties.
func (c *core) better(g *group, which uint8, a, b, places uint64) uint64 {
	if g.ties && (a^b)&^places == 0 && a != b {
		return c.untie(g, which, a, b, places)
	}
	return min(a, b)
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

// widen gives a contest room for all members of g, and at least twice what it
// had.
func (c *core) widen(g *group, which uint8) contest {
	old := g.contests[which]
	half := max(1, len(old))
	for half < len(g.members) {
		half *= 2
	}
	t := make(contest, 2*half)
	for i := range t {
		t[i] = nobody
	}
	for place, e := range old[len(old)/2:] {
		if e != nobody {
			key := c.keys(g, c.champion(which, g.members[place]))[which]
			t[half+place] = key&^t.places() | uint64(place)
		}
	}
	g.contests[which] = t
	g.ties = g.ties || t.places() > roundedOff
	for i := half - 1; i > 0; i-- {
		t[i] = c.better(g, which, t[2*i], t[2*i+1], t.places())
	}
	return t
}

// untie returns which of two entries that agree in all but the place wins.
func (c *core) untie(g *group, which uint8, a, b, places uint64) uint64 {
	x, y := c.champion(which, g.members[a&places]), c.champion(which, g.members[b&places])
	d := 0
	if places > roundedOff {
		d = cmp.Compare(c.keys(g, x)[which], c.keys(g, y)[which])
	}
	if d == 0 && g.order != nil {
		d = g.order(Child{c, x}, Child{c, y})
	}
	if d == 0 {
		d = cmp.Compare(c.nodes[x].seq, c.nodes[y].seq)
	}
	if d < 0 {
		return a
	}
	return b
}

// champion returns who stands for a member: the best job of a band, else the
// member itself.
func (c *core) champion(which uint8, slot uint32) uint32 {
	if n := &c.nodes[slot]; n.sort == isBand {
		return n.group.leader(which)
	}
	return slot
}

// smallest returns the smallest share in the contest low of g, or 0.
func (c *core) smallest(g *group) float64 {
	t := g.contests[low]
	if len(t) == 0 || t[1] == nobody {
		return 0
	}
	if places := t.places(); places <= roundedOff {
		return math.Float64frombits(t[1] &^ places)
	}
	return c.nodes[c.champion(low, g.leader(low))].share
}

// present enters a member into the contests of g.
func (c *core) present(g *group, slot uint32) {
	n := &c.nodes[slot]
	if n.sort != isBand {
		keys := c.keys(g, slot)
		c.lead(g, n, keys[ahead])
		c.enter(g, low, n.place, keys[low])
		return
	}
	var keys [2]uint64
	for which := range keys { // a band stands where its best job does
		keys[which] = nobody
		if best := c.champion(uint8(which), slot); best != none {
			keys[which] = c.keys(g, best)[which]
		}
	}
	c.lead(g, n, keys[ahead])
	c.enter(g, low, n.place, keys[low])
}

// lead enters a member into the contest ahead. Most are not in there, and that
// is known without a look at it.
func (c *core) lead(g *group, n *node, key uint64) {
	if n.ahead || key != nobody {
		n.ahead = key != nobody
		c.enter(g, ahead, n.place, key)
	}
}

// absent takes a member out of the contests of g.
func (c *core) absent(g *group, slot uint32) {
	n := &c.nodes[slot]
	c.lead(g, n, nobody)
	c.enter(g, low, n.place, nobody)
}

// enters reports whether the member at a place takes part.
func (g *group) enters(place int) bool {
	for _, t := range g.contests {
		if i := len(t)/2 + place; i < len(t) && t[i] != nobody {
			return true
		}
	}
	return false
}

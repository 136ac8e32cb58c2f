package pools

import (
	"math"

	"github.com/cellsched/cellsched/resources"
)

// Node is the handle of a pool or a job in the [Tree] that returned it.
//
// The zero Node is no node. Nodes are plain values: compare them with ==, use them
// as map keys. A handle is never given out twice, so the handle of a removed pool
// is refused even after its place is taken again. The handle of another tree may go
// unnoticed.
type Node struct {
	slot uint32
	gen  uint32 // odd; the slot's own is even while the slot is vacant
}

// none is the slot of no node.
const none = math.MaxUint32

// maxNodes is the largest number of nodes. Sums of directions rely on it: see
// fixed.
const maxNodes = 1 << 24

// The sorts of a node.
const (
	isVacant uint8 = iota
	isPool
	isJob
	isBand // the jobs of a pool with one demand; no handle leads to it
)

// node holds the fields that each pick and charge reads of a pool, a job or a band.
// A band is the set of a pool's jobs with the same demand. Either all of a band fit
// or none, so bands are opened and closed, and not each of their jobs. A job that
// is alone with its demand has no band.
//
// A node takes two cache lines. The other fields are in settings.
type node struct {
	usage  resources.Vector // all below it included
	share  float64          // weighted dominant share, rounded; a band has none
	weight float64
	seq    uint64  // smaller the earlier it came
	unit   residue // of a job: the inverse of its share; 0 until it is computed
	group  *group  // of pools and bands
	gen    uint32
	parent uint32 // the pool that it is in
	in     uint32 // the pool or band it is a member of; none for a parked job, and the root
	place  uint32 // among the members there
	sort   uint8
	open   bool // a task of it fits: it takes part
	ahead  bool // it is in that contest
	// Whether there is a min and a max share, in settings.
	promised bool
	limited  bool
	crude    bool // of a job in a band, see core.classify
}

// settings are the configuration of a node, and its place among its siblings, pools
// and jobs, in the order in which they came.
type settings struct {
	min, max resources.Vector // max means nothing unless limited
	backlog  resources.Vector // of a job: the amount it wants beyond its usage; zero if not set
	priority int64

	prev, next, first, last uint32
}

// core is a tree without the caller's keys, so that it is compiled once.
type core struct {
	nodes    []node
	settings []settings // by slot
	vacant   []uint32   // slots
	total    resources.Vector
	inverse  [resources.MaxKinds]float64 // of total; 0 where there is none
	inverted [resources.MaxKinds]residue // the same, exactly
	kinds    int                         // total has nothing from this kind on
	free     resources.Vector            // at the last Pick
	usedUp   kinds                       // kinds without any free amount then
	exact    bool                        // sums of residues are kept
	limits   int                         // nodes with a max share
	most     int                         // nodes there may be: each job may come to need a band of its own
	seq      uint64
	record   record
	scratch  direction // for setOpen: clearing a direction takes as long as computing it
}

// newSlot returns a vacant slot for a node of a sort.
func (c *core) newSlot(sort uint8, parent uint32) uint32 {
	var slot uint32
	if n := len(c.vacant); n > 0 {
		slot, c.vacant = c.vacant[n-1], c.vacant[:n-1]
	} else {
		slot = uint32(len(c.nodes))
		c.nodes = append(c.nodes, node{})
		c.settings = append(c.settings, settings{})
	}
	n := &c.nodes[slot]
	*n = node{gen: n.gen + 1, sort: sort, parent: parent, in: none, weight: 1, seq: c.seq}
	c.settings[slot] = settings{prev: none, next: none, first: none, last: none}
	c.seq++
	if sort != isJob {
		n.group = &group{least: unwanted, seen: unwanted}
		n.group.spread(jobError)
		n.group.band = sort == isBand
	}
	c.record.begin(slot)
	return slot
}

// drop makes a slot vacant. One that ran out of generations is not used again.
func (c *core) drop(slot uint32) {
	n := &c.nodes[slot]
	if n.limited {
		c.limits--
	}
	*n = node{gen: n.gen + 1}
	if n.gen != 0 {
		c.vacant = append(c.vacant, slot)
	}
}

// link puts slot behind the children of its parent.
func (c *core) link(slot uint32) {
	parent := c.nodes[slot].parent
	s, p := &c.settings[slot], &c.settings[parent]
	s.prev, s.next = p.last, none
	if p.last == none {
		p.first = slot
	} else {
		c.settings[p.last].next = slot
	}
	p.last = slot
}

// unlink takes slot out of the children of its parent.
func (c *core) unlink(slot uint32) {
	s, p := &c.settings[slot], &c.settings[c.nodes[slot].parent]
	if s.prev == none {
		p.first = s.next
	} else {
		c.settings[s.prev].next = s.next
	}
	if s.next == none {
		p.last = s.prev
	} else {
		c.settings[s.next].prev = s.prev
	}
}

// shift adds v to sum, or subtracts it.
func shift(sum, v *resources.Vector, off bool) {
	const _ = uint(resources.MaxKinds-8) + uint(8-resources.MaxKinds) // below is MaxKinds written out, in a third of the time of a loop
	if off {
		sum[0] -= v[0]
		sum[1] -= v[1]
		sum[2] -= v[2]
		sum[3] -= v[3]
		sum[4] -= v[4]
		sum[5] -= v[5]
		sum[6] -= v[6]
		sum[7] -= v[7]
		return
	}
	sum[0] += v[0]
	sum[1] += v[1]
	sum[2] += v[2]
	sum[3] += v[3]
	sum[4] += v[4]
	sum[5] += v[5]
	sum[6] += v[6]
	sum[7] += v[7]
}

package pools

import (
	"reflect"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/internal/keys"
	"github.com/cellsched/cellsched/resources"
)

// Tree is a tree of pools, with jobs at its leaves, that picks the next job.
//
// [New] makes a Tree. Methods of a nil or zero Tree fail with [resources.ErrNil],
// or return nothing. A Tree is not safe for concurrent use, reading included. K is
// the caller's key of a pool or a job: no call on a [Node] depends on it.
//
// Costs are for depth d and n children of a pool: the largest number at any time so
// far, of the largest pool on the way.
type Tree[K comparable] struct {
	core  core
	keys  []K // by slot
	byKey map[K]Node
}

// Config is the configuration of a pool or a job. The zero Config has weight 1 and
// no limits, and is shared by DRF.
type Config struct {
	// Weight is its weight among its siblings; 0 means 1.
	Weight float64
	// Min is its min share, in base units. Below it, the node goes before siblings
	// that are not below theirs, and others may be preempted for it.
	Min resources.Vector
	// Max is its max share, in base units, for all below it; nil is no limit.
	Max *resources.Vector
	// Priority is for an [Order] that uses it, such as [Priority].
	Priority int64
	// Order orders its children and cannot be changed; nil is DRF. Jobs have none.
	Order Order
}

// New returns a tree of a root pool over a cell of the given total, in base units.
// Order orders the root's children; nil is DRF. Errors: [resources.ErrQuantity] for
// a component outside [0, 2^62], [drf.ErrEmpty] for a total of nothing.
func New[K comparable](total resources.Vector, order Order) (*Tree[K], error) {
	if err := self.Some("total", total); err != nil {
		return nil, err
	}
	t := &Tree[K]{keys: make([]K, 1), byKey: make(map[K]Node)}
	t.core.most = maxNodes / 2
	root := t.core.nodes[t.core.newSlot(isPool, none)].group
	root.order, root.ties = order, order != nil
	t.core.remeasure(&total)
	return t, nil
}

// none reports whether t is nil, or not made by [New].
func (t *Tree[K]) none() bool { return t == nil || len(t.keys) == 0 }

// Root returns the pool that all others are in.
func (t *Tree[K]) Root() Node {
	if t.none() {
		return Node{}
	}
	return Node{0, t.core.nodes[0].gen}
}

// SetTotal changes the total that the tree shares, in base units. Usage stays, and
// may exceed the new total. Cost: O(n log n) for n nodes. Errors: as [New].
func (t *Tree[K]) SetTotal(total resources.Vector) error {
	if t.none() {
		return self.Absent("tree")
	}
	if err := self.Some("total", total); err != nil {
		return err
	}
	if total != t.core.total {
		t.core.remeasure(&total)
	}
	return nil
}

// AddPool adds a pool without children to a parent. Cost: O(1) amortised and some
// allocations. Errors:
//
//   - [ErrNode] for a parent that is not there, [ErrTree] for one that is a job;
//   - [drf.ErrKey] for a key that is taken, not equal to itself, or a string that
//     [resources.CheckName] refuses;
//   - [drf.ErrWeight] for a weight outside [[drf.MinWeight], [drf.MaxWeight]];
//   - [ErrValue] for a min share above the max share;
//   - [resources.ErrQuantity] for an invalid limit, min shares of siblings beyond
//     2^62 in all, or a node beside 2^23 others.
func (t *Tree[K]) AddPool(parent Node, key K, config Config) (Node, error) {
	if t.none() {
		return Node{}, self.Absent("tree")
	}
	return t.add(isPool, "add pool", parent, key, config)
}

// AddJob adds a job that holds nothing and is parked to a parent: [Tree.Demand]
// makes it a candidate. A job stands for anything with tasks: a job, a queue, a
// user. Any string is a key. Cost and other errors: as [Tree.AddPool]; [ErrTree]
// for an Order.
func (t *Tree[K]) AddJob(parent Node, key K, config Config) (Node, error) {
	if t.none() {
		return Node{}, self.Absent("tree")
	}
	return t.add(isJob, "add job", parent, key, config)
}

func (t *Tree[K]) add(sort uint8, op string, parent Node, key K, config Config) (Node, error) {
	c := &t.core
	what := func() string { return op + " " + fault.Key(key) }
	if config.Weight == 0 {
		config.Weight = 1
	}
	if err := t.checkParent(what, parent); err != nil {
		return Node{}, err
	}
	if err := self.Weight(op, config.Weight); err != nil {
		return Node{}, self.Weight(what(), config.Weight)
	}
	if name := reflect.ValueOf(key); sort == isPool && name.Kind() == reflect.String {
		if err := resources.CheckName(name.String()); err != nil {
			return Node{}, fault.New("pools", op, err, drf.ErrKey)
		}
	}
	if !keys.Findable(key) {
		return Node{}, self.Refuse(drf.ErrKey, "%s, want a key equal to itself", what())
	}
	if _, ok := t.byKey[key]; ok {
		return Node{}, self.Refuse(drf.ErrKey, "%s: another node has this key, want a new one", what())
	}
	if sort == isJob && config.Order != nil {
		return Node{}, self.Refuse(ErrTree, "%s with an order, which is for pools, want none", what())
	}
	if err := checkLimits(config.Min, config.Max, what); err != nil {
		return Node{}, err
	}
	if err := t.checkPromises(what, parent.slot, none, &config.Min); err != nil {
		return Node{}, err
	}
	if there := len(c.nodes) - len(c.vacant); there >= c.most {
		return Node{}, self.Refuse(resources.ErrQuantity, "%s: there are %d nodes, want fewer than %d", what(), there, c.most)
	}
	slot := c.newSlot(sort, parent.slot)
	n := &c.nodes[slot]
	n.weight, c.settings[slot].priority = config.Weight, config.Priority
	c.limit(slot, config.Min, config.Max)
	for len(t.keys) <= int(slot) {
		var zero K
		t.keys = append(t.keys, zero)
	}
	t.keys[slot] = key
	if sort == isPool {
		n.group.order, n.group.ties = config.Order, config.Order != nil
	}
	c.attach(slot, &unwanted)
	h := Node{slot, n.gen}
	t.byKey[key] = h
	return h, nil
}

// Remove forgets a job or a pool. Its key is free again. Cost: O(d log n), and for
// a pool a look at its siblings. Errors:
//
//   - [drf.ErrHeld] for a node that holds anything: it could come back at a share
//     of zero;
//   - [ErrTree] for the root, and for a pool with children;
//   - [ErrNode] for a node that is not there.
func (t *Tree[K]) Remove(h Node) error {
	if t.none() {
		return self.Absent("tree")
	}
	c := &t.core
	n := t.node(h)
	switch {
	case n == nil:
		return badNode("remove", "a node of the tree")
	case n.parent == none:
		return self.Refuse(ErrTree, "remove the root, want another node")
	case c.settings[h.slot].first != none:
		return self.Refuse(ErrTree, "remove %s, which has children, want none", t.name(h.slot))
	case n.usage != (resources.Vector{}):
		return self.Refuse(drf.ErrHeld, "remove %s, which holds %v, want nothing", t.name(h.slot), n.usage)
	}
	c.withdraw(h.slot)
	delete(t.byKey, t.keys[h.slot])
	clear(t.keys[h.slot : h.slot+1]) // for the garbage collector
	c.drop(h.slot)
	return nil
}

// Move puts a job or a pool, with all below it and all of its usage, into another
// pool. It is the last child there, but keeps its place among equals. Cost: O(d log
// n), the cost of settling the nodes below, and a look at the siblings. Errors:
//
//   - [ErrNode] for a node that is not there;
//   - [ErrTree] for the root, a parent that is a job, or a parent that is h or
//     below it;
//   - [resources.ErrQuantity] if the min shares of the siblings would exceed 2^62
//     in all.
func (t *Tree[K]) Move(h, parent Node) error {
	if t.none() {
		return self.Absent("tree")
	}
	c := &t.core
	n := t.node(h)
	if n == nil {
		return badNode("move", "a node of the tree")
	}
	op := func() string { return "move " + t.name(h.slot) }
	if err := t.checkParent(op, parent); err != nil {
		return err
	}
	for s := parent.slot; s != none; s = c.nodes[s].parent {
		if s == h.slot {
			return self.Refuse(ErrTree, "move %s into %s, which is it or below it", t.name(h.slot), t.name(parent.slot))
		}
	}
	if n.parent == parent.slot {
		return nil
	}
	if err := t.checkPromises(op, parent.slot, h.slot, &c.settings[h.slot].min); err != nil {
		return err
	}
	demand := c.withdraw(h.slot)
	n.parent = parent.slot
	c.attach(h.slot, &demand)
	return nil
}

// checkParent returns an error for an invalid parent.
func (t *Tree[K]) checkParent(op func() string, parent Node) error {
	p := t.node(parent)
	if p == nil {
		return badNode(op()+": parent", "a node of the tree")
	}
	if p.sort != isPool {
		return self.Refuse(ErrTree, "%s: parent is %s, want a pool", op(), t.name(parent.slot))
	}
	return nil
}

// node returns the node of h, or nil.
func (t *Tree[K]) node(h Node) *node {
	if int(h.slot) < len(t.core.nodes) {
		if n := &t.core.nodes[h.slot]; n.gen == h.gen && (n.sort == isPool || n.sort == isJob) {
			return n
		}
	}
	return nil
}

// job returns the node of h, or nil if that is not a job.
func (t *Tree[K]) job(h Node) *node {
	if n := t.node(h); n != nil && n.sort == isJob {
		return n
	}
	return nil
}

package pool

import (
	"cmp"
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// preemptible is the index by which a request within a guarantee finds the machines
// where preemption would make room. It keeps for each machine what could be
// preempted there, and for each guarantee which needs were found hopeless.
//
// It is made when it is first needed, follows each change, and is dropped when it
// was not needed for longer than making it took.
//
// Protection. A lease is protected by the guarantee of its tenant, or else of the
// nearest group above that has some left, the oldest leases first. The guarantees
// of one depth protect before those of the groups above. A lease that is protected
// at depth d is safe from each request outside the tenant or group of that depth,
// so protection does not depend on the request.
type preemptible struct {
	in       *victimSearch
	machines []exposed // by node
	items    []*item   // by slot of the lease, nil where it is preempted or ended
	owed     map[*promise]*item
	tenants  map[*Tenant]*rights
	roots    map[*Tenant]*protection
	guards   map[*Tenant]*guard
	looks    map[*Tenant]*look
	within   map[*Tenant]bool // tenants and groups with a guarantee in or below them
	touched  []*item          // with changed protection, in protect
	made     bool             // all is in it, and changes are followed
	changes  uint64           // of machines, so far
	newest   int              // machine that changed last, -1 for none
	unused   int              // leases that began or ended since it was needed
	spare    *item            // items that are used again, by next
}

// item is a lease, or room that is owed to a request.
type item struct {
	tenant     *Tenant
	rights     *rights
	need       resources.Vector
	node       int
	slot       uint32  // of the lease
	owed       *waiter // that the room is owed to, nil of a lease
	order      uint64  // in which it was granted, or owed
	key        uint64  // the order in which guarantees protect, leases before promises
	by, was    *guard  // that protects it, and did before the last change; nil for none
	entered    bool    // as a candidate of the guard that is looked at
	safe       int     // depth of the tenant or group that protects it, 0 for none
	next, prev *item   // in the list of its root
}

// rights are a tenant with its groups, from itself up.
type rights struct {
	levels  []level
	bunches map[bunchKey]*bunch
	root    *protection // nil where no guarantee protects
	guard   *guard      // the nearest, nil for none
	looks   []*look     // of the guarantees that it is in
}

// level is a tenant or group that a lease counts for.
type level struct {
	top   *Tenant
	depth int
	asked bool // a sibling has a guarantee in or below it
	own   bool // itself has
}

func newPreemptible(vs *victimSearch, promised []*waiter) *preemptible {
	x := &preemptible{
		in: vs, machines: make([]exposed, len(vs.books.machines)), items: make([]*item, len(vs.leases.records)), newest: -1,
		owed: make(map[*promise]*item), tenants: make(map[*Tenant]*rights),
		roots: make(map[*Tenant]*protection), looks: make(map[*Tenant]*look),
		within: make(map[*Tenant]bool), guards: make(map[*Tenant]*guard),
	}
	vs.made++
	x.changes = vs.made << 40 // no two indexes count alike
	for i := range x.machines {
		x.machines[i].newer, x.machines[i].older = -1, -1
	}
	for _, g := range vs.tenants.guaranteed {
		x.looks[g] = &look{of: g}
		if g.guarantee != (resources.Vector{}) {
			x.guards[g] = &guard{depth: g.depth(), most: g.guarantee}
		}
		for x.within[g] = true; g.parent != nil; x.within[g] = true {
			g = g.parent
		}
		if x.roots[g] == nil {
			x.roots[g] = &protection{}
		}
	}
	for g, at := range x.guards {
		at.parent = x.guardOf(g.parent)
	}
	slots := make([]uint32, 0, vs.leases.held)
	for slot := range vs.leases.all() {
		slots = append(slots, slot)
	}
	slices.SortFunc(slots, func(a, b uint32) int { return cmp.Compare(vs.leases.records[a].grant, vs.leases.records[b].grant) })
	for _, slot := range slots {
		r := &vs.leases.records[slot]
		if r.late {
			continue
		}
		if r.preempted {
			coming := &x.machines[r.node].coming
			*coming = coming.Add(r.run.Need)
			continue
		}
		x.granted(slot, r)
	}
	for _, w := range promised {
		for i := range w.kept.promises {
			x.owe(&w.kept.promises[i])
		}
	}
	x.protectAll()
	x.made = true
	return x
}

// guardOf returns the nearest guarantee that protects the leases of t, or nil.
func (x *preemptible) guardOf(t *Tenant) *guard {
	for ; t != nil; t = t.parent {
		if g := x.guards[t]; g != nil {
			return g
		}
	}
	return nil
}

// rightsOf returns the rights of a tenant.
func (x *preemptible) rightsOf(t *Tenant) *rights {
	if r := x.tenants[t]; r != nil {
		return r
	}
	r := &rights{bunches: make(map[bunchKey]*bunch)}
	r.root, r.guard = x.roots[t.outermost()], x.guardOf(t)
	depth := t.depth()
	for g := t; g != nil; g = g.parent {
		l := level{top: g, depth: depth, own: x.within[g], asked: g.parent == nil || x.within[g.parent]}
		if lk := x.looks[g]; lk != nil {
			r.looks = append(r.looks, lk)
		}
		r.levels = append(r.levels, l)
		depth--
	}
	x.tenants[t] = r
	return r
}

// granted notes a lease.
func (x *preemptible) granted(slot uint32, r *record) {
	for int(slot) >= len(x.items) {
		x.items = append(x.items, nil)
	}
	it := x.item()
	*it = item{tenant: r.tenant, need: r.run.Need, node: int(r.node), slot: slot, order: r.grant, key: r.grant}
	x.items[slot] = it
	x.insert(it)
}

// owe notes room that is owed to a request. What is owed will be held: it uses
// guarantees up as the latest leases do.
func (x *preemptible) owe(pr *promise) {
	it := x.item()
	*it = item{tenant: pr.of.tenant, need: pr.need, node: pr.node, owed: pr.of, order: pr.order, key: 1<<63 | pr.order}
	x.owed[pr] = it
	x.insert(it)
}

func (x *preemptible) item() *item {
	it := x.spare
	if it == nil {
		return new(item)
	}
	x.spare = it.next
	return it
}

func (x *preemptible) insert(it *item) {
	it.rights = x.rightsOf(it.tenant)
	if r := it.rights.root; r != nil {
		r.changes++
		if it.owed == nil {
			r.leases.add(it)
		} else {
			r.owed.add(it)
		}
	}
	m := &x.machines[it.node]
	m.add(it)
	x.mark(it.node)
	if x.made {
		m.count(it)
		x.protect(it.rights.guard, nil, []*item{it})
	}
}

// remove takes out an item that has ended or is preempted.
func (x *preemptible) remove(it *item) {
	m := &x.machines[it.node]
	m.uncount(it)
	m.remove(it)
	x.mark(it.node)
	if r := it.rights.root; r != nil {
		r.changes++
		if it.owed == nil {
			r.leases.remove(it)
		} else {
			r.owed.remove(it)
		}
		x.protect(it.rights.guard, []*item{it}, nil)
	}
	*it = item{next: x.spare}
	x.spare = it
}

// ended notes the end of a lease.
func (x *preemptible) ended(slot uint32, r *record) {
	if it := x.items[slot]; it != nil {
		x.items[slot] = nil
		x.remove(it)
		return
	}
	m := &x.machines[r.node]
	if r.late {
		x.freed(r)
	} else {
		m.coming, _ = m.coming.Sub(r.run.Need)
	}
	x.mark(int(r.node))
}

// late notes that the grace of a preempted lease is over: no room comes.
func (x *preemptible) late(r *record) {
	m := &x.machines[r.node]
	m.coming, _ = m.coming.Sub(r.run.Need)
}

// freed notes room of a late lease: limits have more left than was to come.
func (x *preemptible) freed(r *record) {
	if root := x.rightsOf(r.tenant).root; root != nil {
		root.changes++
	}
}

// revoked notes that a lease is preempted: its room will come.
func (x *preemptible) revoked(slot uint32, r *record) {
	x.remove(x.items[slot])
	x.items[slot] = nil
	m := &x.machines[r.node]
	m.coming = m.coming.Add(r.run.Need)
}

// resized notes that a lease has shrunk from an amount to its present need.
func (x *preemptible) resized(slot uint32, r *record, was *resources.Vector) {
	m := &x.machines[r.node]
	x.mark(int(r.node))
	it := x.items[slot]
	if it == nil && r.late {
		x.freed(r)
		return
	}
	if it == nil {
		less, _ := was.Sub(r.run.Need)
		m.coming, _ = m.coming.Sub(less)
		return
	}
	x.remove(it) // and it comes again, in its place
	x.granted(slot, r)
}

// unowe ends the promise of room to a request.
func (x *preemptible) unowe(pr *promise) {
	if it := x.owed[pr]; it != nil {
		delete(x.owed, pr)
		x.remove(it)
	}
}

// aged counts a lease that began or ended. It reports whether the index is to be
// dropped: it was not needed for as long as making it takes.
func (x *preemptible) aged() bool {
	x.unused++
	return x.unused > 2*x.in.leases.held+len(x.machines)+sweepMin || len(x.tenants) > 2*len(x.in.tenants.byUser)+sweepMin
}

package pool

import (
	"cmp"
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// All of this file is called with the pool's mutex held.

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
	pool     *Pool
	machines []exposed // by node
	items    []*item   // by slot of the lease, nil where it is preempted or ended
	owed     map[*promise]*item
	tenants  map[*Tenant]*rights
	roots    map[*Tenant]*protection
	looks    map[*Tenant]*look
	within   map[*Tenant]bool // tenants and groups with a guarantee in or below them
	dirty    []*protection
	changes  uint64 // of machines, so far
	newest   int    // machine that changed last, -1 for none
	unused   int    // leases that began or ended since it was needed
	spare    *item  // items that are used again, by next
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
	at         int     // place among the items of the machine
	safe       int     // depth of the tenant or group that protects it, 0 for none
	next, prev *item   // in the list of its root
}

// rights are a tenant with its groups, from itself up.
type rights struct {
	levels []level
	root   *protection // nil where no guarantee protects
	looks  []*look     // of the guarantees that it is in
}

// level is a tenant or group that a lease counts for.
type level struct {
	top   *Tenant
	depth int
	used  *resources.Vector // of its guarantee
	asked bool              // a sibling has a guarantee in or below it
	own   bool              // itself has
}

// index returns the index, made on first use.
func (p *Pool) index() *preemptible {
	if p.victimIndex == nil {
		p.victimIndex = newPreemptible(p)
	}
	p.victimIndex.unused = 0
	p.victimIndex.settle()
	return p.victimIndex
}

func newPreemptible(p *Pool) *preemptible {
	x := &preemptible{
		pool: p, machines: make([]exposed, len(p.books.machines)), items: make([]*item, len(p.records)), newest: -1,
		owed: make(map[*promise]*item), tenants: make(map[*Tenant]*rights),
		roots: make(map[*Tenant]*protection), looks: make(map[*Tenant]*look),
		within: make(map[*Tenant]bool),
	}
	p.indexes++
	x.changes = p.indexes << 40 // no two indexes count alike
	for i := range x.machines {
		x.machines[i].newer, x.machines[i].older = -1, -1
	}
	for _, g := range p.guaranteed {
		x.looks[g] = &look{of: g}
		for x.within[g] = true; g.parent != nil; x.within[g] = true {
			g = g.parent
		}
		if x.roots[g] == nil {
			x.roots[g] = &protection{used: make(map[*Tenant]*resources.Vector), flat: true}
		}
	}
	slots := make([]uint32, 0, p.leases)
	for i := range p.records {
		if p.records[i].gen&1 == 1 {
			slots = append(slots, uint32(i))
		}
	}
	slices.SortFunc(slots, func(a, b uint32) int { return cmp.Compare(p.records[a].grant, p.records[b].grant) })
	for _, slot := range slots {
		r := &p.records[slot]
		if r.preempted {
			coming := &x.machines[r.node].coming
			*coming = coming.Add(r.run.Need)
			continue
		}
		x.granted(slot, r)
	}
	for _, w := range p.promised {
		for i := range w.kept.promises {
			x.owe(&w.kept.promises[i])
		}
	}
	return x
}

// rightsOf returns the rights of a tenant.
func (x *preemptible) rightsOf(t *Tenant) *rights {
	if r := x.tenants[t]; r != nil {
		return r
	}
	r := &rights{}
	root := t
	for root.parent != nil {
		root = root.parent
	}
	r.root = x.roots[root]
	depth := t.depth()
	for g := t; g != nil; g = g.parent {
		l := level{top: g, depth: depth, own: x.within[g], asked: g.parent == nil || x.within[g.parent]}
		if r.root != nil {
			r.root.flat = r.root.flat && depth == 1
			if l.used = r.root.used[g]; l.used == nil {
				l.used = new(resources.Vector)
				r.root.used[g] = l.used
			}
		}
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
	*it = item{tenant: r.tenant, need: r.run.Need, node: int(r.node), slot: slot, order: r.grant}
	x.items[slot] = it
	x.insert(it)
}

// owe notes room that is owed to a request. What is owed will be held: it uses
// guarantees up as the latest leases do.
func (x *preemptible) owe(pr *promise) {
	it := x.item()
	*it = item{tenant: pr.of.tenant, need: pr.need, node: pr.node, owed: pr.of, order: pr.order}
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
		r.open++
		// The latest lease of a tenant changes nothing for those before it. In a
		// group it may use up the guarantee of the group before they do.
		if r.flat && !r.dirty && it.owed == nil && r.owed.first == nil {
			top := it.rights.levels[0]
			if covers(&top.top.guarantee, top.used, &it.need) {
				it.safe, *top.used = 1, top.used.Add(it.need)
				r.open--
			}
		} else {
			x.unsettle(r)
		}
		if it.owed == nil {
			r.leases.add(it)
		} else {
			r.owed.add(it)
		}
	}
	m := &x.machines[it.node]
	it.at = len(m.items)
	m.items = append(m.items, it)
	m.count(it)
	x.mark(it.node)
}

// remove takes out an item that has ended or is preempted.
func (x *preemptible) remove(it *item) {
	m := &x.machines[it.node]
	m.uncount(it)
	last := m.items[len(m.items)-1]
	m.items[it.at], last.at = last, it.at
	m.items[len(m.items)-1] = nil
	m.items = m.items[:len(m.items)-1]
	x.mark(it.node)
	if r := it.rights.root; r != nil {
		r.changes++
		if it.owed == nil {
			r.leases.remove(it)
		} else {
			r.owed.remove(it)
		}
		switch {
		case it.safe == 0: // it has used nothing up
			r.open--
		case r.flat && r.open == 0:
			used := it.rights.levels[0].used
			*used, _ = used.Sub(it.need)
		default:
			x.unsettle(r)
		}
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
	m.coming, _ = m.coming.Sub(r.run.Need)
	x.mark(int(r.node))
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
	if it == nil {
		less, _ := was.Sub(r.run.Need)
		m.coming, _ = m.coming.Sub(less)
		return
	}
	m.uncount(it)
	it.need = r.run.Need
	m.count(it)
	if it.rights.root != nil {
		it.rights.root.changes++
		x.unsettle(it.rights.root)
	}
}

// unowe notes that room is owed to a request no more.
func (x *preemptible) unowe(pr *promise) {
	if it := x.owed[pr]; it != nil {
		delete(x.owed, pr)
		x.remove(it)
	}
}

// indexGranted notes a lease in the index. Upkeep is out of line: see Pool.drop.
//
//go:noinline
func (p *Pool) indexGranted(slot uint32, r *record) {
	if p.victimIndex.granted(slot, r); p.victimIndex.aged() {
		p.victimIndex = nil
	}
}

// indexEnded notes the end of a lease in the index.
//
//go:noinline
func (p *Pool) indexEnded(slot uint32, r *record) {
	if p.victimIndex.ended(slot, r); p.victimIndex.aged() {
		p.victimIndex = nil
	}
}

// aged counts a lease that began or ended. It reports whether the index is to be
// dropped: it was not needed for as long as making it takes.
func (x *preemptible) aged() bool {
	x.unused++
	return x.unused > 2*x.pool.leases+len(x.machines)+sweepMin || len(x.tenants) > 2*len(x.pool.byUser)+sweepMin
}

package pool

import (
	"runtime"
	"weak"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/resources"
)

// granter makes and ends leases in the books, and ends the waits that they were for.
type granter struct {
	core
	placement placement
	search    victimSearch
	promises  promiseBook
	reserving reservations
	graces    graces
}

// place makes the leases of the waiter that was found.
func (gt *granter) place() {
	w := gt.placement.found.w
	if w == w.tenant.first {
		w.tenant.served = gt.at
	}
	if err := w.expired(); err != nil {
		w.err = err
		w.tenant.gaveUp(err)
		gt.serve(w)
		return
	}
	if w.many() != nil {
		gt.grantAll(w)
	} else {
		w.lease = gt.grant(w.tenant, &w.need, gt.placement.found.node, gt.placement.found.level)
	}
	if w.tenant.bounded {
		w.spend()
	}
	gt.serve(w)
}

// grantAll makes the leases of a waiter with several needs.
func (gt *granter) grantAll(w *waiter) {
	g := w.many()
	g.leases = make([]Lease, len(g.needs))
	for i, node := range g.nodes {
		g.leases[i] = gt.grant(w.tenant, &g.needs[i], int(node), gt.placement.level(w, node))
	}
}

// grant makes a lease on a machine with room. Called with mu held.
func (gt *granter) grant(t *Tenant, need *resources.Vector, node int, level locality.Level) Lease {
	c := &gt.core
	lt := &c.leases
	var slot uint32
	if n := len(lt.vacant); n > 0 {
		slot, lt.vacant = lt.vacant[n-1], lt.vacant[:n-1]
	} else {
		slot = uint32(len(lt.records))
		lt.records = append(lt.records, record{})
	}
	r := &lt.records[slot]
	lt.grants++
	r.gen++
	r.node, r.level, r.tenant, r.grant, r.at = uint32(node), level, t, lt.grants, c.at
	r.run.Need = *need
	_ = c.tenants.fair.Start(t.user, &r.run, c.at) // refuses no need that a machine holds
	c.books.allocate(node, need)
	if c.lend != nil {
		c.lend.took(t, r)
	}
	lt.held++
	t.leases++
	if c.replicas != nil {
		c.replicas.note(t)
	}
	t.granted++
	if int(level) >= len(t.byLevel) {
		t.widen(level)
	}
	t.byLevel[level]++
	if gt.search.index != nil {
		gt.search.granted(slot, r)
	}
	if c.events.Active() {
		lt.tellOf(observe.Granted, r)
	}
	l := Lease{pool: lt.pool, slot: slot, gen: r.gen}
	if lt.onLeak != nil {
		l = lt.watch(l, r)
	}
	return l
}

// startPromised starts w if all that it was promised is free, in room that patience had
// reserved for another.
func (gt *granter) startPromised(w *waiter) {
	if (w == w.tenant.first || !w.tenant.set.Strict) && !w.heldBack() && gt.placement.fits(w) {
		gt.place()
	}
}

// serve ends the wait of w, which has its leases or an error.
func (gt *granter) serve(w *waiter) {
	if w.err == nil {
		w.tenant.note(gt.at - w.since)
	} else if gt.events.Active() {
		gt.tellRefused(w.tenant, &w.need, w.label(), w.err)
	}
	gt.leave(w)
	if w.task.fn != nil {
		gt.waits.ready.add(w)
		return
	}
	w.ready <- struct{}{}
}

// leave takes w out of its queue and takes back what was reserved for it. Called
// with mu held.
func (gt *granter) leave(w *waiter) {
	if gt.placement.found.w == w { // it may be used again for another request
		gt.placement.found.w = nil
	}
	gt.reserving.unreserve(w)
	if gt.lend != nil && gt.waits.waiting == 1 {
		gt.lend.unasked()
	}
	if n := w.near(); n != nil {
		if n.over = true; n.relax != nil {
			n.relax.Stop()
		}
	}
	if t := w.tenant; t.pop(w) {
		gt.tenants.await(t)
	}
}

// finish takes a lease from the books, and reports whether it was late. Called with mu
// held.
func (gt *granter) finish(slot uint32, r *record) (late bool) {
	c, t := &gt.core, r.tenant
	if c.waits.waiting > 0 || r.run.Timed() {
		c.tick() // otherwise nothing depends on the time
		if r.run.Timed() {
			gt.reserving.lasted(c.at - r.at)
		}
	}
	_ = c.tenants.fair.End(&r.run, c.at) // it was started
	t.leases--
	c.leases.held--
	if c.replicas != nil {
		c.replicas.note(t)
	}
	if !r.detached {
		gt.vacate(slot, r)
	}
	late = r.late
	if r.preempted && !late && !r.foreign {
		t.returns(&r.run.Need, -1)
		gt.graces.returned()
	}
	r.gen++
	r.tenant, r.ctx, r.preempted, r.late, r.takenFor = nil, nil, false, false, nil
	r.foreign, r.detached = false, false
	r.cleanup, r.token = runtime.Cleanup{}, weak.Pointer[token]{}
	if r.gen != 0 { // a slot that ran out of generations is not used again
		c.leases.vacant = append(c.leases.vacant, slot)
	}
	return late
}

// vacate gives the room of a lease back to its machine.
func (gt *granter) vacate(slot uint32, r *record) {
	c, node := &gt.core, int(r.node)
	c.books.release(node, &r.run.Need)
	if c.lend != nil {
		c.lend.gave(r, &r.run.Need)
	}
	if gt.search.index != nil {
		gt.search.ended(slot, r)
	}
	c.books.epoch, c.books.freed = c.books.epoch+1, locality.Node(node)
	m := &c.books.machines[node]
	if m.owing > 0 {
		gt.promises.allot(node, r.takenFor)
	}
	if w := m.keeper; w != nil && r.grant <= w.kept.made {
		gt.reserving.aged(w, node, &r.run.Need)
	}
}

// widen makes room for counts of a level.
//
//go:noinline
func (t *Tenant) widen(level locality.Level) {
	t.byLevel = append(t.byLevel, make([]uint64, int(level)+1-len(t.byLevel))...)
}

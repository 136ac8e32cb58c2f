package pool

import (
	"cmp"
	"slices"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/resources"
)

// absorb brings the books up to date with machines of the cell that have changed.
func (cm *committer) absorb(changed []locality.Node) {
	grown := false
	for _, node := range changed {
		was, fleet := cm.learn(node)
		m := &cm.books.machines[node]
		had := m.block
		cm.adopt(node)
		if !resources.Fits(&m.held, &m.block) {
			cm.fitLeases(node)
		}
		grown = grown || had != m.block
		if m.lent.marked || m.draining {
			cm.lend.mark(node)
		}
		if fleet {
			cm.retotal(was)
		}
	}
	if grown && cm.waits.waiting > 0 {
		cm.books.epoch += 2
		cm.next()
	}
	for _, node := range changed {
		cm.lend.review(int(node)) // a block may be ready for which no request waits any more
	}
}

// yield hides from leases what reservations of other schedulers lack on machines, and has it
// go back to the cell.
func (cm *committer) yield(asked map[locality.Node]resources.Vector) {
	l, grown := cm.lend, false
	set := func(node locality.Node) {
		m, now := &cm.books.machines[node], asked[node]
		if m.asked == now {
			return
		}
		grown = grown || !resources.Fits(&m.asked, &now)
		m.asked = now
		if cm.books.settle(int(node)); l.surplus(m) {
			l.mark(node)
		}
	}
	for node := range cm.yields {
		set(node)
	}
	for node := range asked {
		set(node)
	}
	cm.yields = asked
	if grown && cm.waits.waiting > 0 {
		cm.books.epoch += 2
		cm.next()
	}
}

// learn notes a machine that is new, has changed or has gone. It returns the
// arguments of retotal; fleet is false if the totals stay.
func (cm *committer) learn(node locality.Node) (was *resources.Vector, fleet bool) {
	b, from := &cm.books, cm.blocks.At(node)
	for int(node) >= len(b.machines) {
		b.machines = append(b.machines, machine{gone: true, lent: new(lent)})
		b.most.grow(len(b.machines))
	}
	m := &b.machines[node]
	capacity := from.Capacity
	if held := cm.lend.scheduler.Limits().Held; held != nil {
		capacity = capacity.Min(*held) // no lease can be larger
	}
	old := m.capacity
	if m.lent.id != from.ID {
		if !m.gone {
			cm.lose(node)
		}
		m.lent.id, fleet = from.ID, true
		if from.ID != 0 {
			m.gone, m.name = false, from.Name
			b.byName[m.name] = node
		}
	}
	if m.capacity != capacity {
		rest, _ := b.total.Sub(m.capacity)
		b.most.cover(&capacity)
		b.total, m.capacity, fleet = rest.Add(capacity), capacity, true
	}
	if m.draining != from.Draining {
		m.draining, fleet = from.Draining, true
		cm.reserving.unreserveOn(node)
	}
	switch {
	case !fleet || old == capacity:
		return nil, fleet
	case resources.Fits(&old, &capacity):
		return &resources.Vector{}, true
	}
	return &old, true
}

// lose detaches the leases of a machine that has left the cell: their room is gone.
func (cm *committer) lose(node locality.Node) {
	m := &cm.books.machines[node]
	cm.reserving.unreserveOn(node)
	cm.search.index = nil
	for slot, r := range cm.leases.on(int(node)) {
		cm.books.release(int(node), &r.run.Need)
		r.detached = true
		if !r.preempted {
			cm.taken(slot, r, cm.at, endedLost)
		}
	}
	delete(cm.books.byName, m.name)
	cm.books.total, _ = cm.books.total.Sub(m.capacity)
	*m = machine{gone: true, lent: &lent{dirty: m.lent.dirty}}
	cm.books.settle(int(node))
}

// taken preempts a lease where a claim in the cell has taken the room, or the machine is gone.
func (cm *committer) taken(slot uint32, r *record, until time.Duration, as *innerContext) {
	r.preempted, r.foreign, r.overdue = true, true, until
	r.tenant.preempted++
	if cm.events.Active() {
		cm.leases.tellOf(observe.Preempted, r)
	}
	cm.graces.revoked = append(cm.graces.revoked, cm.leases.of(slot))
	if r.ctx != nil {
		r.ctx.end(as)
	}
}

// fitLeases preempts leases of a machine until the others fit in the rest of its blocks.
// The order of preemption:
//
//  1. the lowest precedence;
//  2. of these, the tenant with the largest share for its weight;
//  3. of one tenant, the youngest.
//
// A lease stays if its end would not help the others to fit.
func (cm *committer) fitLeases(node locality.Node) {
	m := &cm.books.machines[node]
	over := sumOf(&m.held, &m.block, -1)
	var slots []uint32
	for slot, r := range cm.leases.on(int(node)) {
		switch {
		case !r.preempted:
			slots = append(slots, slot)
		case !r.late:
			over = sumOf(&over, &r.run.Need, -1) // its room will come
		}
	}
	if !exceeds(&over) {
		return
	}
	for k := range over {
		over[k] = max(0, over[k])
	}
	until := cm.at
	if at := cm.blocks.At(node).Until; !at.IsZero() {
		until = at.Sub(cm.base)
	}
	shares := make(map[*Tenant]float64)
	for _, slot := range slots {
		t := cm.leases.records[slot].tenant
		if _, known := shares[t]; !known {
			shares[t] = cm.tenants.shareOf(t)
		}
	}
	slices.SortFunc(slots, func(a, b uint32) int {
		x, y := &cm.leases.records[a], &cm.leases.records[b]
		return cmp.Or(cmp.Compare(cm.lend.charges[x.charge].Precedence, cm.lend.charges[y.charge].Precedence),
			cmp.Compare(shares[y.tenant], shares[x.tenant]), cmp.Compare(y.grant, x.grant))
	})
	chosen, ok := omega.ChooseVictims(over, resources.Vector{}, func(yield func(omega.Candidate) bool) {
		for _, slot := range slots {
			if !yield(omega.Candidate{ID: int(slot), Need: cm.leases.records[slot].run.Need}) {
				return
			}
		}
	}, nil, nil)
	if !ok { // late leases have the rest
		for _, slot := range slots {
			if helps(&cm.leases.records[slot].run.Need, &over, &resources.Vector{}) {
				chosen.IDs = append(chosen.IDs, int(slot))
			}
		}
	}
	for _, slot := range chosen.IDs {
		cm.taken(uint32(slot), &cm.leases.records[slot], until, endedTaken)
	}
}

// exceeds reports whether an amount is above 0 in some kind.
func exceeds(over *resources.Vector) bool {
	for _, more := range over {
		if more > 0 {
			return true
		}
	}
	return false
}

// helps reports whether an amount has a kind that is short.
func helps(amount, need, room *resources.Vector) bool {
	for k := range need {
		if need[k] > room[k] && amount[k] > 0 {
			return true
		}
	}
	return false
}

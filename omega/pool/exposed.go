package pool

import (
	"math"

	"github.com/cellsched/cellsched/resources"
)

// exposed is the part of the index for one machine.
type exposed struct {
	bunches      []*bunch
	sums         []classSum
	own          map[*Tenant]resources.Vector // of tenants and groups with a guarantee in or below them
	coming       resources.Vector             // of leases that are preempted already
	changed      uint64
	newer, older int // machines by the time of their last change, -1 at the ends
}

// classSum is the sum of the leases that guarantees do not protect, of a group's children
// of one class.
type classSum struct {
	group *Tenant // nil for the root
	class int
	n     int
	of    resources.Vector
}

// mark notes that a machine has changed.
func (x *preemptible) mark(node int) {
	m := &x.machines[node]
	x.changes++
	m.changed = x.changes
	if x.newest == node {
		return
	}
	if m.newer >= 0 {
		x.machines[m.newer].older = m.older
	}
	if m.older >= 0 {
		x.machines[m.older].newer = m.newer
	}
	if m.newer, m.older = -1, x.newest; x.newest >= 0 {
		x.machines[x.newest].newer = node
	}
	x.newest = node
}

// count adds an item to the sums of its machine.
func (m *exposed) count(it *item) {
	for _, l := range it.rights.levels {
		if l.depth <= it.safe {
			break
		}
		if l.asked {
			s := m.sum(l.top)
			s.n++
			s.of = s.of.Add(it.need)
		}
		if l.own {
			if m.own == nil {
				m.own = make(map[*Tenant]resources.Vector)
			}
			m.own[l.top] = m.own[l.top].Add(it.need)
		}
	}
}

// uncount takes an item from the sums of its machine.
func (m *exposed) uncount(it *item) {
	for _, l := range it.rights.levels {
		if l.depth <= it.safe {
			break
		}
		if l.asked {
			s := m.sum(l.top)
			s.of, _ = s.of.Sub(it.need)
			if s.n--; s.n == 0 {
				*s = m.sums[len(m.sums)-1]
				m.sums = m.sums[:len(m.sums)-1]
			}
		}
		if l.own {
			m.own[l.top], _ = m.own[l.top].Sub(it.need)
		}
	}
}

// sum returns the sum that a tenant or group counts in.
func (m *exposed) sum(top *Tenant) *classSum {
	for i := range m.sums {
		if s := &m.sums[i]; s.group == top.parent && s.class == top.set.Priority {
			return s
		}
	}
	m.sums = append(m.sums, classSum{group: top.parent, class: top.set.Priority})
	return &m.sums[len(m.sums)-1]
}

// room returns what a machine has or will have beyond what is held, owed, and on its way to
// a reservation of another scheduler in the cell. Kinds may be below 0.
func (x *preemptible) room(node int) resources.Vector {
	room, m := x.machines[node].coming, &x.in.books.machines[node]
	for k := range room {
		room[k] += m.block[k] - m.held[k] - m.owed[k] - m.asked[k]
	}
	return room
}

// possible reports whether preemption on a machine would make room for a need that
// the guarantee of g covers. Cost: O(depth * classes).
func (x *preemptible) possible(g *Tenant, need *resources.Vector, node int) bool {
	return x.possibleWith(g, need, &resources.Vector{}, node)
}

// possibleWith is possible beside other needs on the machine.
func (x *preemptible) possibleWith(g *Tenant, need, others *resources.Vector, node int) bool {
	if m := &x.in.books.machines[node]; m.gone || m.draining {
		return false
	}
	room := x.room(node)
	room = sumOf(&room, others, -1)
	for k := range need {
		if g.guarantee[k] == 0 && need[k] > room[k] {
			return false
		}
	}
	m := &x.machines[node]
	// Add the holdings of the siblings of g and of its ancestors, without the subtree of g.
	for top := g; top != nil; top = top.parent {
		for i := range m.sums {
			if s := &m.sums[i]; s.group == top.parent && s.class <= top.set.Priority {
				room = sumOf(&room, &s.of, 1)
			}
		}
		if own, some := m.own[top]; some {
			room = sumOf(&room, &own, -1)
		}
	}
	return resources.Fits(need, &room)
}

// lowest returns a lower bound of the classes that could be preempted on a machine for
// the guarantee of g, as victims count them. It is above all classes if there is
// nothing. Cost: O(depth * classes).
func (x *preemptible) lowest(g *Tenant, node int) int64 {
	class := int64(math.MaxInt64)
	m := &x.machines[node]
	for top := g; top != nil; top = top.parent {
		for i := range m.sums {
			if s := &m.sums[i]; s.group == top.parent && s.class <= top.set.Priority {
				class = min(class, int64(s.class)-int64(top.set.Priority))
			}
		}
	}
	return class
}

// sumOf returns a plus or minus b, below 0 where that is so.
func sumOf(a, b *resources.Vector, sign int64) (sum resources.Vector) {
	for k := range sum {
		sum[k] = a[k] + sign*b[k]
	}
	return sum
}

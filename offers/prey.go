package offers

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// victim is a task that may be revoked.
type victim struct {
	task omega.Allocation
	of   *member
}

// choosePrey returns the machines on which a request can have its room, and whom
// that takes on each; nil if it cannot. Preferred are machines where nobody is
// to leave, then those whose victims are of the lowest precedence, then those
// with the fewest.
//
// No framework ends with less than it is guaranteed of any kind, all of its
// victims taken together. Offers to others make room before tasks do.
//
// Cost: O(machines + a log a) in the allocations on them.
func (m *Master) choosePrey(r *request) (nodes []*node, victims [][]victim) {
	type place struct {
		node    *node
		victims []victim
		worst   omega.Precedence
	}
	// What one machine takes from a framework can not be taken on the next one, nor
	// what other requests have begun to take.
	taken := m.doomed(nil)
	var places []place
	for _, n := range m.nodes {
		if n.barred() {
			continue
		}
		if of, ok := m.preyOn(n, r, taken); ok {
			p := place{n, of, -highest - 1}
			for _, v := range of {
				p.worst = max(p.worst, v.task.Precedence)
			}
			places = append(places, p)
		}
	}
	slices.SortStableFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.worst, b.worst), cmp.Compare(len(a.victims), len(b.victims)))
	})
	for _, p := range places {
		of, ok := m.preyOn(p.node, r, taken)
		if !ok {
			continue
		}
		for _, v := range of {
			taken[v.of] = taken[v.of].Add(v.task.Need)
		}
		if nodes, victims = append(nodes, p.node), append(victims, of); len(nodes) == r.Machines {
			return nodes, victims
		}
	}
	return nil, nil
}

// usable returns what is free on a machine, if a request may have room there. Nobody
// has to leave for whoever declines that again and again.
func (m *Master) usable(n *node, r *request) (free resources.Vector, ok bool) {
	if n.gone || !r.of.suits(n) || r.of.standsBack(n, &r.Each, m.now) || !m.cfg.Terms.Machines.Has(n.id.Node()) {
		return free, false
	}
	st, in := m.cell.State(n.id)
	return st.Free, in && st.Condition == omega.Ready
}

// preyOn returns who has to leave a machine for one part of a request: tasks of
// the lowest precedence first, of these the youngest, and none that the others
// make unnecessary. Taken is what frameworks lose elsewhere.
func (m *Master) preyOn(n *node, r *request, taken map[*member]resources.Vector) (prey []victim, ok bool) {
	free, ok := m.usable(n, r)
	if !ok {
		return nil, false
	}
	var held resources.Vector // by the master and its frameworks
	fits := func(held, free resources.Vector) bool { return r.Each.Fits(m.beside(n, &held, &free)) }
	var candidates []victim
	for _, a := range m.cell.AllocationsOn(n.id) {
		if a.Scheduler == m.cfg.Name {
			if slices.ContainsFunc(n.offers, func(o *offer) bool { return o.claim == a.ID && (o.to == r.of || o.assured()) }) {
				held = held.Add(a.Need)
			} else {
				free = free.Add(a.Need)
			}
		} else if f := m.ownerOf(&a); f != nil {
			held = held.Add(a.Need)
			// Of those who have not registered nobody knows what they are guaranteed.
			// What has the highest precedence nothing preempts.
			if f != r.of && f.sched != nil && a.Precedence < highest {
				candidates = append(candidates, victim{a, f})
			}
		}
	}
	slices.SortStableFunc(candidates, func(a, b victim) int {
		return cmp.Or(cmp.Compare(a.task.Precedence, b.task.Precedence), cmp.Compare(b.task.ID.Seq(), a.task.ID.Seq()))
	})
	lost := make(map[*member]resources.Vector)
	for _, v := range candidates {
		if fits(held, free) {
			break
		}
		after := lost[v.of].Add(taken[v.of]).Add(v.task.Need)
		if v.of.spares(after, v.task.Need) {
			lost[v.of] = lost[v.of].Add(v.task.Need)
			prey, free = append(prey, v), free.Add(v.task.Need)
			held, _ = held.Sub(v.task.Need)
		}
	}
	if !fits(held, free) {
		return nil, false
	}
	for i := len(prey) - 1; i >= 0; i-- {
		spared := prey[i].task.Need
		if without, _ := free.Sub(spared); fits(held.Add(spared), without) {
			held, free, prey = held.Add(spared), without, slices.Delete(prey, i, i+1)
		}
	}
	return prey, true
}

// ownerOf returns the framework whose task an allocation is, or nil.
func (m *Master) ownerOf(a *omega.Allocation) *member {
	name, of := strings.CutPrefix(a.Scheduler, m.cfg.Name+"/")
	if !of {
		return nil
	}
	return m.members[name]
}

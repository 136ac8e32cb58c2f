package offers

import (
	"slices"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// chooseVictims returns the machines on which a request can have its room, with the
// victims on each. It returns nil if there are too few. Machines are preferred by
// [omega.Victims.Compare], with the precedence of a task as its rank.
//
// No framework ends with less than it is guaranteed of any kind, all of its victims taken
// together. Offers to others make room before tasks do.
//
// Cost: O(machines + a log a) in the allocations on them.
func (gu *guaranteeBook) chooseVictims(r *request) (nodes []*node, victims [][]victim) {
	type place struct {
		node *node
		omega.Victims
	}
	// Room that one machine takes from a framework cannot be taken on the next one. The
	// same holds for room that other requests have begun to take.
	taken := gu.losses(nil)
	var places []place
	for _, n := range gu.floor.nodes {
		if n.revoking() {
			continue
		}
		if _, v, ok := gu.victimsOn(n, r, taken); ok {
			places = append(places, place{n, v})
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return a.Compare(&b.Victims) })
	for _, p := range places {
		of, _, ok := gu.victimsOn(p.node, r, taken)
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

// victimsOn returns the victims on a machine for one part of a request. Taken is the
// amount that frameworks lose elsewhere.
func (gu *guaranteeBook) victimsOn(n *node, r *request, taken map[*member]resources.Vector) (victims []victim, chosen omega.Victims, ok bool) {
	free, ok := gu.usable(n, r)
	if !ok {
		return nil, chosen, false
	}
	var held resources.Vector // by the master and its frameworks
	var tasks []victim
	var candidates []omega.Candidate
	for _, a := range gu.cell.AllocationsOn(n.id) {
		if a.Scheduler == gu.cfg.Name {
			if slices.ContainsFunc(n.offers, func(o *offer) bool { return o.claim == a.ID && (o.to == r.of || o.assured()) }) || gu.accepts.inFlight(a.ID) {
				held = held.Add(a.Need)
			} else {
				free = free.Add(a.Need)
			}
		} else if f := gu.registry.ownerOf(&a); f != nil {
			held = held.Add(a.Need)
			// A framework that has not re-registered has no known guarantee, so its tasks are not
			// victims. Nothing preempts a task of the highest precedence.
			if f != r.of && f.sched != nil && a.Precedence < highest {
				candidates = append(candidates, omega.Candidate{
					ID: len(tasks), Need: a.Need, Rank: int(a.Precedence), Started: int64(a.ID.Seq()), Loss: omega.LossOf(a.Need, gu.total),
				})
				tasks = append(tasks, victim{a, f})
			}
		}
	}
	// A task that leaves is free room, and is held no more: it adds as much to either bound
	// of beside. Where too much is held already, as much more has to leave.
	need := r.Each
	for k, q := range gu.floor.over(n, &held) {
		if need[k] > 0 {
			need[k] += q
		}
	}
	chosen, ok = omega.ChooseVictims(need, gu.floor.beside(n, &held, &free), omega.InOrder(candidates),
		func(c omega.Candidate) bool {
			of := tasks[c.ID].of
			after := taken[of].Add(c.Need)
			if !of.keepsGuarantee(after, c.Need) {
				return false
			}
			taken[of] = after
			return true
		},
		func(c omega.Candidate) { taken[tasks[c.ID].of], _ = taken[tasks[c.ID].of].Sub(c.Need) })
	for _, i := range chosen.IDs {
		victims = append(victims, tasks[i])
	}
	return victims, chosen, ok
}

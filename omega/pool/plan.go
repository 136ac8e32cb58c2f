package pool

import (
	"iter"
	"math"
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// planner looks for leases to preempt for a request that a guarantee covers, in two
// steps:
//
//  1. leases of groups with limits that the request would exceed, on any machine;
//  2. leases on the machine where a need is placed.
//
// [omega.ChooseVictims] chooses among them. Room that is owed to a request of others, and
// not safe, is taken first.
//
// A lease is safe if it is within the guarantee of its own tenant or group, the oldest
// leases first, or of a higher class. Bound: on one machine, where all classes are the
// same, there is room for the need.
//
//  1. The need, and the room held or owed within owed, are at most its guarantee.
//  2. The safe leases of others are at most theirs.
//  3. Guarantees add up to no more than the machine has.
type planner struct {
	in       *victimSearch
	x        *preemptible
	w        *waiter
	owed     *Tenant  // the guarantee that covers the request
	over     []excess // of limits, by groups on one path, the innermost first
	within   []victim // in these groups, in order
	shares   map[*Tenant]float64
	possible bool // some machine would have room if all went that may
}

// plan is a choice of victims, and where needs are placed.
type plan struct {
	victims []victim
	over    []excess                 // of limits, without the victims
	change  map[int]resources.Vector // of the room, by node: freed by victims, taken by needs
	placed  map[int]resources.Vector // needs, by node
}

// victims returns, by need, the machines where the least has to be preempted for w, and
// the victims there and for limits. The guarantee of owed covers the need of w. It
// returns nil if no machines will do.
//
// Several needs are placed one by one, the largest first: each where the least has to be
// preempted. If that does not do for all, each is placed on the first machine that would
// do.
//
// Cost: O(needs * machines), and [omega.ChooseVictims] on machines with room for a need.
// For each of these machines also O(L log L), for L leases that are not safe in a group
// with a limit.
func (vs *victimSearch) victims(w *waiter, owed *Tenant, look *look, over []excess) (nodes []locality.Node, of []victim) {
	s := &planner{in: vs, x: vs.index, w: w, owed: owed, over: over, shares: make(map[*Tenant]float64)}
	if many := w.many(); many != nil && many.hopeless == owed && many.looked == s.x.changes {
		return nil, nil
	}
	if over != nil && !s.keepsLimits(look) {
		return nil, nil
	}
	for _, first := range []bool{false, true} {
		if nodes, of = s.plan(first); nodes != nil || w.many() == nil {
			break
		}
	}
	switch many := w.many(); {
	case nodes != nil:
	case many != nil:
		many.hopeless, many.looked = owed, s.x.changes
	case !s.possible || over == nil && !w.choosy(): // otherwise other requests may be on other machines
		look.fail(&w.need)
	}
	return nodes, of
}

// keepsLimits notes the leases by which limits can be kept, and reports whether they are
// enough.
func (s *planner) keepsLimits(look *look) bool {
	root := s.over[len(s.over)-1].of // it has the other groups in it
	r := s.x.roots[root.outermost()]
	if look.at != r.changes {
		look.limited, look.at = look.limited[:0], r.changes
	}
	if fitsAnyIn(look.limited, &s.w.need) {
		return false
	}
	left := plan{over: slices.Clone(s.over), change: make(map[int]resources.Vector)}
	for it := range s.x.itemsBelow(root) {
		if v, some := s.x.victimOf(it, s.owed, s.w, s.shares); some {
			s.within = append(s.within, v)
			left.move(&v, 1)
		}
	}
	if !left.kept() {
		if len(look.limited) < failedMost && !s.w.choosy() {
			look.limited = append(look.limited, s.w.need)
		}
		return false
	}
	slices.SortFunc(s.within, func(a, b victim) int {
		if a.before(&b) {
			return -1
		}
		return 1 // no two are alike
	})
	return true
}

// plan places all needs: each on the first machine that would do, or on the best one.
func (s *planner) plan(first bool) (nodes []locality.Node, of []victim) {
	needs := []resources.Vector{s.w.need}
	if many := s.w.many(); many != nil {
		needs = many.needs
	}
	var pl *plan // of nil: one need's machine decides by which leases limits are kept
	if len(needs) > 1 || s.over == nil {
		pl = s.begin(-1)
	}
	nodes = make([]locality.Node, len(needs))
	order := []int{0} // mostly there is one need
	if len(needs) > 1 {
		order = s.in.books.largestFirst(needs)
	}
	for _, i := range order {
		var node int
		if pl, node = s.place(pl, &needs[i], first); node < 0 {
			return nil, nil
		}
		nodes[i] = locality.Node(node)
	}
	pl.spare(s.x)
	return nodes, pl.victims
}

// begin returns a plan that keeps the limits, if possible by leases on one machine; node is
// -1 for any.
func (s *planner) begin(node int) *plan {
	pl := new(plan)
	if s.over == nil && s.w.many() == nil {
		return pl // the first need is the last one
	}
	pl.over, pl.change, pl.placed = slices.Clone(s.over), make(map[int]resources.Vector), make(map[int]resources.Vector)
	within := s.within
	if node >= 0 && len(within) > 0 {
		within = slices.Clone(within)
		slices.SortStableFunc(within, func(a, b victim) int {
			switch {
			case (a.node == node) == (b.node == node):
				return 0
			case a.node == node:
				return -1
			}
			return 1
		})
	}
	for i := range pl.over { // victims in an inner group count for the groups around it
		e := &pl.over[i]
		chosen, _ := choose(&e.by, resources.Vector{}, slices.Values(within), func(v *victim) bool { return v.of.isIn(e.of) && !pl.has(v) })
		pl.addVictims(chosen)
	}
	return pl
}

// place adds one need to a plan and returns its machine, or -1. A plan of nil begins anew
// for each machine.
func (s *planner) place(base *plan, need *resources.Vector, first bool) (best *plan, node int) {
	var least omega.Victims
	var of []victim
	node = -1
	for at := range s.x.machines {
		pl := base
		if node >= 0 && base != nil && s.in.books.machines[at].owing == 0 && s.noBetter(base.room(s.x, at), need, at, &least) {
			continue
		}
		var beside resources.Vector
		if base != nil {
			beside = base.placed[at]
		}
		if !s.x.possibleWith(s.owed, need, &beside, at) {
			continue
		}
		if s.possible = true; !s.in.placement.acceptableNode(s.w, locality.Node(at)) {
			continue
		}
		if base == nil {
			near := at
			if room := s.x.room(at); resources.Fits(need, &room) {
				near = -1 // leases there serve the limits alone
			}
			pl = s.begin(near)
		}
		chosen, ok := choose(need, pl.room(s.x, at), s.x.merge(at, s.owed, s.w, s.shares).all(), func(v *victim) bool { return !pl.has(v) })
		if !ok {
			continue
		}
		all := chosen
		if base == nil {
			pl.put(at, need, chosen)
			pl.spare(s.x)
			all = pl.victims
		}
		cost := s.in.costOf(all)
		cost.Level = s.in.placement.level(s.w, locality.Node(at))
		if node < 0 || cost.Compare(&least) < 0 {
			best, node, least, of = pl, at, cost, chosen
		}
		if first || least.Loss == 0 {
			break // no machine has less to preempt
		}
	}
	if base != nil && node >= 0 {
		base.put(node, need, of)
	}
	return best, node
}

// noBetter reports whether a machine costs no less than a choice: what a need has not in
// the room there is preempted, or more, but for what is promised.
func (s *planner) noBetter(room resources.Vector, need *resources.Vector, node int, least *omega.Victims) bool {
	short := sumOf(need, &room, -1)
	for k := range short {
		short[k] = max(0, short[k])
	}
	share, _, _ := short.DominantShare(s.in.books.total)
	bound := omega.Victims{Loss: lossOf(share)}
	if s.in.tenants.ranked && share > 0 {
		bound.Rank = int(max(s.x.lowest(s.owed, node), math.MinInt+1))
	}
	if s.w.near() != nil {
		bound.Level = s.in.placement.level(s.w, locality.Node(node))
	}
	return share > 0 && bound.Compare(least) >= 0
}

// choose returns what to preempt among victims in an order so that need fits in some room,
// and false if all would not do. Allowed tells which of them may go.
func choose(need *resources.Vector, room resources.Vector, from iter.Seq[victim], allowed func(*victim) bool) (of []victim, ok bool) {
	short := *need
	for k := range room { // more is held than the machine has, so that has to go besides
		short[k], room[k] = short[k]-min(room[k], 0), max(room[k], 0)
	}
	var seen []victim
	chosen, ok := omega.ChooseVictims(short, room, func(yield func(omega.Candidate) bool) {
		for v := range from {
			at := len(seen)
			seen = append(seen, v)
			if v := &seen[at]; !allowed(v) {
				seen = seen[:at]
			} else if !yield(omega.Candidate{ID: at, Need: *v.need, Rank: v.rank()}) {
				return
			}
		}
	}, nil, nil)
	for _, id := range chosen.IDs {
		of = append(of, seen[id])
	}
	return of, ok
}

// room returns the room of a machine beside the needs placed there.
func (pl *plan) room(x *preemptible, node int) resources.Vector {
	room := x.room(node)
	if change, some := pl.change[node]; some {
		room = sumOf(&room, &change, 1)
	}
	return room
}

// has reports whether a victim is chosen already.
func (pl *plan) has(v *victim) bool {
	return len(pl.victims) > 0 && slices.ContainsFunc(pl.victims, v.is)
}

// addVictims adds victims.
func (pl *plan) addVictims(of []victim) {
	for i := range of {
		pl.move(&of[i], 1)
	}
	pl.victims = append(pl.victims, of...)
}

// move gives the room of a victim to the plan, or takes it back.
func (pl *plan) move(v *victim, sign int64) {
	if pl.change == nil {
		return
	}
	change := pl.change[v.node]
	pl.change[v.node] = sumOf(&change, v.need, sign)
	for i := range pl.over {
		if e := &pl.over[i]; v.of.isIn(e.of) {
			e.by = sumOf(&e.by, v.need, -sign)
		}
	}
}

// put places a need, with victims.
func (pl *plan) put(node int, need *resources.Vector, of []victim) {
	if pl.addVictims(of); pl.change == nil {
		return
	}
	change := pl.change[node]
	pl.change[node], pl.placed[node] = sumOf(&change, need, -1), pl.placed[node].Add(*need)
}

// spare leaves out victims without which all is kept: one that was chosen for a limit may
// do for it together with others that are chosen for the room.
func (pl *plan) spare(x *preemptible) {
	for i := len(pl.victims) - 1; i >= 0 && pl.change != nil; i-- {
		v := pl.victims[i]
		pl.move(&v, -1)
		room := pl.room(x, v.node)
		placed := pl.placed[v.node] != (resources.Vector{})
		if pl.kept() && (!placed || resources.Fits(&resources.Vector{}, &room)) {
			pl.victims = slices.Delete(pl.victims, i, i+1)
		} else {
			pl.move(&v, 1)
		}
	}
}

// kept reports whether no limit is exceeded.
func (pl *plan) kept() bool {
	return !slices.ContainsFunc(pl.over, func(e excess) bool { return exceeds(&e.by) })
}

// itemsBelow walks what is held and promised in a group, in the order in which
// guarantees protect it.
func (x *preemptible) itemsBelow(g *Tenant) iter.Seq[*item] {
	r := x.roots[g.outermost()]
	return func(yield func(*item) bool) {
		for _, list := range [...]*itemList{&r.leases, &r.owed} {
			for it := list.first; it != nil; it = it.next {
				if it.tenant.isIn(g) && !yield(it) {
					return
				}
			}
		}
	}
}

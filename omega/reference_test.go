package omega_test

import (
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// refCell is the obviously right cell: lists that are gone through from end to
// end, sums that are added up whenever they are asked for.
type refCell struct {
	nodes  []*refNode // by node number
	owners []*refOwner
	held   map[omega.AllocationID]*refAllocation // granted and not yet released
}

// refNode is the machine that has a node number, or had it last.
type refNode struct {
	omega.Machine
	id       omega.MachineID
	cond     omega.Condition
	seen     refSeen
	squeezed bool // its capacity was cut below what may be running
}

// refSeen is a snapshot's knowledge of a machine: how often it has changed.
type refSeen struct {
	id              omega.MachineID
	changes, grants uint64
}

// refOwner is a scheduler and those that it replaced.
type refOwner struct {
	name   string
	limits omega.Limits
	mask   omega.Mask
	jobs   int
	s      *omega.Scheduler
	deputy bool            // of the observer
	seen   map[int]refSeen // by node number
	marks  []omega.Mark    // all there ever were
}

type refAllocation struct {
	omega.Allocation
	owner, grantee *refOwner
	live           bool
	until          time.Time        // of what was preempted
	runs           resources.Vector // what runs before it is ready: what it was resized from
}

// refUnit is a release, or claims that are granted together.
type refUnit struct {
	release omega.AllocationID
	from    []omega.AllocationID
	resize  bool
	claims  []omega.Claim                           // none of a release
	left    map[omega.AllocationID]resources.Vector // of its victims

	runs resources.Vector // what runs of that which is resized

	item    int // of the first
	err     error
	changed bool             // refused as coarse detection does
	free    resources.Vector // that a conflict found
	node    int
	reached bool // it got to its machine
}

func (u *refUnit) isRelease() bool { return len(u.claims) == 0 }

// refTxn is a transaction, and what the reference says that becomes of it.
type refTxn struct {
	gang   bool
	detect omega.Detection
	now    time.Time
	grace  time.Duration
	units  []*refUnit

	// What is no more, and what there is new, if all goes well so far.
	dead  map[omega.AllocationID]bool
	added map[int]resources.Vector
}

func (r *refCell) allocations(which func(*refAllocation) bool) []*refAllocation {
	var all []*refAllocation
	for _, a := range r.held {
		if which(a) {
			all = append(all, a)
		}
	}
	return all
}

func sum(all []*refAllocation) (v resources.Vector) {
	for _, a := range all {
		v = v.Add(a.Need)
	}
	return v
}

// live returns what is live on a node.
func (r *refCell) live(node int) []*refAllocation {
	return r.allocations(func(a *refAllocation) bool { return a.live && int(a.ID.Node()) == node })
}

func (r *refCell) usage(o *refOwner) resources.Vector {
	return sum(r.allocations(func(a *refAllocation) bool { return a.live && a.owner == o }))
}

// free returns what is free on a node, or would be after what tx has done so
// far.
func (r *refCell) free(node int, tx *refTxn) resources.Vector {
	n := r.nodes[node]
	if n.cond == omega.Removed {
		return resources.Vector{}
	}
	used := sum(r.live(node))
	if tx != nil {
		used = used.Add(tx.added[node])
		for id := range tx.dead {
			if a := r.held[id]; a.live && int(id.Node()) == node {
				used, _ = used.Sub(a.Need)
			}
		}
	}
	free, _ := n.Capacity.Sub(used)
	return free
}

// apply does what judge has found. IDs are those that the cell gave.
func (r *refCell) apply(o *refOwner, tx *refTxn, id func(item int) omega.AllocationID) {
	moved, granted := map[int]bool{}, map[int]bool{}
	for _, u := range tx.units {
		if u.isRelease() && u.err == nil {
			if r.held[u.release].live {
				moved[u.node] = true
			}
			delete(r.held, u.release)
		}
	}
	for _, u := range tx.units {
		if u.isRelease() || u.err != nil {
			continue
		}
		moved[u.node], granted[u.node] = true, true
		made := refAllocation{owner: o, live: true}
		for _, f := range u.from {
			if u.resize {
				made.grantee, made.runs = r.held[f].grantee, u.runs
			}
			delete(r.held, f)
		}
		for i, c := range u.claims {
			a := made
			a.Allocation = omega.Allocation{
				ID: id(u.item + i), Machine: c.Machine, Account: c.Account, Scheduler: o.name,
				Precedence: c.Precedence, Need: c.Need,
			}
			for _, other := range r.owners {
				if c.Grantee == other.s {
					a.grantee = other
				}
			}
			for k := range a.runs {
				a.runs[k] = min(a.runs[k], c.Need[k])
			}
			r.held[a.ID] = &a
			for _, v := range c.Victims {
				victim := r.held[v]
				if victim.Need == u.left[v] {
					continue
				}
				victim.live, victim.until = false, tx.now.Add(tx.grace)
				victim.owner.marks = append(victim.owner.marks, omega.Mark{
					Allocation: victim.Allocation, Fate: omega.Preempted, By: o.name, Until: victim.until,
				})
				r.split(victim, u.left[v])
			}
		}
	}
	for node := range moved {
		r.nodes[node].seen.changes++
		if granted[node] {
			r.nodes[node].seen.grants++
		}
	}
	for _, u := range tx.units {
		if _, ok := o.seen[u.node]; ok && u.reached {
			o.seen[u.node] = r.nodes[u.node].seen
		}
	}
}

// split makes an allocation of what is left of a victim, of which the rest leaves.
func (r *refCell) split(victim *refAllocation, left resources.Vector) {
	if left == (resources.Vector{}) {
		return
	}
	rest := *victim
	rest.live, rest.until, rest.Need, rest.runs = true, time.Time{}, left, victim.runs.Min(left)
	victim.Need, _ = victim.Need.Sub(left)
	victim.runs, _ = victim.runs.Sub(rest.runs)
	for m := range victim.owner.s.Marked() {
		if m.Allocation.ID == victim.ID {
			rest.ID = m.Rest
		}
	}
	victim.owner.marks[len(victim.owner.marks)-1].Rest = rest.ID
	r.held[rest.ID] = &rest
}

// runsAt returns what may be running of an allocation at a time, if it is
// ready at another, unless that is zero.
func (a *refAllocation) runsAt(now, ready time.Time) resources.Vector {
	switch {
	case !a.live && !now.Before(a.until):
		return resources.Vector{}
	case now.Before(ready):
		return a.runs
	}
	return a.Need
}

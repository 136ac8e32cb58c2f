package omega_test

import (
	"maps"
	"slices"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// judge decides the outcome of each unit.
func (r *refCell) judge(o *refOwner, tx *refTxn) {
	tx.dead, tx.added = map[omega.AllocationID]bool{}, map[int]resources.Vector{}
	prepared := r.prepare(o, tx)
	granted := prepared
	for _, u := range tx.units { // releases come first
		if u.reached && u.isRelease() && r.held[u.release].live {
			tx.dead[u.release] = true
		}
	}
	for _, u := range tx.units {
		if u.reached && !u.isRelease() && (prepared || !tx.gang) {
			r.grant(o, tx, u)
			granted = granted && u.err == nil
		}
	}
	if !tx.gang || granted {
		return
	}
	// Some claim of the gang was refused: all are, and only releases are left.
	tx.dead, tx.added = map[omega.AllocationID]bool{}, map[int]resources.Vector{}
	for _, u := range tx.units {
		switch {
		case u.err != nil:
		case !u.isRelease():
			u.err = omega.ErrGang
		case r.held[u.release].live:
			tx.dead[u.release] = true
		}
	}
}

// prepare judges what does not depend on a machine.
func (r *refCell) prepare(o *refOwner, tx *refTxn) (ready bool) {
	credit, claimed := map[int]resources.Vector{}, map[int]bool{} // by node
	taken, charged, ready := map[omega.AllocationID]bool{}, r.usage(o), true
	for _, u := range tx.units {
		if !u.isRelease() {
			continue
		}
		a := r.held[u.release]
		switch {
		case a == nil:
			u.err = omega.ErrReleased
		case a.owner != o:
			u.err = omega.ErrNotOwner
		case taken[u.release]:
			u.err = omega.ErrReleased
		default:
			taken[u.release], u.reached, u.node = true, true, int(u.release.Node())
			if a.live {
				credit[u.node] = credit[u.node].Add(a.Need)
			}
		}
	}
	for _, u := range tx.units {
		if !u.isRelease() {
			u.node = int(u.claims[0].Machine.Node())
			if u.resize { // of an allocation that may be long gone: its machine counts as claimed all the same
				u.node = int(u.from[0].Node())
			}
			claimed[u.node] = true
		}
	}
	for _, u := range tx.units {
		if u.isRelease() {
			continue
		}
		if u.err = r.takes(o, u); u.err == nil {
			var before resources.Vector // released before the claims of u are granted, or with them
			for node, released := range credit {
				if tx.gang || node == u.node || !claimed[node] {
					before = before.Add(released)
				}
			}
			u.err = r.permits(o, u, charged, before)
		}
		if u.err != nil {
			ready = false
			continue
		}
		u.reached = true
		for _, c := range u.claims {
			charged = charged.Add(c.Need)
		}
	}
	return ready
}

// takes returns the reason why a scheduler may not exchange the allocations of a unit,
// or nil.
func (r *refCell) takes(o *refOwner, u *refUnit) error {
	for _, id := range u.from {
		a := r.held[id]
		switch {
		case a == nil:
			return omega.ErrReleased
		case a.owner != o && (u.resize || a.grantee != o):
			return omega.ErrNotOwner
		}
	}
	return nil
}

// permits returns an error if the scheduler's limits do not allow a unit after what the
// units before it were charged. What the transaction releases by then, and what is
// exchanged for the unit, does not count.
func (r *refCell) permits(o *refOwner, u *refUnit, charged, credit resources.Vector) error {
	for _, c := range u.claims {
		if c.Precedence < o.limits.Lowest || c.Precedence > o.limits.Highest || !o.mask.Has(c.Machine.Node()) {
			return omega.ErrForbidden
		}
	}
	if o.limits.Jobs > 0 && o.jobs == 0 {
		return omega.ErrLimit
	}
	if o.limits.Held == nil {
		return nil
	}
	for _, c := range u.claims {
		charged = charged.Add(c.Need)
	}
	for _, id := range u.from {
		if a := r.held[id]; a.owner == o && a.live {
			credit = credit.Add(a.Need)
		}
	}
	for k := range charged {
		if charged[k]-credit[k] > o.limits.Held[k] {
			return omega.ErrLimit
		}
	}
	return nil
}

// grant judges a unit on its machine, and does it if it may be done.
func (r *refCell) grant(o *refOwner, tx *refTxn, u *refUnit) {
	n := r.nodes[u.node]
	seen, ok := o.seen[u.node]
	coarse := tx.detect != omega.Fine && !ok || tx.detect == omega.Coarse && seen != n.seen ||
		tx.detect == omega.CoarseClaims && (seen.id != n.id || seen.grants != n.seen.grants)
	switch {
	case n.id != u.claims[0].Machine || n.cond == omega.Removed:
		u.err = omega.ErrRemoved
	case n.cond == omega.Draining && len(u.from) == 0:
		u.err = omega.ErrDraining
	case coarse:
		u.err, u.changed, u.free = omega.ErrConflict, true, r.free(u.node, tx)
	}
	if u.err != nil {
		return
	}
	before := maps.Clone(tx.dead)
	for _, id := range u.from {
		if !r.held[id].live || tx.dead[id] {
			u.err = omega.ErrReleased
			break
		}
		tx.dead[id] = true
	}
	var need resources.Vector
	for _, c := range u.claims {
		need = need.Add(c.Need)
		for _, id := range c.Victims {
			v := r.held[id]
			switch {
			case u.err != nil:
			case v == nil || !v.live || tx.dead[id]:
				u.err = omega.ErrReleased
			case v.Precedence >= c.Precedence:
				u.err = omega.ErrPrecedence
			default:
				tx.dead[id] = true
			}
		}
	}
	if u.free = r.free(u.node, tx); u.err == nil && !need.Fits(u.free) {
		u.err = omega.ErrConflict
	}
	if u.err != nil {
		tx.dead = before
		return
	}
	tx.added[u.node] = tx.added[u.node].Add(need)
	u.left = map[omega.AllocationID]resources.Vector{}
	spare, _ := u.free.Sub(need)
	for _, c := range slices.Backward(u.claims) {
		for _, id := range slices.Backward(c.Victims) {
			v := r.held[id]
			left := v.Need.Min(spare)
			if !v.owner.limits.Divisible || left == (resources.Vector{}) {
				continue
			}
			u.left[id] = left
			spare, _ = spare.Sub(left)
			if left == v.Need {
				delete(tx.dead, id) // it stays as it is
			} else {
				tx.added[u.node] = tx.added[u.node].Add(left)
			}
		}
	}
}

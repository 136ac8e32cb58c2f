package pool

import (
	"math"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// victimSearch finds what to preempt for a guarantee, by an index that it makes when it is
// needed.
type victimSearch struct {
	*core
	placement *placement

	made  uint64       // indexes so far
	index *preemptible // of the leases that a guarantee may preempt, nil while it is not needed
}

// use returns the index, made on first use.
func (vs *victimSearch) use(promised []*waiter) *preemptible {
	if vs.index == nil {
		vs.index = newPreemptible(vs, promised)
	}
	vs.index.unused = 0
	return vs.index
}

// indexGranted notes a lease in the index. Upkeep is out of line: see Pool.drop.
//
//go:noinline
func (vs *victimSearch) granted(slot uint32, r *record) {
	if vs.index.granted(slot, r); vs.index.aged() {
		vs.index = nil
	}
}

// indexEnded notes the end of a lease in the index.
//
//go:noinline
func (vs *victimSearch) ended(slot uint32, r *record) {
	if vs.index.ended(slot, r); vs.index.aged() {
		vs.index = nil
	}
}

// costOf returns what it costs to preempt some victims: the highest class of a lease, and
// the sum of their shares of the pool.
func (vs *victimSearch) costOf(list []victim) omega.Victims {
	cost, sum := omega.Victims{Rank: math.MinInt}, 0.0
	for i := range list {
		if cost.Rank = max(cost.Rank, list[i].rank()); list[i].owed == nil {
			share, _, _ := list[i].need.DominantShare(vs.books.total)
			sum += share
		}
	}
	cost.Loss = lossOf(sum)
	return cost
}

// victim is a lease that may be preempted, or room that is owed to a request.
type victim struct {
	slot  uint32  // of the lease
	owed  *waiter // that the room is owed to, nil of a lease
	of    *Tenant
	node  int
	need  *resources.Vector
	class int64   // where the paths part, less that of the guarantee: 0 or below
	share float64 // of its tenant, by weight
	order uint64  // in which it was granted or owed
}

// victimOf returns an item as a victim of w, a request within the guarantee of owed. It
// reports false for one that is safe, or that the caller of w holds: its context, with
// which w waits, would end. It notes the share of its tenant.
func (x *preemptible) victimOf(it *item, owed *Tenant, w *waiter, shares map[*Tenant]float64) (v victim, some bool) {
	if it.tenant.isIn(owed) || it.owed == nil && w.holds(it.slot) {
		return v, false
	}
	top, side := it.tenant.branchAgainst(owed), owed
	for side.parent != top.parent {
		side = side.parent
	}
	if it.safe >= top.depth() || top.set.Priority > side.set.Priority {
		return v, false
	}
	v = victim{slot: it.slot, owed: it.owed, of: it.tenant, node: it.node, need: &it.need, order: it.order}
	v.class = int64(top.set.Priority) - int64(side.set.Priority)
	if it.owed == nil {
		share, known := shares[it.tenant]
		if !known {
			share = x.in.tenants.shareOf(it.tenant)
			shares[it.tenant] = share
		}
		v.share = share
	}
	return v, true
}

// before reports whether v is preempted before another one. What is not held yet
// goes first, then the lowest class, then leases of the tenant with the most for its
// weight, then the latest promise or grant.
func (v *victim) before(o *victim) bool {
	switch {
	case (v.owed == nil) != (o.owed == nil):
		return v.owed != nil
	case v.class != o.class:
		return v.class < o.class
	case v.share != o.share:
		return v.share > o.share
	}
	return v.order > o.order
}

// rank returns the rank of a victim: see [omega.Candidate].
func (v *victim) rank() int {
	if v.owed != nil {
		return math.MinInt
	}
	return int(max(v.class, math.MinInt+1))
}

// lossOf returns a share as a loss. Sums that differ by rounding alone are the same.
func lossOf(share float64) int64 { return int64(math.Round(share * (1 << 40))) }

// is reports whether two victims are the same lease or promise.
func (v *victim) is(o victim) bool { return v.slot == o.slot && v.owed == o.owed && v.order == o.order }

// branchAgainst returns t, or the group that it is in, that has its parent in common with
// another tenant or one of its groups.
func (t *Tenant) branchAgainst(other *Tenant) *Tenant {
	for t.parent != nil && !other.isIn(t.parent) {
		t = t.parent
	}
	return t
}

// isIn reports whether t is the given tenant or in that group.
func (t *Tenant) isIn(g *Tenant) bool {
	for ; t != nil; t = t.parent {
		if t == g {
			return true
		}
	}
	return false
}

// outermost returns the group below the root that t is in, or t itself.
func (t *Tenant) outermost() *Tenant {
	for t.parent != nil {
		t = t.parent
	}
	return t
}

// depth returns 1 for a tenant or group below the root, one more for each group
// above it.
func (t *Tenant) depth() (n int) {
	for ; t != nil; t = t.parent {
		n++
	}
	return n
}

package pools

import (
	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// Demand sets the amount that the job's next task takes, in base units, and makes
// the job a candidate for [Tree.Pick]. It stays a candidate with this demand until
// the next call of Demand or [Tree.Park]; a pick or a charge changes nothing.
//
// Cost: O(d log n), or O(1) without an allocation for the same demand as before.
// Errors: [ErrNode]; [resources.ErrQuantity]; [drf.ErrEmpty] for a demand of
// nothing, which would be picked for ever.
func (t *Tree[K]) Demand(job Node, next resources.Vector) error {
	if t.none() {
		return self.Absent("tree")
	}
	if t.job(job) == nil {
		return badNode("demand of", "a job")
	}
	if next == (resources.Vector{}) || !resources.Fits(&next, &limitless) {
		return self.Some("demand of "+t.name(job.slot), next)
	}
	if *t.core.demand(job.slot) != next {
		t.core.park(job.slot)
		t.core.want(job.slot, &next)
	}
	return nil
}

// Backlog sets the amount that the job wants beyond its usage, in base units, for
// [Tree.Standings] alone. The job's next task counts instead where that is more, or
// if Backlog was not called. Cost: O(1). Errors: [ErrNode],
// [resources.ErrQuantity].
func (t *Tree[K]) Backlog(job Node, more resources.Vector) error {
	if t.none() {
		return self.Absent("tree")
	}
	if t.job(job) == nil {
		return badNode("backlog of", "a job")
	}
	if err := more.Check(); err != nil {
		return self.Refuse(err, "backlog of %s", t.name(job.slot))
	}
	t.core.settings[job.slot].backlog = more
	return nil
}

// Park removes the job's demand, if any. The job keeps its usage, and is not
// picked. Cost: O(d log n). Errors: [ErrNode].
func (t *Tree[K]) Park(job Node) error {
	if t.none() {
		return self.Absent("tree")
	}
	if t.job(job) == nil {
		return badNode("park", "a job")
	}
	t.core.park(job.slot)
	return nil
}

// Charge adds v, in base units, to the job's usage. It need not equal the job's
// demand, nor fit below any max share or in the total.
//
// Cost: O(d log n); it allocates only if more members take part than ever before.
// Errors: [ErrNode] for a job that is not there; [resources.ErrQuantity] for an
// invalid component, or usage of the whole tree beyond 2^62.
func (t *Tree[K]) Charge(job Node, v resources.Vector) error {
	if t.none() {
		return self.Absent("tree")
	}
	if t.job(job) == nil {
		return badNode("charge", "a job")
	}
	if err := v.Check(); err != nil {
		return self.Refuse(err, "charge %s", t.name(job.slot))
	}
	if root := &t.core.nodes[0]; exceeds(&root.usage, &v) {
		return self.Refuse(resources.ErrQuantity, "charge %s %v where all hold %v, want at most 2^62 in all", t.name(job.slot), v, root.usage)
	}
	t.core.charge(job.slot, &v, false)
	return nil
}

// Credit subtracts v, in base units, from the job's usage.
//
// Cost: as [Tree.Charge]. Errors: [ErrNode] for a job that is not there;
// [resources.ErrQuantity] for an invalid component; [drf.ErrHeld] for more than the
// job holds of a kind.
func (t *Tree[K]) Credit(job Node, v resources.Vector) error {
	if t.none() {
		return self.Absent("tree")
	}
	n := t.job(job)
	if n == nil {
		return badNode("credit", "a job")
	}
	if err := v.Check(); err != nil {
		return self.Refuse(err, "credit %s", t.name(job.slot))
	}
	if !resources.Fits(&v, &n.usage) {
		return self.Refuse(drf.ErrHeld, "credit %s %v, but it holds %v", t.name(job.slot), v, n.usage)
	}
	t.core.charge(job.slot, &v, true)
	return nil
}

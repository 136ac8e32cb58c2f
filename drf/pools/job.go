package pools

import (
	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// Demand says what the job's next task takes, in base units, and makes it a
// candidate for [Tree.Pick]. It stays one, with this demand, until the next
// call of Demand or [Tree.Park]; being picked or charged changes nothing.
//
// Cost: O(d log n); O(1) where the demand is the same as before, which is also
// where it does not allocate. A demand of nothing, which would be picked for
// ever, is a [drf.ErrEmpty]. Other errors: [ErrNode], [resources.ErrQuantity].
func (t *Tree[K]) Demand(job Node, next resources.Vector) error {
	if t.none() {
		return absent("tree")
	}
	if t.job(job) == nil {
		return badNode("demand of", "a job", job)
	}
	if next == (resources.Vector{}) || !resources.Fits(&next, &limitless) {
		return checkSome("demand of "+t.name(job.slot), next)
	}
	if *t.core.demand(job.slot) != next {
		t.core.park(job.slot)
		t.core.want(job.slot, &next)
	}
	return nil
}

// Backlog says what the job wants beyond what it holds, in base units, for
// [Tree.Standings] alone: its next task, where that is more or where Backlog was
// not called. Cost: O(1). Errors: [ErrNode], [resources.ErrQuantity].
func (t *Tree[K]) Backlog(job Node, more resources.Vector) error {
	if t.none() {
		return absent("tree")
	}
	if t.job(job) == nil {
		return badNode("backlog of", "a job", job)
	}
	if err := more.Check(); err != nil {
		return refuse(err, "backlog of %s", t.name(job.slot))
	}
	t.core.settings[job.slot].backlog = more
	return nil
}

// Park takes back the job's demand, if any. The job keeps what it holds, and is
// not picked. Cost: O(d log n). Errors: [ErrNode].
func (t *Tree[K]) Park(job Node) error {
	if t.none() {
		return absent("tree")
	}
	if t.job(job) == nil {
		return badNode("park", "a job", job)
	}
	t.core.park(job.slot)
	return nil
}

// Charge adds v, in base units, to what the job holds. It need not be what the
// job demanded, nor fit below any max share or in the total.
//
// Cost: O(d log n); it allocates only where more take part than ever before. An
// invalid component of v, or one that takes the whole tree beyond 2^62, is a
// [resources.ErrQuantity]; a job that is not there an [ErrNode].
func (t *Tree[K]) Charge(job Node, v resources.Vector) error {
	if t.none() {
		return absent("tree")
	}
	if t.job(job) == nil {
		return badNode("charge", "a job", job)
	}
	if err := v.Check(); err != nil {
		return refuse(err, "charge %s", t.name(job.slot))
	}
	if root := &t.core.nodes[0]; exceeds(&root.usage, &v) {
		return refuse(resources.ErrQuantity, "charge %s %v where all hold %v, want at most 2^62 in all", t.name(job.slot), v, root.usage)
	}
	t.core.hold(job.slot, &v, false)
	return nil
}

// Credit takes v, in base units, from what the job holds.
//
// Cost: that of [Tree.Charge]. More than the job holds of any kind is a
// [drf.ErrHeld], an invalid component a [resources.ErrQuantity], a job that is
// not there an [ErrNode].
func (t *Tree[K]) Credit(job Node, v resources.Vector) error {
	if t.none() {
		return absent("tree")
	}
	n := t.job(job)
	if n == nil {
		return badNode("credit", "a job", job)
	}
	if err := v.Check(); err != nil {
		return refuse(err, "credit %s", t.name(job.slot))
	}
	if !resources.Fits(&v, &n.usage) {
		return refuse(drf.ErrHeld, "credit %s %v, but it holds %v", t.name(job.slot), v, n.usage)
	}
	t.core.hold(job.slot, &v, true)
	return nil
}

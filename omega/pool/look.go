package pool

import (
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// look is the knowledge about the requests within one guarantee.
type look struct {
	of      *Tenant
	changes uint64             // up to which failed is right
	failed  []resources.Vector // needs for which no machine would do
	least   resources.Vector   // each request that waits needs at least this
	any     bool               // some may wait
	known   bool               // least and any are right

	limited []resources.Vector // needs that limits keep out, whatever is preempted,
	at      uint64             // up to this change of its root
}

// failedMost bounds the needs that a look keeps.
const failedMost = 64

// arrived notes a request that waits.
func (x *preemptible) arrived(w *waiter) {
	for _, lk := range x.rightsOf(w.tenant).looks {
		if lk.any {
			lower(&lk.least, w.least())
		} else {
			lk.any, lk.least = true, *w.least()
		}
	}
}

// refresh forgets the needs that were hopeless and are not since a machine has
// changed. Cost: O(machines that have changed * needs).
func (x *preemptible) refresh(lk *look) {
	for node := x.newest; node >= 0 && x.machines[node].changed > lk.changes && len(lk.failed) > 0; node = x.machines[node].older {
		lk.failed = slices.DeleteFunc(lk.failed, func(need resources.Vector) bool { return x.possible(lk.of, &need, node) })
	}
	lk.changes = x.changes
}

// hopeless reports whether a need is known to find no room, whatever is preempted.
func (lk *look) hopeless(need *resources.Vector) bool {
	for i := range lk.failed {
		if resources.Fits(&lk.failed[i], need) {
			return true
		}
	}
	return false
}

// hopelessFor is hopeless for the need of w, or one of several.
func (lk *look) hopelessFor(w *waiter) bool {
	if w.many() == nil {
		return lk.hopeless(&w.need)
	}
	for i := range w.many().needs {
		if lk.hopeless(&w.many().needs[i]) {
			return true
		}
	}
	return false
}

// fail notes a need for which no machine would do.
func (lk *look) fail(need *resources.Vector) {
	lk.failed = slices.DeleteFunc(lk.failed, func(other resources.Vector) bool { return resources.Fits(need, &other) })
	if len(lk.failed) < failedMost {
		lk.failed = append(lk.failed, *need)
	}
}

// nothing reports whether no request within the guarantee can find room.
func (x *preemptible) nothing(lk *look) bool {
	if !lk.known {
		return false
	}
	if !lk.any || lk.hopeless(&lk.least) {
		return true
	}
	for node := range x.machines {
		if x.possible(lk.of, &lk.least, node) {
			return false
		}
	}
	lk.fail(&lk.least)
	return true
}

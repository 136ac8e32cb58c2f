package omega

import (
	"slices"
	"time"
)

// pendingMark is a mark that stood when a cut began.
type pendingMark struct {
	id      AllocationID
	machine MachineID
	rec     *record
	by      *owner // the preemptor, nil where it was lost
	until   time.Time
}

func (m *pendingMark) fate() Fate {
	if m.by != nil {
		return Preempted
	}
	return Lost
}

// acknowledged is a release, begun while a cut was being taken, of an allocation
// that was not live any more. It is immutable.
type acknowledged struct {
	id    AllocationID
	rec   *record
	epoch uint32
	next  *acknowledged
}

// acknowledge is to be called before the slot of an allocation is emptied that
// was released and did not die by that.
//
// Such a release changes no word, so no fence tells whether it is in a cut. A
// release that reads the epoch of a cut is listed here, and is not in that cut;
// a release that reads an earlier epoch may be.
func (c *Cell) acknowledge(id AllocationID) {
	epoch := c.epoch.Load()
	if epoch&1 == 0 {
		return
	}
	rec, _ := c.record(id)
	a := &acknowledged{id: id, rec: &rec, epoch: epoch}
	for {
		a.next = c.acknowledged.Load()
		if c.acknowledged.CompareAndSwap(a.next, a) {
			return // it fails only if another release was listed
		}
	}
}

// settle decides, once for the cut, which preempted and lost allocations were
// not yet released, and lists their marks. It is called before the epoch of the
// cut ends and after the last fence.
//
// Allocations are looked at before the list of releases is read, and a release
// is listed before its slot is emptied. So a release of the cut's own epoch is
// found in the list if its slot is found empty.
func (k *Cut) settle() {
	c := k.cell
	k.unreleased = make(map[AllocationID]*record)
	look := func(id AllocationID) {
		if _, known := k.unreleased[id]; !known {
			k.unreleased[id] = nil
			if rec, ok := c.record(id); ok {
				k.unreleased[id] = &rec
			}
		}
	}
	heads := make([]*markNode, len(k.schedulers))
	for i, p := range k.schedulers {
		heads[i] = p.owner.marks.Load()
		for n := heads[i]; n != nil; n = n.next {
			look(n.Allocation.ID)
		}
	}
	for l := range k.leavers() {
		look(l.id)
	}
	epoch := c.epoch.Load()
	for a := c.acknowledged.Swap(nil); a != nil; a = a.next {
		if _, asked := k.unreleased[a.id]; asked && a.epoch == epoch {
			k.unreleased[a.id] = a.rec
		}
	}
	for id, rec := range k.unreleased {
		if rec == nil {
			delete(k.unreleased, id)
		}
	}
	k.list(heads)
}

// list lists the marks that stood, given the newest of each scheduler's: by scheduler,
// each's in the order in which it was told. Last come the marks that a preemptor has
// not come to leave yet.
func (k *Cut) list(heads []*markNode) {
	names := make(map[string]*owner, len(k.schedulers))
	for _, p := range k.schedulers {
		names[p.owner.name] = p.owner
	}
	seen := make(map[AllocationID]bool)
	for _, head := range heads {
		first := len(k.marks)
		for n := head; n != nil; n = n.next {
			id := n.Allocation.ID
			rec := k.unreleased[id]
			if rec == nil || int(id.node()) >= len(k.machines) {
				continue
			}
			if val := k.machines[id.node()].val; id.seq > val.seq || val.live.has(id.slot()) {
				continue // was granted, or taken from its owner, after the cut
			}
			seen[id] = true
			k.marks = append(k.marks, pendingMark{id, n.Allocation.Machine, rec, names[n.By], n.Until})
		}
		slices.Reverse(k.marks[first:])
	}
	for l, m := range k.leavers() {
		if rec := k.unreleased[l.id]; rec != nil && !seen[l.id] {
			seen[l.id] = true
			k.marks = append(k.marks, pendingMark{l.id, m, rec, l.by, l.until})
		}
	}
}

// leavers walks the preempted allocations that the machines of the cut, or live
// allocations there, waited for, with their machines. It may yield one several
// times.
func (k *Cut) leavers() func(yield func(*leaver, MachineID) bool) {
	return func(yield func(*leaver, MachineID) bool) {
		for i := range k.machines {
			m := &k.machines[i]
			if !m.val.leaving().each(m.val.spec.id, yield) {
				return
			}
			for _, rec := range m.held.far { // a packed allocation waits for none
				if rec.ext != nil && !rec.ext.after.each(m.val.spec.id, yield) {
					return
				}
			}
		}
	}
}

// each yields the elements of l, which may be nil, with m.
func (l *leaving) each(m MachineID, yield func(*leaver, MachineID) bool) bool {
	if l == nil {
		return true
	}
	for i := range *l {
		if !yield(&(*l)[i], m) {
			return false
		}
	}
	return true
}

// remaining returns those of l that were not yet released when the cut began, nil
// where there are none.
func (k *Cut) remaining(l *leaving) *leaving {
	if l == nil {
		return nil
	}
	return l.without(func(one *leaver) bool { return k.unreleased[one.id] == nil })
}

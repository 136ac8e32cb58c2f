package omega

import (
	"slices"
	"time"
)

// standing is a mark that stood when a cut began.
type standing struct {
	id      AllocationID
	machine MachineID
	rec     *record
	by      *owner // who preempted it, nil where it was lost
	until   time.Time
}

func (m *standing) fate() Fate {
	if m.by != nil {
		return Preempted
	}
	return Lost
}

// marks returns the marks that stood when the cut began and have not been
// acknowledged since, by scheduler, each's in the order in which it was told;
// last come those that a preemptor has not come to leave yet.
func (k *Cut) marks() []standing {
	c := k.cell
	var all []standing
	seen := make(map[AllocationID]bool)
	names := make(map[string]*owner, len(k.schedulers))
	for _, p := range k.schedulers {
		names[p.owner.name] = p.owner
	}
	for _, p := range k.schedulers {
		for _, m := range slices.Backward(p.owner.prune(c, p.owner.marks.Load())) {
			id := m.Allocation.ID
			if int(id.node()) >= len(k.machines) {
				continue
			}
			val := k.machines[id.node()].val
			if id.seq > val.seq || val.live.has(id.slot()) {
				continue // was granted, or taken from its owner, after the cut
			}
			if rec := c.slots.at(id.node()).get(id); rec != nil {
				seen[id] = true
				all = append(all, standing{id, m.Allocation.Machine, rec, names[m.By], m.Until})
			}
		}
	}
	for _, m := range k.machines {
		if m.val.leaving == nil {
			continue
		}
		for _, l := range *m.val.leaving {
			if rec := c.record(l.id); rec != nil && !seen[l.id] {
				all = append(all, standing{l.id, m.val.spec.id, rec, l.by, l.until})
			}
		}
	}
	return all
}

package omega

import (
	"math"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// machines reads the machines, with their allocations.
func (d *restorer) machines() {
	n := uint32(d.Below(maxIndex+1, "number of machines"))
	for node := range n {
		first := d.machine(node)
		if d.Err != nil {
			return
		}
		d.cell.extend(node, first)
		v := &first.V // which no other goroutine knows yet
		if v.cond == Removed && reusable(v.spec) {
			d.spares++
		}
		if v.cond != Removed {
			d.cell.machines.Store(v.spec.Name, v.spec.id)
			total, err := d.cell.admit(v.spec.Name, resources.Vector{}, v.spec.Capacity)
			if err != nil {
				d.Damaged("%s", fault.Bare(err))
			}
			d.cell.total = total
		}
		d.allocations(node, v)
		v.rare = makeRare(nil, d.leaving(node, v.seq), nil)
		if v.cond == Removed && (v.live.count() > 0 || v.rare != nil) {
			d.Damaged("machine %q was removed and has allocations, want none", v.spec.Name)
		}
	}
	for t, used := range d.used {
		t.add(used)
	}
}

// machine reads a machine without its allocations.
func (d *restorer) machine(node uint32) *object {
	sp := &spec{Machine: Machine{Name: d.Text()}}
	sp.id = d.cell.machine(node, uint32(d.Below(lastGeneration+1, "generation")))
	sp.Capacity = d.Vector("capacity")
	sp.Attributes = d.attributes()
	first := &object{V: version{
		spec: sp,
		cond: Condition(d.Below(uint64(Removed)+1, "condition")),
		seq:  d.Below(vacant, "number of changes"),
	}}
	v := &first.V
	v.claims = uint32(d.Below(math.MaxUint32+1, "number of changes that granted something"))
	d.name("machine", sp.Name)
	_, taken := d.cell.machines.Load(sp.Name)
	switch {
	case taken && v.cond != Removed:
		d.Damaged("machine %q a second time, want other names", sp.Name)
	case v.seq == 0:
		d.Damaged("machine %q has never changed, want that it was added", sp.Name)
	}
	if v.cond != Removed {
		v.setFree(&sp.Capacity)
	}
	return first
}

func (d *restorer) attributes() (attributes map[string]string) {
	last := ""
	for i := range d.Uvarint() {
		key, value := d.Text(), d.Text()
		if i > 0 && key <= last {
			d.Damaged("attribute %q after %q, want rising order", key, last)
		}
		d.name("attribute", key)
		if value != "" {
			d.name("value of an attribute", value)
		}
		if d.Err != nil {
			return nil
		}
		if attributes == nil {
			attributes = make(map[string]string)
		}
		attributes[key], last = value, key
	}
	return attributes
}

// allocations reads the live allocations of a machine and gives them their
// slots.
func (d *restorer) allocations(node uint32, v *version) {
	var live []uint32
	next := uint32(0)
	for n := d.Below(maxAllocations+1, "number of allocations"); n > 0; n-- {
		slot, seq := d.slot(next), d.age(v.seq)
		rec := d.record(node, v.seq)
		if d.Err != nil {
			return
		}
		if !v.fits(&rec.need) {
			d.Damaged("machine %q: allocation of %s, want at most %s, which is left",
				v.spec.Name, d.named.Format(rec.need), d.named.Format(v.free()))
			return
		}
		v.subRoom(&rec.need)
		add(rec.used, &rec.need)
		d.hold(node, slot, seq, rec)
		live, next = append(live, slot), slot+1
	}
	v.live.add(live)
}

// spare reads in which order the numbers of removed machines are given out
// again.
func (d *restorer) spare() {
	nodes := d.cell.nodes.Load()
	seen := make(Mask, (nodes+63)/64)
	for n := d.Uvarint(); n > 0 && d.Err == nil; n-- {
		node := uint32(d.Below(uint64(nodes), "number of a removed machine"))
		if d.Err != nil {
			return
		}
		if v := load(d.cell.words.at(node)); seen.Has(locality.Node(node)) || v.cond != Removed || !reusable(v.spec) {
			d.Damaged("number %d is to be given out again, want numbers of removed machines, each once", node)
			return
		}
		seen[node/64] |= 1 << (node % 64)
		d.cell.spare = append(d.cell.spare, node)
	}
	if len(d.cell.spare) != d.spares {
		d.Damaged("%d numbers of removed machines, want %d", len(d.cell.spare), d.spares)
	}
}

// marks reads the allocations that were preempted or lost and not yet released.
func (d *restorer) marks() {
	nodes := d.cell.nodes.Load()
	for n := d.Uvarint(); n > 0 && d.Err == nil; n-- {
		node := uint32(d.Below(uint64(nodes), "machine of a mark"))
		if d.Err != nil {
			return
		}
		d.mark(node, load(d.cell.words.at(node)))
	}
}

func (d *restorer) mark(node uint32, v *version) {
	current := v.spec.id.generation()
	generation := uint32(d.Below(uint64(current)+1, "generation"))
	slot, seq := d.slot(0), d.age(v.seq)
	rec := d.record(node, v.seq)
	m := Mark{Fate: Lost}
	if by := d.owner("preemptor"); by != nil {
		m.Fate, m.By, m.Until = Preempted, by.name, d.time()
	}
	if m.Fate == Lost && generation == current && v.cond != Removed {
		d.Damaged("allocation lost with machine %q, want a removed one", v.spec.Name)
	}
	if d.Err != nil {
		return
	}
	if at := d.cell.table(node).at(slot); at != nil && at.meta().Load() != 0 {
		d.Damaged("machine %q: slot %d is both in use and marked, or marked twice", v.spec.Name, slot)
		return
	}
	d.hold(node, slot, seq, rec)
	m.Allocation = d.cell.allocation(&rec.record, d.cell.machine(node, generation), slot, seq)
	rec.tally.owner.push(d.cell, m)
}

package offers

import (
	"math/bits"
	"slices"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// suits reports whether a framework can use a machine at all, by its registration.
func (f *member) suits(n *node) bool {
	return f.reg.Machines.Has(n.id.Node()) &&
		f.meets.Has(n.id.Node()) &&
		(f.reg.Labels == nil || f.labelled(n))
}

func (f *member) labelled(n *node) bool {
	for key, values := range f.reg.Labels { // all of them, in whatever order
		has, ok := n.labels[key]
		if !ok || len(values) > 0 && !slices.Contains(values, has) {
			return false
		}
	}
	return true
}

// matchAll notes which machines suit a framework that has just registered: a nil mask
// is all. Cost: O(machines) for one that has filters.
func (fl *floor) matchAll(f *member) {
	fl.forgetUses(f)
	f.fits, f.meets = nil, nil
	r := &f.reg
	if r.Constraints != nil {
		f.meets = r.Constraints.Words(omega.Mask{})
	}
	if r.Machines != nil || r.Labels != nil || r.Constraints != nil || r.Minimum != (resources.Vector{}) {
		f.fits = make(omega.Mask, (len(fl.nodes)+63)/64)
		for _, n := range fl.nodes {
			f.matchMachine(n)
		}
	}
	fl.index(f)
}

// matchMachine notes whether a machine could be offered to f if it were empty, whatever the
// constraints are now.
func (f *member) matchMachine(n *node) {
	w, bit := int(n.number/64), uint64(1)<<(n.number%64)
	for len(f.fits) <= w {
		f.fits = append(f.fits, 0)
	}
	if !n.gone && f.reg.Machines.Has(n.id.Node()) && resources.Fits(&f.reg.Minimum, &n.capacity) && f.labelled(n) {
		f.fits[w] |= bit
	} else {
		f.fits[w] &^= bit
	}
}

// rematchMachine follows a machine that came, went, or is not what it was. Cost:
// O(frameworks).
func (fl *floor) rematchMachine(n *node) {
	fl.queue.stale = true
	for _, f := range fl.registry.order {
		if f.fits != nil {
			f.matchMachine(n)
		}
	}
}

// applyConstraints notes which machines meet the constraints of frameworks now, and for
// which frameworks there is any. A framework without a machine does not stand in line.
// Machines that have come to meet constraints, and have room that no framework wanted,
// are looked at again.
//
// All other checks go by the masks that are noted here. Otherwise a machine that is
// passed over just before it changes would be forgotten.
func (fl *floor) applyConstraints() {
	others := false
	for _, f := range fl.registry.order {
		if f.fits == nil || f.meets == nil && !fl.queue.stale {
			continue
		}
		if f.meets != nil {
			fl.updateMeets(f)
		}
		was := f.noMachines
		fl.index(f)
		others = others || f.noMachines != was
	}
	switch {
	case others:
		fl.queue.reshare()
	case fl.queue.stale:
		fl.queue.rescale()
	}
}

// updateMeets is applyConstraints for the constraints of one framework.
func (fl *floor) updateMeets(f *member) {
	was := f.meets
	f.meets = f.reg.Constraints.Words(fl.words)
	fl.words = was[:0] // for the next one
	for w, fresh := range f.meets {
		if w < len(was) {
			fresh &^= was[w]
		}
		for ; fresh != 0; fresh &= fresh - 1 {
			if n := w*64 + bits.TrailingZeros64(fresh); n < len(fl.nodes) && fl.nodes[n].idle != 0 {
				fl.markDirty(fl.nodes[n])
			}
		}
	}
}

package offers

import (
	"math/bits"

	"github.com/cellsched/cellsched/omega"
)

// suits tells whether a framework can use a machine at all, by what it has said in
// advance.
func (f *member) suits(n *node) bool {
	return f.reg.Machines.Has(n.id.Node()) &&
		f.meets.Has(n.id.Node()) &&
		(f.reg.Labels == nil || f.labelled(n))
}

// constrain notes which machines meet the constraints of a framework that has
// just registered: a nil mask is all.
func (f *member) constrain() {
	f.meets = nil
	if f.reg.Constraints != nil {
		f.meets = f.reg.Constraints.Words(omega.Mask{})
	}
}

// reconsider notes which machines meet the constraints of frameworks now. Those
// that have come to do so, and have room that nobody wanted, are looked at again.
// Others go by what is noted here, too: else a machine that is passed over just
// before it changes would be forgotten.
func (m *Master) reconsider() {
	for _, f := range m.order {
		if f.meets == nil {
			continue
		}
		was := f.meets
		f.meets = f.reg.Constraints.Words(m.words)
		m.words = was[:0] // for the next one
		for w, fresh := range f.meets {
			if w < len(was) {
				fresh &^= was[w]
			}
			for ; fresh != 0; fresh &= fresh - 1 {
				if n := w*64 + bits.TrailingZeros64(fresh); n < len(m.nodes) && m.nodes[n].idle != 0 {
					m.soil(m.nodes[n])
				}
			}
		}
	}
}

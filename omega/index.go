package omega

import (
	"math"

	"github.com/cellsched/cellsched/resources"
)

// index spares a search the machines on which it cannot succeed. Machines are
// in blocks by node number, and each block has a bound: no machine in it has
// more free of any kind. The search passes by a block whose bound the need does
// not fit.
//
// Bounds are raised at once and lowered late: when room is taken the block is
// loose, and a search that has gone through a loose block in vain makes its
// bound exact. So taking costs next to nothing, and a block is gone through in
// vain at most once for each time that something in it changed, or when its
// machines have what is needed, but not the same machine.
type index struct {
	bound  []resources.Vector // by block
	loose  []bool
	cursor int // node at which the next search begins
}

const indexBlock = 32

func (x *index) grow(machines int) {
	for len(x.bound)*indexBlock < machines {
		x.bound, x.loose = append(x.bound, closed), append(x.loose, false)
	}
}

// raise is to be called once a machine's free room has become free.
func (x *index) raise(node int, free *resources.Vector) {
	b := node / indexBlock
	bound := &x.bound[b]
	for k := range free {
		bound[k] = max(bound[k], free[k])
	}
	x.loose[b] = true // it may have had more before
}

// lower is to be called once a machine has less free room than it had.
func (x *index) lower(node int) { x.loose[node/indexBlock] = true }

// tighten makes the bound of a block exact.
func (x *index) tighten(b int, free []resources.Vector) {
	bound := closed
	for i := range free {
		for k, q := range free[i] {
			bound[k] = max(bound[k], q)
		}
	}
	x.bound[b], x.loose[b] = bound, false
}

// sparse is a need without the kinds that it does not ask for. It asks for at
// least one, so that it does not fit on a machine that is closed. A negative
// need fits nowhere.
type sparse struct {
	n    int
	kind [resources.MaxKinds]uint8
	need [resources.MaxKinds]int64
}

func makeSparse(need *resources.Vector) (s sparse) {
	for k, q := range need {
		if q < 0 {
			q = math.MaxInt64
		}
		if q != 0 {
			s.kind[s.n], s.need[s.n] = uint8(k), q
			s.n++
		}
	}
	s.n = max(s.n, 1) // none: zero of kind 0
	return s
}

func (s *sparse) fits(free *resources.Vector) bool {
	for i := range s.n {
		if s.need[i] > free[s.kind[i]&7] {
			return false
		}
	}
	return true
}

// next returns the first machine from node on, and before end, that need fits
// on, or end if there is none.
func (x *index) next(free []resources.Vector, need *sparse, node, end int) int {
	for node < end {
		b := node / indexBlock
		last := min((b+1)*indexBlock, end)
		if !need.fits(&x.bound[b]) {
			node = last
			continue
		}
		whole := node == b*indexBlock
		for ; node < last; node++ {
			if need.fits(&free[node]) {
				return node
			}
		}
		if whole && x.loose[b] && last == min((b+1)*indexBlock, len(free)) {
			x.tighten(b, free[b*indexBlock:last])
		}
	}
	return end
}

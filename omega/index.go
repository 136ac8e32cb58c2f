package omega

import (
	"math"
	"math/bits"

	"github.com/cellsched/cellsched/resources"
)

// index spares a search the machines on which it cannot succeed. Machines are in blocks
// by node number, and each block has a bound. A search passes by a block if the need
// exceeds its bound. No machine of the block has more free of any kind than the bound.
// Nor has it more of any two kinds together, as the smaller of their shares. Without the
// latter a block of one machine with CPU left and another with memory left would look
// good to all.
//
// Bounds are raised at once and lowered late. When room is taken the block is loose. A
// search that finds no machine in a loose block makes its bound exact. So taking costs
// next to nothing. A search goes through a block without success at most once for each
// change in it. The exception is a block that has all kinds needed, but not on the same
// machine.
type index struct {
	blocks []block
	shares shares
	cursor int    // node at which the next search by next fit begins
	turn   int    // node at which the last search by first fit began
	asides uint64 // machines looked at to move the cursor aside
	boxes  *boxes // for searches by score; nil before the first
	unlike int    // machines when boxes did not suit them
}

const golden = 0x9E3779B97F4A7C15 // 2^64 divided by the golden ratio

// begin puts the first searches of schedulers, which are numbered from 1, apart from
// each other. Multiples of the golden ratio are spread evenly, however many there
// are. The closest two of s schedulers begin 0.38 / s of the machines apart.
func (x *index) begin(num uint64, machines int) {
	x.cursor = among((num-1)*golden, machines)
	x.turn = x.cursor
}

// among maps 64 bits to a number below n, by their high bits.
func among(h uint64, n int) int {
	high, _ := bits.Mul64(h, uint64(n))
	return int(high)
}

const indexBlock = 32

type block struct {
	most  resources.Vector
	pairs pairs
	loose bool
}

// shares turns amounts into comparable numbers. It holds up to three kinds, the
// first ones with free room on a machine, and the inverse of that amount for each.
type shares struct {
	kind [3]int
	unit [3]float64 // 0 where there is no kind yet
}

// pairs is the smaller share of each two of three kinds.
type pairs [3]float64

// of returns the pairs of v. It is monotonic, rounding included: a vector that fits in
// another has no larger pairs.
func (s *shares) of(v *resources.Vector) pairs {
	a, b, c := float64(v[s.kind[0]])*s.unit[0], float64(v[s.kind[1]])*s.unit[1], float64(v[s.kind[2]])*s.unit[2]
	return pairs{min(a, b), min(a, c), min(b, c)}
}

// sum adds up the shares of v.
func (s *shares) sum(v *resources.Vector) (sum float64) {
	for i, k := range s.kind {
		sum += float64(v[k]) * s.unit[i]
	}
	return sum
}

// notice adds a kind of which there is some. The present bounds stay right: no machine
// had any of it.
func (s *shares) notice(kind int, amount int64) {
	for i := range s.unit {
		switch {
		case s.unit[i] == 0:
			s.kind[i], s.unit[i] = kind, 1/float64(amount)
			return
		case s.kind[i] == kind:
			return
		}
	}
}

// reserve allocates whole cache lines for so many machines: blocks are 96 bytes.
func (x *index) reserve(machines int) {
	blocks := (machines + indexBlock - 1) / indexBlock
	x.blocks = make([]block, 0, blocks+blocks%2)
}

func (x *index) grow(machines int) {
	for len(x.blocks)*indexBlock < machines {
		x.blocks = append(x.blocks, block{most: closed, pairs: pairs{-1, -1, -1}})
	}
}

// raise notes the new free room of a machine. It has to be called after each change,
// unless the room is known to have shrunk.
func (x *index) raise(node int, free *resources.Vector) {
	b := &x.blocks[node/indexBlock]
	if !resources.Fits(free, &b.most) { // mostly it has had more
		for k, q := range free {
			if q > b.most[k] {
				b.most[k] = q
				if q > 0 {
					x.shares.notice(k, q)
				}
			}
		}
	}
	for i, q := range x.shares.of(free) {
		if q > b.pairs[i] { // max asks for more than that, and mostly it is not
			b.pairs[i] = q
		}
	}
	b.loose = true // it may have had more before
	if x.boxes != nil {
		x.boxes.touch(node)
	}
}

// lower notes that a machine has less free room than before.
func (x *index) lower(node int) {
	x.blocks[node/indexBlock].loose = true
	if x.boxes != nil {
		x.boxes.touch(node)
	}
}

// tighten makes the bound of a block exact.
func (x *index) tighten(b *block, free []resources.Vector) {
	*b = block{most: closed, pairs: pairs{-1, -1, -1}}
	for n := range free {
		for k, q := range free[n] {
			b.most[k] = max(b.most[k], q)
		}
		for i, q := range x.shares.of(&free[n]) {
			b.pairs[i] = max(b.pairs[i], q)
		}
	}
}

// sparse is a need without the kinds that it does not ask for. A negative need
// fits nowhere.
type sparse struct {
	n    int
	kind [resources.MaxKinds]uint8
	need [resources.MaxKinds]int64
	all  resources.Vector // the same as a vector
}

func makeSparse(need *resources.Vector) (s sparse) {
	for k, q := range need {
		if q < 0 {
			q = math.MaxInt64 // which fits nowhere, either
		}
		s.all[k] = q
		if q != 0 {
			s.kind[s.n], s.need[s.n] = uint8(k), q
			s.n++
		}
	}
	return s
}

// kindMask keeps a kind as it is, and spares a check of its bounds. The constant
// below it does not compile unless the number of kinds is a power of two.
const (
	kindMask = resources.MaxKinds - 1
	_        = -uint(resources.MaxKinds & kindMask)
)

// fits reports whether the need fits in free: whether a commit would grant it. It does
// not call within first. That made a best fit a tenth slower, since most of its machines
// have the room.
func (s *sparse) fits(free *resources.Vector) bool { return resources.Fits(&s.all, free) }

// within reports whether the need is no more than bound, in the kinds that it asks for. A
// need that fits in a vector no larger than bound is within bound.
func (s *sparse) within(bound *resources.Vector) bool {
	for i := range s.n {
		if s.need[i] > bound[s.kind[i]&kindMask] {
			return false
		}
	}
	return true
}

// next returns the first machine from node on, and before end, that need fits
// on, or end if there is none.
func (x *index) next(free []resources.Vector, need *sparse, node, end int) int {
	shares := x.shares.of(&need.all)
	for node < end {
		n := node / indexBlock
		b, last := &x.blocks[n], min((n+1)*indexBlock, end)
		if shares[0] > b.pairs[0] || shares[1] > b.pairs[1] || shares[2] > b.pairs[2] || !need.within(&b.most) {
			// No machine of the block fits.
			node = last
			continue
		}
		whole := node == n*indexBlock && last == min((n+1)*indexBlock, len(free))
		for ; node < last; node++ {
			if need.fits(&free[node]) {
				return node
			}
		}
		if whole && b.loose {
			// The whole block was searched without success.
			x.tighten(b, free[n*indexBlock:last])
		}
	}
	return end
}

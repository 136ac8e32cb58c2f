package offers

import (
	"math/bits"
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// A selective framework can use no more than selectiveMachines machines, or one in
// selectiveFraction. It waits at these machines, in lists that take no more memory than
// its mask, and is not asked for others. Other frameworks stand in line.
const (
	selectiveMachines = 4
	selectiveFraction = 64
)

// index notes which machines could be offered to f if they were empty, and whether
// these are few or none. Cost: O(machines/64) for one that has filters, and where
// it is selective O(its machines) if that has changed.
func (fl *floor) index(f *member) {
	if f.fits == nil {
		f.noMachines = false
		return
	}
	count := 0
	for w := range f.fits {
		count += bits.OnesCount64(f.usesNow(w))
	}
	selective := count <= max(selectiveMachines, len(fl.nodes)/selectiveFraction)
	for len(f.uses) < len(f.fits) {
		f.uses = append(f.uses, 0)
	}
	for w := range f.fits {
		is := f.usesNow(w)
		var from, to uint64
		if f.selective {
			from = f.uses[w]
		}
		if selective {
			to = is
		}
		fl.relist(f, w, from, to)
		f.uses[w] = is
	}
	f.noMachines = count == 0
	if selective != f.selective {
		f.setClass(f.refusalClass, selective)
	}
}

// relist has f wait at other machines of word w than it does.
func (fl *floor) relist(f *member, w int, from, to uint64) {
	for other := from ^ to; other != 0; other &= other - 1 {
		n := fl.nodes[w*64+bits.TrailingZeros64(other)]
		if n.own == nil {
			n.own = new([]*member)
		}
		if to&other&-other != 0 {
			*n.own = append(*n.own, f)
		} else {
			*n.own = slices.DeleteFunc(*n.own, func(one *member) bool { return one == f })
		}
	}
}

// forgetUses has f, which does not stand in line, wait nowhere.
func (fl *floor) forgetUses(f *member) {
	if f.selective {
		for w, word := range f.uses {
			fl.relist(f, w, word, 0)
		}
	}
	f.uses, f.selective = nil, false
}

// usesNow returns word w of the machines that f can use now.
func (f *member) usesNow(w int) uint64 {
	switch {
	case f.meets == nil:
		return f.fits[w]
	case w < len(f.meets):
		return f.fits[w] & f.meets[w]
	}
	return 0
}

// waiting returns the selective frameworks that can use a machine.
func (n *node) waiting() []*member {
	if n.own == nil {
		return nil
	}
	return *n.own
}

// firstOwn returns the first, by ahead, of the selective frameworks that may be offered room
// on their machine, except one.
func (n *node) firstOwn(room *resources.Vector, but *member, ahead func(f, g *member) bool) (first *member) {
	for _, f := range n.waiting() {
		if f.queued && f != but && (first == nil || ahead(f, first)) && f.eligible(n, room) {
			first = f
		}
	}
	return first
}

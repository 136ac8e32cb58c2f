package omega_test

import (
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"
)

// call is one operation of a history. It is the claims and releases of one transaction on
// the machines that it changed in one step, or a read of one machine.
type call struct {
	claims   []part
	releases []part
	victim   part // of the only claim; number 0 for none
	read     int  // the machine that is read, or -1
	audit    bool // all is read, while nothing else happens
}

// part is one claim. Its number is unique in the whole history, from 1.
type part struct {
	number  int32
	machine int8
	need    int8
	rank    int8 // its precedence
}

// reply is the cell's answer to a call.
type reply struct {
	released bool   // all releases were done
	granted  bool   // all claims were
	gone     bool   // else the victim was not live any more
	refused  int8   // else the machine of the first that was not
	free     int8   // and the free room of that machine, or of the one that was read
	books    *books // the result of an audit
}

// books is the obviously right model of a cell: the free room, and the owner of each
// allocation. It is comparable, so that states that are alike are searched once.
type books struct {
	free    [linearMachines]int8
	entries [linearClients*(linearHeld+linearMachines) + 1]entry
	n       int
}

// entry is an allocation that is live, or was preempted and not yet released.
type entry struct {
	part
	dead bool
}

func emptyBooks() books {
	var b books
	for m := range b.free {
		b.free[m] = linearCapacity
	}
	return b
}

// find returns the place of an allocation, sorted by number.
func (b *books) find(number int32) (int, bool) {
	return slices.BinarySearchFunc(b.entries[:b.n], number, func(e entry, n int32) int { return int(e.number - n) })
}

func (b *books) add(p part) {
	i, _ := b.find(p.number)
	copy(b.entries[i+1:b.n+1], b.entries[i:b.n])
	b.entries[i] = entry{part: p}
	b.n++
	b.free[p.machine] -= p.need
}

func (b *books) remove(i int) {
	copy(b.entries[i:], b.entries[i+1:b.n])
	b.n--
	b.entries[b.n] = entry{}
}

// step reports whether a cell in state b could have answered in that way, and returns its
// state after that.
func (b books) step(c call, r reply) (bool, books) {
	if c.audit {
		return *r.books == b, b
	}
	if c.read >= 0 {
		return r.free == b.free[c.read], b
	}
	for _, p := range c.releases {
		i, ok := b.find(p.number)
		if ok != r.released {
			return false, b
		}
		if ok {
			if !b.entries[i].dead {
				b.free[p.machine] += p.need
			}
			b.remove(i)
		}
	}
	if v := c.victim; v.number > 0 {
		i, ok := b.find(v.number)
		if ok = ok && !b.entries[i].dead; ok == r.gone {
			return false, b
		}
		if r.gone {
			return !r.granted, b
		}
		room, need := b.free[v.machine]+v.need, c.claims[0].need
		if !r.granted {
			return r.free == room && need > room, b
		}
		if need > room {
			return false, b
		}
		b.entries[i].dead = true
		b.free[v.machine] = room
		b.add(c.claims[0])
		return true, b
	}
	if !r.granted {
		for _, p := range c.claims {
			if p.machine == r.refused {
				return b.free[p.machine] == r.free && p.need > r.free, b
			}
		}
		return len(c.claims) == 0, b
	}
	for _, p := range c.claims {
		if p.need > b.free[p.machine] {
			return false, b
		}
		b.add(p)
	}
	return true, b
}

// linearModel is the model of a cell that begins with these books.
func linearModel(first books) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return first },
		Step: func(state, in, out any) (bool, any) {
			return state.(books).step(in.(call), out.(reply))
		},
		DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v -> %+v", in, out) },
	}
}

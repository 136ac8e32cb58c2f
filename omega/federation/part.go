package federation

import (
	"math/bits"

	"github.com/cellsched/cellsched/resources"
)

// part is the machines of one partition at a local master that have free room, as a bit
// vector. Bounds of the room of 64 machines, and of 4,096, let a search skip them.
//
// A bound is never below the room of any of its machines. A search that finds no room on
// all of them lowers it.
type part struct {
	words []uint64           // bit n%64 of word n/64: machine n has room
	most  []resources.Vector // by word
	top   []resources.Vector // by 64 words
}

func (p *part) grow(machines int) {
	for words := (machines + 63) / 64; len(p.words) < words; {
		if len(p.words)%64 == 0 {
			p.top = append(p.top, resources.Vector{})
		}
		p.words, p.most = append(p.words, 0), append(p.most, resources.Vector{})
	}
}

// set notes the room of a machine; none takes it out.
func (p *part) set(n int, room *resources.Vector) {
	w, bit := n/64, uint64(1)<<(n%64)
	if *room == (resources.Vector{}) {
		p.words[w] &^= bit
		return
	}
	p.words[w] |= bit
	raise(&p.most[w], room)
	raise(&p.top[w/64], room)
}

func raise(bound, v *resources.Vector) {
	for k := range bound {
		bound[k] = max(bound[k], v[k])
	}
}

// find returns the first machine from start on, once around, that has the need free and
// is in mask; a nil mask has all machines.
func (p *part) find(rooms []resources.Vector, need *resources.Vector, mask []uint64, start int) (n int, ok bool) {
	end := len(p.words) * 64
	if start < 0 || start >= end {
		start = 0
	}
	if n, ok = p.among(rooms, need, mask, start, end); ok || start == 0 {
		return n, ok
	}
	return p.among(rooms, need, mask, 0, start)
}

// among is find for the numbers from one up to another.
func (p *part) among(rooms []resources.Vector, need *resources.Vector, mask []uint64, from, to int) (n int, ok bool) {
	for t := from / 4096; t*4096 < to; t++ {
		if !resources.Fits(need, &p.top[t]) {
			continue
		}
		first, last := max(from, t*4096), min(to, t*4096+4096)
		for w := first / 64; w*64 < last; w++ {
			if p.words[w] == 0 || !resources.Fits(need, &p.most[w]) {
				continue
			}
			if n, ok := p.within(rooms, need, mask, w, first, last); ok {
				return n, true
			}
		}
		if first == t*4096 && last == min(len(p.words)*64, t*4096+4096) {
			p.lower(t)
		}
	}
	return 0, false
}

// within is find for the machines of one word.
func (p *part) within(rooms []resources.Vector, need *resources.Vector, mask []uint64, w, from, to int) (n int, ok bool) {
	word := p.words[w]
	if from > w*64 {
		word &= ^uint64(0) << (from % 64)
	}
	if to < w*64+64 {
		word &= 1<<(to%64) - 1
	}
	if mask != nil {
		if w >= len(mask) {
			return 0, false
		}
		word &= mask[w]
	}
	all := word == p.words[w]
	for ; word != 0; word &= word - 1 {
		n := w*64 + bits.TrailingZeros64(word)
		if resources.Fits(need, &rooms[n]) {
			return n, true
		}
	}
	if all {
		p.tighten(rooms, w)
	}
	return 0, false
}

// tighten makes the bound of a word exact.
func (p *part) tighten(rooms []resources.Vector, w int) {
	p.most[w] = resources.Vector{}
	for word := p.words[w]; word != 0; word &= word - 1 {
		raise(&p.most[w], &rooms[w*64+bits.TrailingZeros64(word)])
	}
}

// lower sets the bound of 64 words to the maximum of the words' bounds.
func (p *part) lower(t int) {
	p.top[t] = resources.Vector{}
	for w := t * 64; w < min(t*64+64, len(p.words)); w++ {
		if p.words[w] != 0 {
			raise(&p.top[t], &p.most[w])
		} else {
			p.most[w] = resources.Vector{}
		}
	}
}

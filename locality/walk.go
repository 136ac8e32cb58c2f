package locality

import "math/bits"

// line has a bit for each node of a line; see frame.
type line [lineWords]uint64

// walk yields the nodes in so many lines, from start on and once around, and
// tells whether yield wanted all.
func walk(lines uint32, start Node, in func(l uint32) line, yield func(Node) bool) bool {
	first := uint32(start) / lineNodes
	if first >= lines {
		first, start = 0, 0
	}
	for i := range lines + 1 { // comes back to the first, for those before start
		l := first + i
		if l >= lines {
			l -= lines
		}
		x := in(l)
		switch i {
		case 0:
			x.split(start%lineNodes, true)
		case lines:
			x.split(start%lineNodes, false)
		}
		if !x.each(Node(l*lineNodes), yield) {
			return false
		}
	}
	return true
}

// split keeps of x the nodes from the i-th on, or else those before it.
func (x *line) split(i Node, from bool) {
	w, high := i/64, ^uint64(0)<<(i%64)
	if from {
		clear(x[:w])
		x[w] &= high
	} else {
		clear(x[w+1:])
		x[w] &^= high
	}
}

// each yields the nodes in x, the first of which is number base, and tells
// whether yield wanted all.
func (x *line) each(base Node, yield func(Node) bool) bool {
	for k, w := range x {
		for ; w != 0; w &= w - 1 {
			if !yield(base + Node(k*64+bits.TrailingZeros64(w))) {
				return false
			}
		}
	}
	return true
}

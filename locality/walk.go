package locality

import "math/bits"

// line has a bit for each node of a line; see frame.
type line [lineWords]uint64

// round goes over lines from the line of start, once around and to that line again:
// nodes before start come last.
type round struct {
	lines, first, gone uint32
	start              Node // in its line
}

func newRound(lines uint32, start Node) round {
	if first := uint32(start) / lineNodes; first < lines {
		return round{lines: lines, first: first, start: start % lineNodes}
	}
	return round{lines: lines}
}

// next returns the number of the next line, and false after the last one.
func (r *round) next() (l uint32, ok bool) {
	if r.gone > r.lines || r.gone == r.lines && r.start == 0 {
		return 0, false
	}
	l = r.first + r.gone
	if l >= r.lines {
		l -= r.lines
	}
	r.gone++
	return l, true
}

// cut clears the nodes of the last line that are not due in this round.
func (r *round) cut(x *line) {
	w, high := r.start/64, ^uint64(0)<<(r.start%64)
	switch r.gone {
	case 1:
		clear(x[:w])
		x[w] &= high
	case r.lines + 1:
		clear(x[w+1:])
		x[w] &^= high
	}
}

// each yields the nodes in x, which is line l. It reports whether yield returned
// true for all.
func (x *line) each(l uint32, yield func(Node) bool) bool {
	for k := range x {
		for w := x[k]; w != 0; w &= w - 1 {
			if !yield(node(l*lineWords+uint32(k), w)) {
				return false
			}
		}
	}
	return true
}

// node returns the lowest node of the bits x of word w.
func node(w uint32, x uint64) Node { return Node(w*64) + Node(bits.TrailingZeros64(x)) }

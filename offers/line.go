package offers

import (
	"cmp"
	"slices"
)

// place is where somebody stands: by rank, then by who was chosen longest ago, then
// by who came first. No two have the same.
type place struct {
	rank  float64
	asked uint64 // the turn in which it was offered something last
	seq   uint64
}

func (p *place) before(q *place) bool {
	if p.rank < q.rank || p.rank > q.rank {
		return p.rank < q.rank
	}
	if p.asked != q.asked {
		return p.asked < q.asked
	}
	return p.seq < q.seq
}

// line is who stands in line, whoever is next first. Places are beside those who
// stand there, so that a search looks at one piece of memory.
type line[T any] []standing[T]

type standing[T any] struct {
	place
	who *T
}

// find returns where p is, or belongs. Cost: O(log n).
func (l line[T]) find(p *place) int {
	low, high := 0, len(l)
	for low < high {
		if middle := int(uint(low+high) / 2); l[middle].before(p) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

func (l *line[T]) insert(p place, who *T) {
	*l = slices.Insert(*l, l.find(&p), standing[T]{p, who})
}

func (l *line[T]) remove(p place) {
	i := l.find(&p)
	*l = slices.Delete(*l, i, i+1)
}

// move has whoever stands at from stand at to; those between move up.
func (l line[T]) move(from, to place) {
	i := 0
	if l[0].seq != from.seq { // most who move were first
		i = l.find(&from)
	}
	one := standing[T]{to, l[i].who}
	if from.before(&to) {
		between := l[i+1:]
		between = between[:between.find(&to)]
		i += copy(l[i:], between)
	} else {
		j := l[:i].find(&to)
		copy(l[j+1:], l[j:i])
		i = j
	}
	l[i] = one
}

// sort puts those who stand there in order, after their places have changed.
func (l line[T]) sort() {
	slices.SortFunc(l, func(a, b standing[T]) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.asked, b.asked), cmp.Compare(a.seq, b.seq))
	})
}

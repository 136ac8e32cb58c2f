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

// line is who stands in line. Places are together, so that a search looks at one
// piece of memory, and without pointers: else to move them costs the garbage
// collector more than it costs us.
type line[T any] struct {
	places []standing // whoever is next first
	who    []*T       // by slot
	vacant []uint32   // slots
}

type standing struct {
	place
	slot uint32
}

func (l *line[T]) len() int { return len(l.places) }

// at returns who stands at i.
func (l *line[T]) at(i int) *T { return l.who[l.places[i].slot] }

// find returns where p is among places, or belongs. Cost: O(log n).
func find(places []standing, p *place) int {
	low, high := 0, len(places)
	for low < high {
		if middle := int(uint(low+high) / 2); places[middle].before(p) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// insert puts somebody where p belongs. Cost: as of remove and move, O(log n), and to
// move those behind, at worst all n, which are 32 bytes each.
func (l *line[T]) insert(p place, who *T) {
	slot := uint32(len(l.who))
	if last := len(l.vacant) - 1; last >= 0 {
		slot, l.vacant = l.vacant[last], l.vacant[:last]
		l.who[slot] = who
	} else {
		l.who = append(l.who, who)
	}
	l.places = slices.Insert(l.places, find(l.places, &p), standing{p, slot})
}

func (l *line[T]) remove(p place) {
	i := find(l.places, &p)
	slot := l.places[i].slot
	l.who[slot] = nil
	l.vacant = append(l.vacant, slot)
	l.places = slices.Delete(l.places, i, i+1)
}

// move has whoever stands at from stand at to; those between move up.
func (l *line[T]) move(from, to place) {
	i := 0
	if l.places[0].seq != from.seq { // most who move were first
		i = find(l.places, &from)
	}
	one := standing{to, l.places[i].slot}
	if from.before(&to) {
		between := l.places[i+1:]
		between = between[:find(between, &to)]
		i += copy(l.places[i:], between)
	} else {
		j := find(l.places[:i], &to)
		copy(l.places[j+1:], l.places[j:i])
		i = j
	}
	l.places[i] = one
}

// sort puts those who stand there in order, after their places have changed. Cost:
// O(n) if they are still.
func (l *line[T]) sort() {
	for i := range l.places {
		if i > 0 && l.places[i].before(&l.places[i-1].place) {
			slices.SortFunc(l.places, func(a, b standing) int {
				return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.asked, b.asked), cmp.Compare(a.seq, b.seq))
			})
			return
		}
	}
}

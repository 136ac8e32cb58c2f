package offers

import (
	"cmp"
	"math"
	"slices"

	"github.com/google/btree"
)

// place is a position in a line: by rank, then by the turn of the last offer, then by
// age. No two frameworks have the same place, nor have two roles.
type place struct {
	rank  float64
	asked uint64 // the turn of the last offer
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

// A line longer than long becomes a tree after settled changes, and a tree shorter than
// short becomes a slice again. BenchmarkLine compares both forms. With a hundred members
// the slice is faster. With three thousand a move from the front to the back takes a
// tenth of the time in the tree, a move past a few members twice the time, a walk three
// times. Building a tree costs about as much as settled moves to the back in a slice.
const (
	long    = 1024
	short   = 512
	settled = 64
	degree  = 32 // of the tree
)

// line holds frameworks or roles in the order of their places. Short, it is a sorted
// slice; long, a tree. Both hold places by value, so that a search looks at little
// memory, and without pointers, so that the garbage collector need not follow a move.
type line[T any] struct {
	places  []standing              // the order, if tree is nil
	tree    *btree.BTreeG[standing] // the order, or nil
	changes int                     // of the slice, while longer than long
	buffer  []standing              // places read from the tree
	members []*T                    // by slot
	at      []*place                // where the members belong, by slot
	vacant  []uint32                // slots
}

type standing struct {
	place
	slot uint32
}

func (l *line[T]) len() int {
	if l.tree != nil {
		return l.tree.Len()
	}
	return len(l.places)
}

// all is a walk of a line in order, to range over. The loop body must not change the
// line, unless it leaves the loop.
func (l *line[T]) all(yield func(*T) bool) {
	for ahead := l.ahead(); len(ahead) > 0; ahead = l.behind(ahead) {
		if !yield(l.members[ahead[0].slot]) {
			return
		}
	}
}

// ahead returns the places at the front of a line, none if it is empty: of a slice all,
// of a tree a few, which are overwritten by the next call of ahead or behind.
func (l *line[T]) ahead() []standing {
	if l.tree == nil {
		return l.places
	}
	return l.read(place{rank: math.Inf(-1)}) // before all: seq begins at 1
}

// behind returns the places behind the first of those, none if it is the last.
func (l *line[T]) behind(places []standing) []standing {
	if len(places) > 1 || l.tree == nil {
		return places[1:]
	}
	return l.read(places[0].place)
}

// read returns a few places of the tree behind p.
func (l *line[T]) read(p place) []standing {
	l.buffer = l.buffer[:0]
	l.tree.AscendGreaterOrEqual(standing{place: p}, func(s standing) bool {
		if s.seq != p.seq {
			l.buffer = append(l.buffer, s)
		}
		return len(l.buffer) < degree
	})
	return l.buffer
}

// find returns the index of p among places, or the one at which it belongs. Cost:
// O(log n).
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

// insert adds a member at the place *at, which sort reads again. Cost: as of remove and
// move, O(log n) in a tree. In a slice O(log n), and to shift the places behind, of 32
// bytes each.
func (l *line[T]) insert(at *place, member *T) {
	slot := uint32(len(l.members))
	if last := len(l.vacant) - 1; last >= 0 {
		slot, l.vacant = l.vacant[last], l.vacant[:last]
		l.members[slot], l.at[slot] = member, at
	} else {
		l.members, l.at = append(l.members, member), append(l.at, at)
	}
	if l.tree != nil {
		l.tree.ReplaceOrInsert(standing{*at, slot})
		return
	}
	l.places = slices.Insert(l.places, find(l.places, at), standing{*at, slot})
	l.grow()
}

// remove removes the member at p.
func (l *line[T]) remove(p place) {
	var slot uint32
	if l.tree != nil {
		s, _ := l.tree.Delete(standing{place: p})
		slot = s.slot
		if l.tree.Len() < short {
			l.flatten()
		}
	} else {
		i := find(l.places, &p)
		slot = l.places[i].slot
		l.places = slices.Delete(l.places, i, i+1)
	}
	l.members[slot], l.at[slot] = nil, nil
	l.vacant = append(l.vacant, slot)
}

// move moves the member at from to the place to.
func (l *line[T]) move(from, to place) {
	if l.tree != nil {
		s, _ := l.tree.Delete(standing{place: from})
		l.tree.ReplaceOrInsert(standing{to, s.slot})
		return
	}
	i := 0
	if l.places[0].seq != from.seq { // most members that move were first
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
	l.grow()
}

// grow counts a change of the slice, and builds a tree after enough of them.
func (l *line[T]) grow() {
	if len(l.places) <= long {
		return
	}
	if l.changes++; l.changes < settled {
		return
	}
	l.build()
}

// build makes a tree of the slice.
func (l *line[T]) build() {
	l.tree = btree.NewG(degree, func(a, b standing) bool { return a.before(&b.place) })
	for _, s := range l.places {
		l.tree.ReplaceOrInsert(s)
	}
	l.places = nil
}

// flatten makes a slice of the tree.
func (l *line[T]) flatten() {
	l.places = make([]standing, 0, l.tree.Len())
	l.tree.Ascend(func(s standing) bool {
		l.places = append(l.places, s)
		return true
	})
	l.tree, l.changes = nil, 0
}

// sort puts a line in order after the places of members have changed. Cost: O(n) if the
// order is still the same. A tree moves a few members one by one, O(log n) each. For
// many it becomes a slice, and stays one while it is sorted so often.
func (l *line[T]) sort() {
	if l.tree != nil {
		moved := l.buffer[:0]
		l.tree.Ascend(func(s standing) bool {
			if s.place != *l.at[s.slot] {
				moved = append(moved, s)
			}
			return true
		})
		l.buffer = moved
		if len(moved) <= l.tree.Len()/8 {
			for _, s := range moved {
				l.move(s.place, *l.at[s.slot])
			}
			return
		}
		l.flatten()
	}
	sorted := true
	for i := range l.places {
		l.places[i].place = *l.at[l.places[i].slot]
		sorted = sorted && (i == 0 || l.places[i-1].before(&l.places[i].place))
	}
	if !sorted {
		slices.SortFunc(l.places, func(a, b standing) int {
			return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.asked, b.asked), cmp.Compare(a.seq, b.seq))
		})
	}
	l.changes = 0
}

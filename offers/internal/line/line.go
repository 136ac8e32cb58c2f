// Package line holds members in the order of their places: a sorted slice while the line
// is short, a tree while it is long.
package line

import (
	"cmp"
	"math"
	"slices"

	"github.com/google/btree"
)

// Place is a position in a line: by rank, then by the turn of the last offer, then by
// age. No two members of a line have the same place.
type Place struct {
	Rank  float64
	Asked uint64 // the turn of the last offer
	Seq   uint64
}

// Before reports whether p comes before q.
func (p *Place) Before(q *Place) bool {
	if p.Rank < q.Rank || p.Rank > q.Rank {
		return p.Rank < q.Rank
	}
	if p.Asked != q.Asked {
		return p.Asked < q.Asked
	}
	return p.Seq < q.Seq
}

// A line longer than long becomes a tree after settled changes, and a tree shorter than
// short becomes a slice again. BenchmarkLine compares both forms. With a hundred members
// the slice is faster. With three thousand a move from the front to the back takes a
// tenth of the time in the tree. A move past a few members takes twice the time there, a
// walk three times. Building a tree costs about as much as settled moves to the back in a
// slice.
const (
	long    = 1024
	short   = 512
	settled = 64
	degree  = 32 // of the tree
)

// Line holds frameworks or roles in the order of their places. Short, it is a sorted
// slice; long, a tree. Both hold places by value, so that a search looks at little
// memory. Places have no pointers, so that the garbage collector need not follow a move.
type Line[T any] struct {
	places  []Standing              // the order, if tree is nil
	tree    *btree.BTreeG[Standing] // the order, or nil
	changes int                     // of the slice, while longer than long
	buffer  []Standing              // places read from the tree
	members []*T                    // by slot
	at      []*Place                // where the members belong, by slot
	vacant  []uint32                // slots
}

// Standing is the place of a member, and the slot by which [Line.Member] finds it.
type Standing struct {
	Place
	slot uint32
}

// Len returns how many members there are.
func (l *Line[T]) Len() int {
	if l.tree != nil {
		return l.tree.Len()
	}
	return len(l.places)
}

// All is a walk of a line in order, to range over. The loop body must not change the
// line, unless it leaves the loop.
func (l *Line[T]) All(yield func(*T) bool) {
	for ahead := l.Ahead(); len(ahead) > 0; ahead = l.Behind(ahead) {
		if !yield(l.members[ahead[0].slot]) {
			return
		}
	}
}

// Ahead returns the places at the front of a line, none if it is empty: all of a slice, a
// few of a tree. The next call of Ahead or Behind overwrites places of a tree.
func (l *Line[T]) Ahead() []Standing {
	if l.tree == nil {
		return l.places
	}
	return l.read(Place{Rank: math.Inf(-1)}) // before all: seq begins at 1
}

// Member returns the member of a standing that the line has returned.
func (l *Line[T]) Member(s Standing) *T { return l.members[s.slot] }

// Behind returns the places behind the first of those, none if it is the last.
func (l *Line[T]) Behind(places []Standing) []Standing {
	if len(places) > 1 || l.tree == nil {
		return places[1:]
	}
	return l.read(places[0].Place)
}

// read returns a few places of the tree behind p.
func (l *Line[T]) read(p Place) []Standing {
	l.buffer = l.buffer[:0]
	l.tree.AscendGreaterOrEqual(Standing{Place: p}, func(s Standing) bool {
		if s.Seq != p.Seq {
			l.buffer = append(l.buffer, s)
		}
		return len(l.buffer) < degree
	})
	return l.buffer
}

// find returns the index of p among places, or the one at which it belongs. Cost:
// O(log n).
func find(places []Standing, p *Place) int {
	low, high := 0, len(places)
	for low < high {
		if middle := int(uint(low+high) / 2); places[middle].Before(p) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// Insert adds a member at the place *at, which Sort reads again. Insert, Remove and Move
// cost O(log n) in a tree. A slice also shifts the places behind, of 32 bytes each.
func (l *Line[T]) Insert(at *Place, member *T) {
	slot := uint32(len(l.members))
	if last := len(l.vacant) - 1; last >= 0 {
		slot, l.vacant = l.vacant[last], l.vacant[:last]
		l.members[slot], l.at[slot] = member, at
	} else {
		l.members, l.at = append(l.members, member), append(l.at, at)
	}
	if l.tree != nil {
		l.tree.ReplaceOrInsert(Standing{*at, slot})
		return
	}
	l.places = slices.Insert(l.places, find(l.places, at), Standing{*at, slot})
	l.grow()
}

// Remove removes the member at p.
func (l *Line[T]) Remove(p Place) {
	var slot uint32
	if l.tree != nil {
		s, _ := l.tree.Delete(Standing{Place: p})
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

// Move moves the member at from to the place to.
func (l *Line[T]) Move(from, to Place) {
	if l.tree != nil {
		s, _ := l.tree.Delete(Standing{Place: from})
		l.tree.ReplaceOrInsert(Standing{to, s.slot})
		return
	}
	i := 0
	if l.places[0].Seq != from.Seq { // most members that move were first
		i = find(l.places, &from)
	}
	one := Standing{to, l.places[i].slot}
	if from.Before(&to) {
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
func (l *Line[T]) grow() {
	if len(l.places) <= long {
		return
	}
	if l.changes++; l.changes < settled {
		return
	}
	l.build()
}

// build makes a tree of the slice.
func (l *Line[T]) build() {
	l.tree = btree.NewG(degree, func(a, b Standing) bool { return a.Before(&b.Place) })
	for _, s := range l.places {
		l.tree.ReplaceOrInsert(s)
	}
	l.places = nil
}

// flatten makes a slice of the tree.
func (l *Line[T]) flatten() {
	l.places = make([]Standing, 0, l.tree.Len())
	l.tree.Ascend(func(s Standing) bool {
		l.places = append(l.places, s)
		return true
	})
	l.tree, l.changes = nil, 0
}

// Sort puts a line in order after the places of members have changed. Cost: O(n) if the
// order is still the same. A tree moves a few members one by one, O(log n) each. For
// many it becomes a slice, and stays one while it is sorted so often.
func (l *Line[T]) Sort() {
	if l.tree != nil {
		moved := l.buffer[:0]
		l.tree.Ascend(func(s Standing) bool {
			if s.Place != *l.at[s.slot] {
				moved = append(moved, s)
			}
			return true
		})
		l.buffer = moved
		if len(moved) <= l.tree.Len()/8 {
			for _, s := range moved {
				l.Move(s.Place, *l.at[s.slot])
			}
			return
		}
		l.flatten()
	}
	sorted := true
	for i := range l.places {
		l.places[i].Place = *l.at[l.places[i].slot]
		sorted = sorted && (i == 0 || l.places[i-1].Before(&l.places[i].Place))
	}
	if !sorted {
		slices.SortFunc(l.places, func(a, b Standing) int {
			return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Asked, b.Asked), cmp.Compare(a.Seq, b.Seq))
		})
	}
	l.changes = 0
}

package omega

import "github.com/cellsched/cellsched/omega/internal/atomics"

// numbers are those by which slots name tallies: the place of a tally in a list, and
// above that how many tallies have had the place, from 1. The zero number names none.
//
// A place is given out again once no allocation is left that names it. A number is never
// given out again: a commit that is delayed may still have put it into a slot that will
// not become live.
type numbers struct {
	at segments[atomics.Pointer[tally]]

	mu    atomics.Mutex // guards the fields below; held for a few lines
	used  uint32        // places
	spare []uint32      // numbers to be given out, of places used before
}

const (
	numberUses = 1<<(32-indexBits) - 1 // of a place
	oneUse     = 1 << indexBits
)

// give gives t a number, unless there is none left.
func (n *numbers) give(t *tally) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if last := len(n.spare) - 1; last >= 0 {
		t.number = n.spare[last]
		n.spare = n.spare[:last]
	} else if n.used < maxIndex {
		t.number = n.used | oneUse
		n.used++
	}
	if t.number != 0 {
		n.at.grow(t.number & indexMask).Store(t)
	}
}

// take takes the number of t back, to which nothing is charged any more.
func (n *numbers) take(t *tally) {
	if t.number == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.at.at(t.number & indexMask).Store(nil)
	if t.number>>indexBits < numberUses {
		n.spare = append(n.spare, t.number+oneUse)
	}
}

// tally returns the tally of that number, or nil if it has none any more.
func (n *numbers) tally(number uint32) *tally {
	if at := n.at.at(number & indexMask); at != nil {
		if t := at.Load(); t != nil && t.number == number {
			return t
		}
	}
	return nil
}

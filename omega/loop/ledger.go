package loop

import (
	"slices"

	"github.com/cellsched/cellsched/omega"
)

// ledger maps each allocation that is not released to its job.
//
// Nothing is ever looked up in most loops, so it begins as a list and becomes a map
// with the first allocation that is marked. The loop is not told of releases: it is
// pruned whenever it has doubled, which costs O(1) for each allocation.
type ledger[K any] struct {
	list []entry[K]
	byID map[omega.AllocationID]*Pending[K] // nil until a mark was looked up
	kept int                                // entries that the last pruning left
}

type entry[K any] struct {
	id omega.AllocationID
	p  *Pending[K]
}

func (l *ledger[K]) len() int { return len(l.list) + len(l.byID) }

// add enters allocations of a job. Holds reports whether an entered allocation is
// not released.
func (l *ledger[K]) add(p *Pending[K], ids []omega.AllocationID, holds func(omega.AllocationID) bool) {
	if l.len() > 2*l.kept+1024 {
		l.list = slices.DeleteFunc(l.list, func(e entry[K]) bool { return !holds(e.id) })
		for id := range l.byID {
			if !holds(id) {
				delete(l.byID, id)
			}
		}
		l.kept = l.len()
	}
	for _, id := range ids {
		if l.byID == nil {
			l.list = append(l.list, entry[K]{id, p})
		} else {
			l.byID[id] = p
		}
	}
}

// take takes out an allocation and returns its job, or nil if it is not there.
func (l *ledger[K]) take(id omega.AllocationID) *Pending[K] {
	if l.byID == nil {
		l.byID = make(map[omega.AllocationID]*Pending[K], len(l.list))
		for _, e := range l.list {
			l.byID[e.id] = e.p
		}
		l.list = nil
	}
	p := l.byID[id]
	delete(l.byID, id)
	return p
}

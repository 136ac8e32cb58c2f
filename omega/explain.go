package omega

import (
	"fmt"
	"strings"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// Explanation says how many machines would do for a query and how many would
// not, by the first reason in the order of the fields.
type Explanation struct {
	Machines  int // that were looked at
	Removed   int // that are not in the cell (any more)
	Draining  int
	Forbidden int // that the scheduler may not claim
	Filtered  int // that the query does not allow
	// Small is how many could never have the need, by the first kind of which
	// their capacity is less; Short how many have it in use.
	Small, Short [resources.MaxKinds]int
	Fit          int // that will do
}

// Explain says why a search on the snapshot as it is now finds what it finds.
// Cost: O(machines).
func (s *Snapshot) Explain(q Query) (e Explanation) {
	mask := s.owner.mask.Load()
	look := func(node int) {
		e.Machines++
		n, cond, spec := locality.Node(node), s.val[node].cond, s.val[node].spec
		switch {
		case cond == Removed:
			e.Removed++
		case cond == Draining:
			e.Draining++
		case mask != nil && !mask.Has(n):
			e.Forbidden++
		case q.Allow != nil && !q.Allow(n):
			e.Filtered++
		case !resources.Fits(&q.Need, &spec.Capacity):
			e.Small[short(&q.Need, &spec.Capacity)]++
		case !resources.Fits(&q.Need, &s.free[node]):
			e.Short[short(&q.Need, &s.free[node])]++
		default:
			e.Fit++
		}
	}
	if q.Among == nil {
		for node := range s.val {
			look(node)
		}
		return e
	}
	for n := range q.Among {
		if uint64(n) < uint64(len(s.val)) {
			look(int(n))
		}
	}
	return e
}

// short returns the first kind of which need is more than there is.
func short(need, free *resources.Vector) int {
	for k, q := range need {
		if q > free[k] {
			return k
		}
	}
	return 0
}

// String returns one line, kinds by number.
func (e Explanation) String() string { return e.Format(nil) }

// Format returns one line, with the reasons that there are and the kinds named
// as in the space.
func (e Explanation) Format(space *resources.Space) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d machines will do", e.Fit, e.Machines)
	add := func(n int, reason string) {
		if n > 0 {
			fmt.Fprintf(&b, ", %d %s", n, reason)
		}
	}
	add(e.Removed, "removed")
	add(e.Draining, "draining")
	add(e.Forbidden, "not permitted")
	add(e.Filtered, "not allowed")
	for k := range e.Small {
		add(e.Small[k], "too small in "+kindName(space, k))
	}
	for k := range e.Short {
		add(e.Short[k], "short of "+kindName(space, k))
	}
	return b.String()
}

func kindName(space *resources.Space, k int) string {
	if space != nil {
		if d, ok := space.Dimension(resources.Kind(k)); ok {
			return d.Name
		}
	}
	return fmt.Sprint("kind ", k)
}

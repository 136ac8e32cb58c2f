package omega

import (
	"fmt"
	"strings"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// Explanation counts the machines that fit a query and those that do not, each of these
// once, for its first reason in the order of the fields.
type Explanation struct {
	Machines  int // that were looked at
	Removed   int // that are not, or no longer, in the cell
	Draining  int
	Forbidden int // that the scheduler may not claim
	Filtered  int // that the query does not allow
	// Small counts the machines that could never have the need, by the first kind of
	// which their capacity is less. Short counts those that have it in use.
	Small, Short [resources.MaxKinds]int
	Fit          int // that will do
	// Missing is the part of the need that the nearest machine lacks: the first of those
	// with the least largest missing part, Short ones before Small ones. It is zero where a
	// machine fits.
	Missing resources.Vector

	space *resources.Space
}

// Explain returns why a search on the snapshot has its result. Cost: O(machines).
func (s *Snapshot) Explain(q Query) (e Explanation) {
	if s.none() {
		return Explanation{}
	}
	s.catchUpAll()
	mask := s.owner.mask.Load()
	e.space = s.cell.space
	inUse, never := nearest{part: 2}, nearest{part: 2}
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
			never.offer(&q.Need, &spec.Capacity)
		case !resources.Fits(&q.Need, &s.free[node]):
			e.Short[short(&q.Need, &s.free[node])]++
			inUse.offer(&q.Need, &s.free[node])
		default:
			e.Fit++
		}
	}
	if q.Among == nil {
		for node := range s.val {
			look(node)
		}
	} else {
		for n := range q.Among {
			if uint64(n) < uint64(len(s.val)) {
				look(int(n))
			}
		}
	}
	switch {
	case e.Fit > 0:
	case inUse.part <= 1:
		e.Missing = inUse.missing
	case never.part <= 1:
		e.Missing = never.missing
	}
	return e
}

// nearest finds the machine that lacks the smallest part of a need.
type nearest struct {
	part    float64 // of the kind of which it lacks most; at most 1 once there is one
	missing resources.Vector
}

// offer looks at a machine that has less than need.
func (n *nearest) offer(need, have *resources.Vector) {
	if part := lack(need, have); part < n.part {
		n.part, n.missing = part, missing(need, have)
	}
}

// short returns the first kind of which need exceeds free.
func short(need, free *resources.Vector) int {
	for k, q := range need {
		if q > free[k] {
			return k
		}
	}
	return 0
}

// String is [Explanation.Format] in the names and units of the cell's space.
func (e Explanation) String() string { return e.Format(e.space) }

// Format returns the reasons in one line, in the names of the space.
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
	if e.Missing != (resources.Vector{}) {
		fmt.Fprintf(&b, ", missing %s on the nearest", space.Format(e.Missing))
	}
	return b.String()
}

func kindName(space *resources.Space, k int) string {
	if space != nil {
		if d, ok := space.Dimension(resources.Kind(k)); ok {
			return d.Name
		}
	}
	return fmt.Sprint("kind", k)
}

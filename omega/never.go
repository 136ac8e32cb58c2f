package omega

import (
	"errors"
	"fmt"
	"iter"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// ErrNeverFits reports that a scheduler waits for room that no release can make:
// the machines that it may claim could not hold the need if they were empty.
var ErrNeverFits = errors.New("omega: need can never fit")

// NeverFitsError says which need a scheduler waits for in vain. It wraps
// [ErrNeverFits].
type NeverFitsError struct {
	Scheduler string
	// Need is a need that fits on no machine. Where each need of a gang fits on
	// one, and not all of them at once, it is their sum.
	Need resources.Vector
	Gang int // needs in that sum; 1 for a need that fits on no machine
	// Machines is how many machines the scheduler may claim, draining ones
	// included. Largest is the most of each kind that one of them has, Total what
	// they have together.
	Machines       int
	Largest, Total resources.Vector

	space *resources.Space
}

// Error names the need, the capacities and what is missing, in the names and
// units of the cell's space.
func (e *NeverFitsError) Error() string {
	need, have := fmt.Sprintf("need %s", e.space.Format(e.Need)), &e.Largest
	if e.Gang > 1 {
		need, have = fmt.Sprintf("gang of %d needs %s", e.Gang, e.space.Format(e.Need)), &e.Total
	}
	why := ""
	switch missing := missing(&e.Need, have); {
	case e.Machines == 0:
		why = "no machine to claim"
	case missing != resources.Vector{}:
		what := "largest of %d machines %s"
		if e.Gang > 1 {
			what = "capacity of %d machines %s"
		}
		why = fmt.Sprintf(what+", missing %s", e.Machines, e.space.Format(*have), e.space.Format(missing))
	case e.Gang > 1:
		why = fmt.Sprintf("capacity of %d machines %s, the largest %s", e.Machines, e.space.Format(e.Total), e.space.Format(e.Largest))
	default:
		why = fmt.Sprintf("none of %d machines has all of it, at most %s", e.Machines, e.space.Format(e.Largest))
	}
	return fmt.Sprintf("omega: scheduler %q: %s, %s: can never fit", e.Scheduler, need, why)
}

// Unwrap returns [ErrNeverFits].
func (e *NeverFitsError) Unwrap() error { return ErrNeverFits }

// missing returns what of need is not in have.
func missing(need, have *resources.Vector) (v resources.Vector) {
	for k, q := range need {
		v[k] = max(0, q-have[k])
	}
	return v
}

// never returns an error unless the machines that the scheduler may claim may hold
// one of some demands when they are empty: a [NeverFitsError] for each. Draining
// machines count, as they may be resumed.
func (s *Snapshot) never(ds demands) error {
	mask := s.owner.mask.Load()
	capacities := s.capacities(mask)
	if ds.met(capacities) {
		return nil
	}
	if len(ds) == 1 {
		return s.neverFits(&ds[0], capacities)
	}
	errs := make([]error, len(ds))
	for i := range ds {
		errs[i] = s.neverFits(&ds[i], capacities)
	}
	return errors.Join(errs...)
}

// neverFits says why a demand is not met by capacities.
func (s *Snapshot) neverFits(d *demand, capacities iter.Seq[*resources.Vector]) error {
	e := &NeverFitsError{Scheduler: s.owner.name, Need: d.sum, Gang: d.total, space: s.cell.space}
	fits := make([]bool, len(d.needs))
	for capacity := range capacities {
		e.Machines++
		e.Largest, e.Total = e.Largest.Max(*capacity), e.Total.Add(*capacity)
		for i := range d.needs {
			fits[i] = fits[i] || resources.Fits(&d.needs[i], capacity)
		}
	}
	for i, ok := range fits {
		if !ok {
			e.Need, e.Gang = d.needs[i], 1
			break
		}
	}
	return e
}

// capacities walks those of the machines in a mask that are in the cell.
func (s *Snapshot) capacities(mask *Mask) iter.Seq[*resources.Vector] {
	return func(yield func(*resources.Vector) bool) {
		s.catchUpAll()
		for node, val := range s.val {
			if val.cond != Removed && (mask == nil || mask.Has(locality.Node(node))) && !yield(&val.spec.Capacity) {
				return
			}
		}
	}
}

// rooms walks the room on the machines in a mask that take claims.
func (s *Snapshot) rooms(mask *Mask) iter.Seq[*resources.Vector] {
	return func(yield func(*resources.Vector) bool) {
		s.catchUpAll()
		for node := range s.free {
			if s.free[node] != closed && (mask == nil || mask.Has(locality.Node(node))) && !yield(&s.free[node]) {
				return
			}
		}
	}
}

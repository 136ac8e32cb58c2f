package omega

import (
	"errors"
	"iter"
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// missing returns the part of need that have lacks.
func missing(need, have *resources.Vector) (v resources.Vector) {
	for k, q := range need {
		v[k] = max(0, q-have[k])
	}
	return v
}

// never returns an error unless the machines that the scheduler may claim may hold
// one of some demands when they are empty: a [RefusalError] for each. Draining
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
	e := &RefusalError{
		Reason: ErrNeverFits, Scheduler: s.owner.name, Need: d.sum, Tasks: d.total, Why: new(Explanation), Space: s.cell.space,
	}
	fits := make([]bool, len(d.needs))
	var largest resources.Vector
	for capacity := range capacities {
		e.Why.Machines++
		largest, e.Capacity = largest.Max(*capacity), e.Capacity.Add(*capacity)
		for i := range d.needs {
			fits[i] = fits[i] || resources.Fits(&d.needs[i], capacity)
		}
	}
	if i := slices.Index(fits, false); i >= 0 {
		e.Need, e.Tasks = d.needs[i], 1
	}
	if e.Tasks == 1 {
		e.Capacity = largest
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

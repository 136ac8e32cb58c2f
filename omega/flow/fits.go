package flow

import (
	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/resources"
)

// fits are the machines that have room for a need now.
type fits[J, T comparable] struct {
	all   split[J, T]
	racks map[quincy.Rack]split[J, T] // nil until somebody asks
}

// split are machines, those with a slot free and then the others.
type split[J, T comparable] [2][]*machine[J, T]

// fitting returns the machines that have room for need now. They are kept for the
// round. Cost: O(machines), and O(1) when it is asked again.
func (s *Scheduler[J, T]) fitting(need *resources.Vector) *fits[J, T] {
	if f := s.fits[*need]; f != nil {
		return f
	}
	f := &fits[J, T]{}
	for _, m := range s.machines {
		switch {
		case m == nil || !m.fits(need):
		case m.spare(&s.cfg.Slot) > 0:
			f.all[0] = append(f.all[0], m)
		default:
			f.all[1] = append(f.all[1], m)
		}
	}
	s.fits[*need] = f
	return f
}

// in returns those of them that are in a rack. Cost: O(machines), and O(1) when it is
// asked for another rack.
func (f *fits[J, T]) in(rack quincy.Rack, racks *quincy.Racks) split[J, T] {
	if f.racks == nil {
		f.racks = map[quincy.Rack]split[J, T]{}
		for i, all := range f.all {
			for _, m := range all {
				of, _ := racks.Of(m.node)
				there := f.racks[of]
				there[i] = append(there[i], m)
				f.racks[of] = there
			}
		}
	}
	return f.racks[rack]
}

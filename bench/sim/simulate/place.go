package simulate

import (
	"math/rand/v2"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
)

// Placement is the way in which a scheduler picks machines.
type Placement uint8

const (
	// RandomFit puts each task on any machine with room, all equally likely, as
	// Google's simulator does. It draws machines and, for this job, does not
	// look again at one that had no room.
	RandomFit Placement = iota
	// NextFit is [omega.NextFit]: a machine is filled before the next.
	NextFit
	// BestOfTwo is [omega.BestOf] two by best fit.
	BestOfTwo
)

// place returns the function that a scheduler places with. Random placement is among
// the given machines.
func (p Placement) place(machines []omega.MachineID, r *rand.Rand) loop.Place[int] {
	switch p {
	case NextFit:
		return loop.PlaceBy[int](omega.NextFit())
	case BestOfTwo:
		return loop.PlaceBy[int](omega.BestOf(2, nil, r))
	}
	return (&draw{machines, r}).place
}

// draw draws machines at random without going back to those that were of no
// use.
type draw struct {
	machines []omega.MachineID // in any order
	rand     *rand.Rand
}

func (d *draw) place(s *loop.Search[int]) {
	for left, k := len(d.machines), s.Tasks; k > 0 && left > 0; {
		i := d.rand.IntN(left)
		m := d.machines[i]
		if !s.Claim(m) {
			left-- // those behind it are out
			d.machines[i], d.machines[left] = d.machines[left], m
			continue
		}
		k--
	}
}

package schedulers_test

import (
	"testing"

	"github.com/cellsched/cellsched/bench/peers/internal/load"
)

// A placer is one scheduler of a rival. It finds a machine by its own search
// and keeps its grants by the task's number. It belongs to one goroutine.
type placer interface {
	// place reports whether there was room.
	place(task int, need *load.Need) bool
	release(task int)
	// placeJob places k alike tasks, numbered from first, and reports the number of those that
	// found room.
	placeJob(first int, need *load.Need, k int) int
}

// setting is the cell that a benchmark asks a rival for. Tasks that run already are
// given with their machines, so that all rivals begin in the same state.
type setting struct {
	capacity load.Need // of each machine
	machines int
	needs    []load.Need // by task
	running  []int       // machine by task, or none where it does not run yet; nil if none runs
}

const none = -1

// A rival is one way to keep a cell.
type rival struct {
	name string
	open func(tb testing.TB, s setting) placer
}

func rivals() []rival {
	return []rival{
		{"cellsched", openCell},
		{"nomad", openNomad},
		{"kubernetes-fit", openKubernetesFit},
		{"kubernetes", openKubernetes},
	}
}

// eachRunning calls f for each task that runs from the beginning.
func (s *setting) eachRunning(f func(task, machine int)) {
	for task, machine := range s.running {
		if machine != none {
			f(task, machine)
		}
	}
}

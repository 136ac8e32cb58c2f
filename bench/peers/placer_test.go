package peers_test

import (
	"testing"

	"github.com/cellsched/cellsched/bench/peers/internal/load"
)

// A placer is one scheduler of a rival. It finds a machine by its own search
// and keeps its grants by the task's number, so that all rivals pay
// for keeping their handles. It belongs to one goroutine at a time.
type placer interface {
	// place reports whether there was room.
	place(task int, need *load.Need) bool
	release(task int)
	// conflicts returns the number of placements that had to be tried again so far.
	conflicts() int
}

// A jobPlacer places k alike tasks at once, numbered from first, and reports
// how many found room.
type jobPlacer interface {
	placeJob(first int, need *load.Need, k int) int
}

// A gangPlacer places k alike tasks on k machines, or none, and releases them
// together.
type gangPlacer interface {
	placeGang(first int, need *load.Need, k int) bool
	releaseGang(first, k int)
}

// A thinker takes its time between looking and taking.
type thinker interface {
	placer
	placeThinking(task int, need *load.Need, think func()) bool
}

// A staller stops in the middle of a placement for as long as wait takes.
type staller interface {
	stall(need *load.Need, wait func())
}

// setting is the cell that a benchmark asks a rival for.
type setting struct {
	capacity   load.Need // of each machine
	machines   int
	tasks      int // are numbered below this
	schedulers int
}

// A rival is one way to keep a cell. It opens one with a placer for each
// scheduler.
type rival struct {
	name string
	open func(tb testing.TB, s setting) []placer
}

// rivals returns the rivals that keep up; memdb is given less to do.
func rivals() []rival {
	return []rival{
		{"cellsched", openCell},
		{"mutex", openNextFit},
		{"mutex-firstfit", openFirstFit},
	}
}

// rivalsOn returns the rivals that fill a cell of so many machines in less than
// minutes.
func rivalsOn(machines int) []rival {
	switch machines {
	case 500:
		return append(rivals(), rival{"memdb", openMemDB})
	case 50_000:
		return rivals()[:2]
	}
	return rivals()
}

// one is the setting with one scheduler, opened.
func (r rival) one(tb testing.TB, s setting) placer {
	tb.Helper()
	s.schedulers = 1
	return r.open(tb, s)[0]
}

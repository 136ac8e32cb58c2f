package federation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/federation"
	"github.com/cellsched/cellsched/resources"
)

// Three heartbeats after the last change no task waits that fits on a machine of any
// cell, in whichever partition. A message in five is lost, so state is as old as a
// heartbeat, and older.
func TestFederation_FindsEachFreeWorker(t *testing.T) {
	for seed := range *seeds {
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { found(t, uint64(seed)) }) {
			return
		}
	}
}

func found(t *testing.T, seed uint64) {
	t.Helper()
	r := newWorld(t, seed, network{}, 0).rand
	var cells [][]resources.Vector
	for range 1 + r.IntN(4) {
		cells = append(cells, slots(1+r.IntN(8), 1+r.Int64N(4)))
	}
	w := newWorld(t, seed, network{delay: time.Millisecond, jitter: time.Second, loss: 0.2}, 1+r.IntN(4), cells...)
	w.begin()
	// All jobs are those of one or two global masters, so their partitions are too small.
	for i := range 2 + r.IntN(20) {
		f := w.globals[r.IntN(min(2, len(w.globals)))]
		w.after(time.Duration(r.Int64N(int64(20*time.Second))), func() {
			w.submit(f, federation.Job{Name: fmt.Sprint("job-", i), User: "u", Tasks: 1 + r.IntN(6), Need: resources.Vector{1 + r.Int64N(2)}})
		})
	}
	// Some of what runs ends, and nothing is submitted after that.
	for range 10 {
		w.after(time.Duration(20+r.IntN(10))*time.Second, func() {
			for task := range w.runs {
				w.finish(task, true)
				return
			}
		})
	}
	w.until(start.Add(30 * time.Second))
	w.net.loss = 0
	w.until(w.now.Add(3 * w.heartbeat))
	w.check()
	for _, j := range w.jobs {
		for i := range j.Tasks {
			task := federation.Task{Job: j.Name, Index: i}
			if w.runs[task] != "" || w.ended[task] {
				continue
			}
			for n, cell := range w.cells {
				for m := range cell.Machines() {
					require.False(t, j.Need.Fits(m.Free), "%v waits, and fits on machine %s of %s", task, m.Name, w.names[n])
				}
			}
		}
	}
}

// A gang starts as a whole in one cell, or not at all, and a part of one that was stopped
// starts again.
func TestGlobal_PlacesAGangWithinOneCell(t *testing.T) {
	w := newWorld(t, 1, network{delay: time.Millisecond}, 2, slots(3, 1), slots(4, 1), slots(3, 1))
	w.begin()
	w.until(start.Add(time.Second))
	w.submit(w.globals[0], federation.Job{Name: "four", User: "u", Tasks: 4, Need: resources.Vector{1}, Gang: true})
	w.submit(w.globals[0], federation.Job{Name: "five", User: "u", Tasks: 5, Need: resources.Vector{1}, Gang: true})
	w.submit(w.globals[0], federation.Job{Name: "three", User: "u", Tasks: 3, Need: resources.Vector{1}, Gang: true})
	w.until(w.now.Add(time.Second))
	require.Len(t, w.runs, 7)
	for i := range 4 {
		require.Equal(t, "local-1/global-0", w.runs[federation.Task{Job: "four", Index: i}])
	}
	require.Equal(t, 5, w.globals[0].Stats().Waiting, "no cell has room for five")

	w.finish(federation.Task{Job: "three", Index: 1}, false)
	w.until(w.now.Add(time.Second))
	require.Len(t, w.runs, 7, "the task that was stopped runs again")
	for i := range 3 {
		require.Equal(t, w.runs[federation.Task{Job: "three"}], w.runs[federation.Task{Job: "three", Index: i}])
	}
}

// Two global masters want the last machines of a cell for gangs: one gets them.
func TestGlobal_GetsAGangWholeOrNotAtAll(t *testing.T) {
	for seed := range uint64(50) {
		w := newWorld(t, seed, network{delay: time.Millisecond, jitter: 100 * time.Millisecond}, 3, slots(5, 1), slots(4, 1))
		w.length = func() time.Duration { return time.Second }
		w.begin()
		w.until(start.Add(time.Second))
		for i, f := range w.globals {
			w.submit(f, federation.Job{Name: fmt.Sprint("gang-", i), User: f.name, Tasks: 4, Need: resources.Vector{1}, Gang: true})
		}
		most := map[string]int{}
		w.started = func(e federation.Event) {
			if most[e.Task.Job]++; most[e.Task.Job] < 4 {
				return
			}
			for i := range 4 {
				require.Equal(t, w.runs[e.Task], w.runs[federation.Task{Job: e.Task.Job, Index: i}])
			}
		}
		w.until(w.now.Add(time.Minute))
		w.allEnded()
		w.check()
	}
}

// Attributes of machines decide where a task may run.
func TestGlobal_KeepsToRequirements(t *testing.T) {
	w := newWorld(t, 1, network{delay: time.Millisecond}, 2, slots(3, 2), slots(3, 2))
	for i, cell := range w.cells {
		for m := range cell.Machines() {
			if int(m.ID.Node()) == i+1 {
				require.NoError(t, cell.SetAttributes(m.ID, map[string]string{"disk": "ssd", "zone": fmt.Sprint("z", i)}))
			}
		}
	}
	w.begin()
	w.until(start.Add(time.Second))
	w.submit(w.globals[0], federation.Job{
		Name: "ssd", User: "u", Tasks: 6, Need: resources.Vector{1}, Require: ssd(),
	})
	w.until(w.now.Add(time.Second))
	require.Len(t, w.runs, 4)
	for i, cell := range w.cells {
		for a := range cell.Allocations() {
			require.EqualValues(t, i+1, a.Machine.Node())
		}
	}
	// A machine that gets the attribute later is found.
	id, _ := w.cells[0].Machine("m0")
	require.NoError(t, w.cells[0].SetAttributes(id, map[string]string{"disk": "ssd"}))
	w.until(w.now.Add(2 * w.heartbeat))
	require.Len(t, w.runs, 6)
}

// Of the jobs of a user those of higher precedence go first, and then the oldest.
func TestGlobal_MatchesByPrecedence(t *testing.T) {
	w := newWorld(t, 1, network{}, 1, slots(1, 1))
	w.begin()
	w.until(start.Add(time.Second))
	var order []string
	w.started = func(e federation.Event) { order = append(order, e.Task.Job) }
	for i, p := range []omega.Precedence{0, 1, 3, 1, 2} {
		w.submit(w.globals[0], federation.Job{Name: fmt.Sprint(i), User: "u", Tasks: 1, Need: resources.Vector{1}, Precedence: p})
	}
	for range 5 {
		w.until(w.now.Add(time.Second))
		for task := range w.runs {
			w.finish(task, true)
		}
	}
	require.Equal(t, []string{"0", "2", "4", "1", "3"}, order)
}

// With nil weights users take turns, task by task.
func TestGlobal_ServesUsersByTurns(t *testing.T) {
	w := newWorld(t, 1, network{}, 1, slots(6, 1))
	w.begin()
	w.until(start.Add(time.Second))
	var order []string
	w.started = func(e federation.Event) { order = append(order, e.Task.Job) }
	g := w.globals[0]
	require.NoError(t, g.Submit(federation.Job{Name: "a", User: "a", Tasks: 9, Need: resources.Vector{1}}))
	require.NoError(t, g.Submit(federation.Job{Name: "b", User: "b", Tasks: 9, Need: resources.Vector{1}}))
	w.stepGlobal(g)
	w.until(w.now.Add(time.Second))
	require.Equal(t, []string{"a", "b", "a", "b", "a", "b"}, order)
}

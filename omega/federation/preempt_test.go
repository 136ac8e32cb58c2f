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

// A task of higher precedence takes the place of one of another global master, wherever
// that runs. The victim goes on when there is room again.
func TestGlobal_PreemptsTasksOfLowerPrecedence(t *testing.T) {
	w := newWorld(t, 1, network{delay: time.Millisecond}, 2, slots(1, 1), slots(1, 1), slots(1, 1))
	w.grace = time.Second
	w.begin()
	w.until(start.Add(time.Second))
	w.submit(w.globals[0], federation.Job{Name: "equal", User: "a", Tasks: 2, Need: resources.Vector{1}, Precedence: 1})
	w.until(w.now.Add(time.Second))
	w.submit(w.globals[0], federation.Job{Name: "low", User: "a", Tasks: 1, Need: resources.Vector{1}})
	w.until(w.now.Add(time.Second))
	low := federation.Task{Job: "low"}
	at := w.runs[low]
	require.NotEmpty(t, at)

	var ready []time.Time
	w.started = func(e federation.Event) {
		for _, cell := range w.cells {
			if until, err := cell.ReadyAt(e.Allocation); err == nil {
				ready = append(ready, until)
			}
		}
	}
	high := federation.Task{Job: "high"}
	w.submit(w.globals[1], federation.Job{Name: "high", User: "b", Tasks: 1, Need: resources.Vector{1}, Precedence: 1})
	w.until(w.now.Add(5 * time.Second))
	require.Equal(t, at[:8], w.runs[high][:8], "the task took the place of the lower one")
	require.Empty(t, w.runs[low])
	require.Len(t, ready, 1)
	require.False(t, ready[0].IsZero(), "it may start once the victim has stopped")
	require.Equal(t, 1, w.globals[0].Stats().Waiting)
	w.check()

	w.finish(high, true)
	w.until(w.now.Add(2 * w.heartbeat))
	require.NotEmpty(t, w.runs[low])
	require.Equal(t, 3, w.globals[0].Stats().Running)
}

// Without a grace nothing is preempted.
func TestGlobal_PreemptsNothingWithoutAGrace(t *testing.T) {
	w := newWorld(t, 1, network{}, 2, slots(1, 1))
	w.weights = map[string]float64{}
	w.begin()
	w.until(start.Add(time.Second))
	w.submit(w.globals[0], federation.Job{Name: "low", User: "a", Tasks: 1, Need: resources.Vector{1}})
	w.until(w.now.Add(time.Second))
	w.submit(w.globals[1], federation.Job{Name: "high", User: "b", Tasks: 1, Need: resources.Vector{1}, Precedence: 5})
	w.until(w.now.Add(time.Minute))
	require.Equal(t, map[federation.Task]string{{Job: "low"}: "local-0/global-0"}, w.runs)
}

// A user that came late gets its share of all cells, from the users of other global
// masters that are above theirs, and preemption ends there. The allocations are of the
// precedence of the jobs.
func TestGlobal_PreemptsForFairnessAcrossGlobals(t *testing.T) {
	for name, tt := range map[string]struct {
		weights map[string]float64
		want    int
	}{
		"equal weights":   {map[string]float64{}, 6},
		"twice the share": {map[string]float64{"b": 2}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1, network{delay: time.Millisecond}, 2, slots(4, 1), slots(4, 1), slots(4, 1))
			w.weights, w.grace = tt.weights, time.Second
			w.begin()
			w.until(start.Add(time.Second))
			w.submit(w.globals[0], federation.Job{Name: "a", User: "a", Tasks: 30, Need: resources.Vector{1}})
			w.until(w.now.Add(15 * time.Second))
			require.Len(t, w.runs, 12)
			w.submit(w.globals[1], federation.Job{Name: "b", User: "b", Tasks: 30, Need: resources.Vector{1}})
			w.until(w.now.Add(2 * time.Minute))
			runs := map[string]int{}
			for task := range w.runs {
				runs[task.Job]++
			}
			require.Equal(t, map[string]int{"a": 12 - tt.want, "b": tt.want}, runs)
			require.Equal(t, 12+tt.want, w.count, "each preemption has brought a task nearer to its share")
			w.check()
			for _, cell := range w.cells {
				for a := range cell.Allocations() {
					require.Zero(t, a.Precedence)
				}
			}
		})
	}
}

// A task that seeks a place keeps to its requirements.
func TestGlobal_PreemptsOnlyWhereRequirementsAreMet(t *testing.T) {
	w := newWorld(t, 1, network{delay: time.Millisecond}, 2, slots(2, 1), slots(2, 1))
	id, _ := w.cells[1].Machine("m1")
	require.NoError(t, w.cells[1].SetAttributes(id, map[string]string{"disk": "ssd"}))
	w.grace = omega.AtOnce
	w.begin()
	w.until(start.Add(time.Second))
	w.submit(w.globals[0], federation.Job{Name: "low", User: "a", Tasks: 4, Need: resources.Vector{1}})
	w.until(w.now.Add(time.Second))
	var node []omega.AllocationID
	w.started = func(e federation.Event) { node = append(node, e.Allocation) }
	w.submit(w.globals[1], federation.Job{Name: "high", User: "b", Tasks: 2, Need: resources.Vector{1}, Precedence: 1, Require: ssd()})
	w.until(w.now.Add(time.Minute))
	high := 0
	for task, at := range w.runs {
		if task.Job == "high" {
			require.Equal(t, "local-1/global-1", at)
			high++
		}
	}
	require.Equal(t, 1, high, "the second finds no machine with the attribute")
	require.Len(t, w.runs, 4)
	require.Len(t, node, 1)
	require.EqualValues(t, 1, node[0].Node())
}

// A local master without a machine that is known has none that meets requirements: a task
// with requirements starts on no machine that is added before the next heartbeat.
func TestGlobal_SeeksOnNoMachineThatItDoesNotKnow(t *testing.T) {
	w := newWorld(t, 1, network{delay: time.Millisecond}, 1, slots(0, 1))
	w.grace = omega.AtOnce
	w.begin()
	w.until(start.Add(time.Second))
	id, err := w.cells[0].Add(omega.Machine{Name: "m0", Capacity: resources.Vector{1}})
	require.NoError(t, err)
	w.submit(w.globals[0], federation.Job{Name: "j", User: "u", Tasks: 1, Need: resources.Vector{1}, Require: ssd()})
	w.until(w.now.Add(3 * w.heartbeat))
	require.Empty(t, w.runs)

	require.NoError(t, w.cells[0].SetAttributes(id, map[string]string{"disk": "ssd"}))
	w.until(w.now.Add(3 * w.heartbeat))
	require.Len(t, w.runs, 1)
}

// A task for which nothing can be preempted does not keep the other tasks of its user from
// seeking.
func TestGlobal_SeeksForEachLaneInTurn(t *testing.T) {
	w := newWorld(t, 1, network{delay: time.Millisecond}, 2, slots(1, 1), slots(1, 1))
	w.grace = time.Second
	w.begin()
	w.until(start.Add(time.Second))
	w.submit(w.globals[0], federation.Job{Name: "low", User: "a", Tasks: 2, Need: resources.Vector{1}})
	w.until(w.now.Add(time.Second))
	require.Len(t, w.runs, 2)
	for i, need := range []int64{100, 50, 1} {
		w.submit(w.globals[1], federation.Job{Name: fmt.Sprint(need), User: "b", Tasks: 1, Need: resources.Vector{need}, Precedence: omega.Precedence(5 - i)})
	}
	w.until(w.now.Add(10 * time.Second))
	require.NotEmpty(t, w.runs[federation.Task{Job: "1"}])
	require.Len(t, w.runs, 2)
	w.check()
}

// A local master that does not answer does not keep a user from seeking at the others.
func TestGlobal_SeeksPastASilentLocalMaster(t *testing.T) {
	for local := range 2 {
		w := newWorld(t, 1, network{delay: time.Millisecond}, 2, slots(1, 1), slots(1, 1))
		w.grace = time.Second
		w.begin()
		w.until(start.Add(time.Second))
		w.submit(w.globals[0], federation.Job{Name: "low", User: "a", Tasks: 2, Need: resources.Vector{1}})
		w.until(w.now.Add(time.Second))
		require.Len(t, w.runs, 2)
		key := fmt.Sprintf("local-%d/global-1", local)
		delete(w.sites, key) // messages to it are lost
		// One task may be launched there, since it looks free, and one may seek there.
		w.submit(w.globals[1], federation.Job{Name: "high", User: "b", Tasks: 3, Need: resources.Vector{1}, Precedence: 5})
		w.until(w.now.Add(30 * time.Second))
		high := 0
		for task, at := range w.runs {
			if task.Job == "high" {
				require.Equal(t, fmt.Sprintf("local-%d/global-1", 1-local), at)
				high++
			}
		}
		require.Equal(t, 1, high, local)
	}
}

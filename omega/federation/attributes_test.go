package federation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/federation"
	"github.com/cellsched/cellsched/resources"
)

// A machine that has lost an attribute since the last report gets no task that requires it:
// the local master refuses the launch, and its answer tells of the change.
func TestVerifier_RefusesAMachineWhoseAttributesHaveChanged(t *testing.T) {
	for what, gang := range map[string]bool{"task by task": false, "gang": true} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, 1, network{delay: time.Millisecond}, 1, slots(2, 2))
			id, _ := w.cells[0].Machine("m0")
			require.NoError(t, w.cells[0].SetAttributes(id, map[string]string{"disk": "ssd"}))
			w.begin()
			w.until(start.Add(time.Second))
			require.NoError(t, w.cells[0].SetAttributes(id, map[string]string{"disk": "hdd"}))
			f := w.globals[0]
			w.submit(f, federation.Job{Name: "j", User: "u", Tasks: 2, Need: resources.Vector{1}, Require: ssd(), Gang: gang})
			w.until(w.now.Add(3 * time.Second))
			require.Empty(t, w.runs)
			require.EqualValues(t, 2, f.Stats().Refused, "the answer has the new attributes, so it is not tried again")
			w.submit(f, federation.Job{Name: "any", User: "u", Tasks: 4, Need: resources.Vector{1}})
			w.until(w.now.Add(time.Second))
			require.Len(t, w.runs, 4, "the machine is open to tasks without requirements")
			for i := range 4 {
				w.finish(federation.Task{Job: "any", Index: i}, true)
			}

			other, _ := w.cells[0].Machine("m1")
			require.NoError(t, w.cells[0].SetAttributes(other, map[string]string{"disk": "ssd"}))
			w.until(w.now.Add(2 * w.heartbeat))
			require.Len(t, w.runs, 2)
			for a := range w.cells[0].Allocations() {
				require.Equal(t, other, a.Machine)
			}
			w.check()
		})
	}
}

// A task that seeks a machine with victims keeps to the present attributes as well, also of
// machines that have changed theirs before.
func TestVerifier_PreemptsOnNoMachineWhoseAttributesHaveChanged(t *testing.T) {
	for lost := range 2 {
		w := newWorld(t, 1, network{delay: time.Millisecond}, 2, slots(2, 1))
		w.grace = omega.AtOnce
		ids := make([]omega.MachineID, 2)
		for i, name := range []string{"m0", "m1"} {
			ids[i], _ = w.cells[0].Machine(name)
			require.NoError(t, w.cells[0].SetAttributes(ids[i], map[string]string{"disk": "ssd"}))
		}
		w.begin()
		w.until(start.Add(time.Second))
		w.submit(w.globals[0], federation.Job{Name: "low", User: "a", Tasks: 2, Need: resources.Vector{1}})
		w.until(w.now.Add(w.heartbeat)) // global-1 knows that the machines are full
		require.NoError(t, w.cells[0].SetAttributes(ids[lost], nil))
		w.submit(w.globals[1], federation.Job{Name: "high", User: "b", Tasks: 2, Need: resources.Vector{1}, Precedence: 1, Require: ssd()})
		w.until(w.now.Add(time.Second))
		high := func() (nodes []locality.Node) {
			for task := range w.runs {
				if task.Job == "high" {
					nodes = append(nodes, w.told[task].Allocation.Node())
				}
			}
			return nodes
		}
		require.Equal(t, []locality.Node{locality.Node(1 - lost)}, high(), "one machine has the attribute")

		require.NoError(t, w.cells[0].SetAttributes(ids[lost], map[string]string{"disk": "ssd"}))
		w.until(w.now.Add(3 * w.heartbeat))
		require.ElementsMatch(t, []locality.Node{0, 1}, high(), "the attributes count once they were heard")
		w.check()
	}
}

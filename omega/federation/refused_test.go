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

// A job that the cells do not permit, for its precedence or as a gang that is too wide,
// closes no machine for other jobs, of its user or of another one.
func TestGlobal_ClosesNoMachineForAJobThatIsForbidden(t *testing.T) {
	for what, bad := range map[string]federation.Job{
		"precedence": {Name: "bad", User: "u", Tasks: 8, Need: resources.Vector{1}, Precedence: 11},
		"gang":       {Name: "bad", User: "u", Tasks: 4, Need: resources.Vector{1}, Gang: true},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, 1, network{delay: time.Millisecond}, 1, slots(4, 1), slots(4, 1))
			w.limits = omega.Limits{Highest: 10, Gang: 3}
			w.begin()
			w.until(start.Add(time.Second))
			w.submit(w.globals[0], bad)
			w.until(w.now.Add(time.Second))
			w.submit(w.globals[0], federation.Job{Name: "good", User: "u", Tasks: 1, Need: resources.Vector{1}})
			w.submit(w.globals[0], federation.Job{Name: "other", User: "v", Tasks: 7, Need: resources.Vector{1}})
			w.until(w.now.Add(time.Second))
			require.Len(t, w.runs, 8)
			w.until(w.now.Add(3 * w.heartbeat))
			require.LessOrEqual(t, w.globals[0].Stats().Refused, uint64(5*8*2), "it is tried again with each heartbeat alone")
		})
	}
}

// A gang that is refused for one machine leaves the others open.
func TestGlobal_ClosesNoMachineOfAGangButTheOneThatRefuses(t *testing.T) {
	w := newWorld(t, 1, network{delay: time.Millisecond}, 1, slots(4, 1))
	w.begin()
	w.until(start.Add(time.Second))
	s, err := w.cells[0].Register("other", omega.Limits{})
	require.NoError(t, err)
	claim(t, s) // of m0, not heard of yet
	w.submit(w.globals[0], federation.Job{Name: "gang", User: "u", Tasks: 4, Need: resources.Vector{1}, Gang: true})
	w.until(w.now.Add(500 * time.Millisecond))
	w.submit(w.globals[0], federation.Job{Name: "lone", User: "u", Tasks: 3, Need: resources.Vector{1}})
	w.until(w.now.Add(500 * time.Millisecond))
	require.Len(t, w.runs, 3)
}

// Tasks of a gang that were stopped start again in the cell of the others, or wait.
func TestGlobal_KeepsAGangWithinItsCell(t *testing.T) {
	w := newWorld(t, 1, network{delay: time.Millisecond}, 1, slots(2, 1), slots(2, 1))
	w.begin()
	w.until(start.Add(time.Second))
	f := w.globals[0]
	w.submit(f, federation.Job{Name: "gang", User: "u", Tasks: 2, Need: resources.Vector{1}, Gang: true})
	w.until(w.now.Add(time.Second))
	at := w.runs[federation.Task{Job: "gang"}]
	require.Equal(t, at, w.runs[federation.Task{Job: "gang", Index: 1}])
	for range 4 {
		w.finish(federation.Task{Job: "gang", Index: 1}, false)
		w.until(w.now.Add(time.Second))
		require.Equal(t, at, w.runs[federation.Task{Job: "gang", Index: 1}])
	}
}

// A gang that fits nowhere leaves the room to a part of another gang of as many tasks.
func TestGlobal_PlacesAPartOfAGangBehindAWholeOne(t *testing.T) {
	w := newWorld(t, 1, network{delay: time.Millisecond}, 1, slots(4, 1), slots(4, 1))
	w.begin()
	w.until(start.Add(time.Second))
	f := w.globals[0]
	for _, name := range []string{"A", "B"} {
		w.submit(f, federation.Job{Name: name, User: "u", Tasks: 4, Need: resources.Vector{1}, Gang: true})
	}
	w.until(w.now.Add(time.Second))
	require.Len(t, w.runs, 8)
	local := 0
	if w.runs[federation.Task{Job: "A"}][:7] == "local-1" {
		local = 1
	}
	for m := range w.cells[local].Machines() {
		w.loseMachine(local, m.ID)
	}
	w.until(w.now.Add(time.Second))
	require.Len(t, w.runs, 4)
	w.finish(federation.Task{Job: "B", Index: 1}, false)
	w.until(w.now.Add(3 * w.heartbeat))
	require.NotEmpty(t, w.runs[federation.Task{Job: "B", Index: 1}])
	require.Equal(t, 4, f.Stats().Waiting)
}

// Attributes are texts. A predicate on a number is refused, and changes nothing.
func TestSubmit_RefusesPredicatesOnNumbers(t *testing.T) {
	w := newWorld(t, 1, network{delay: time.Millisecond}, 1, slots(1, 1))
	id, _ := w.cells[0].Machine("m0")
	require.NoError(t, w.cells[0].SetAttributes(id, map[string]string{"disk": "ssd", "zone": "z0"}))
	f := w.globals[0]
	w.makeGlobal(f)
	for _, p := range []locality.Predicate{
		locality.Greater("disk", 5), locality.Equal("disk", locality.Number(5)), locality.Greater("disk", 5).Not(),
		locality.OneOf("disk", locality.Number(1), locality.Number(2)),
	} {
		err := f.Submit(federation.Job{Name: "bad", User: "u", Tasks: 1, Need: resources.Vector{1}, Require: []locality.Predicate{p}})
		require.ErrorIs(t, err, federation.ErrInvalid)
		require.ErrorContains(t, err, `job "bad": requirement 0`)
	}
	s, err := w.cells[0].Register(f.name, omega.Limits{})
	require.NoError(t, err)
	w.makeVerifier(0, f.name, s, federation.Records{})
	w.stepGlobal(f)
	w.submit(f, federation.Job{Name: "good", User: "u", Tasks: 1, Need: resources.Vector{1}, Require: []locality.Predicate{
		locality.Equal("zone", locality.Text("z0")), locality.OneOf("disk", locality.Text("ssd"), locality.Text("5")),
		locality.Exists("zone"), locality.Exists("5").Not(),
	}})
	w.until(start.Add(time.Second))
	require.Len(t, w.runs, 1)
}

package federation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/federation"
	"github.com/cellsched/cellsched/resources"
)

// A launch of a global master that was replaced, on its way since then, starts nothing:
// its successor has placed the task elsewhere.
func TestVerifier_IgnoresLaunchesOfAnOlderEpoch(t *testing.T) {
	w := newWorld(t, 1, network{delay: time.Millisecond}, 1, slots(1, 1), slots(1, 1))
	w.begin()
	w.until(start.Add(time.Second))
	f := w.globals[0]
	require.NoError(t, f.Submit(federation.Job{Name: "job", User: "u", Tasks: 1, Need: resources.Vector{1}}))
	w.jobs["job"], f.mine = federation.Job{Name: "job", User: "u", Tasks: 1, Need: resources.Vector{1}}, []string{"job"}
	late, _ := f.Step(w.now)
	require.Len(t, late, 1)
	// The successor has no room there any more when it has heard all lists.
	other, err := w.cells[0].Register("other", omega.Limits{})
	require.NoError(t, err)
	if late[0].To == "local-1" {
		other, err = w.cells[1].Register("another", omega.Limits{})
		require.NoError(t, err)
	}
	id := claim(t, other)
	w.failGlobal(f)
	f.old = nil
	w.until(w.now.Add(time.Second))
	require.Len(t, w.runs, 1)
	require.NoError(t, other.Release(id))
	w.send(late)
	w.until(w.now.Add(time.Minute))
	require.Len(t, w.runs, 1)
	require.Equal(t, 1, w.count)
	w.check()
}

// A message of a verifier that was replaced, on its way since then, does no harm.
func TestGlobal_IgnoresReportsOfAnOlderIncarnation(t *testing.T) {
	w := newWorld(t, 1, network{delay: time.Millisecond}, 1, slots(2, 1))
	w.begin()
	w.until(start.Add(time.Second))
	old := w.sites["local-0/global-0"]
	late, _, err := old.Step(context.Background(), w.now.Add(w.heartbeat))
	require.NoError(t, err)
	require.NotEmpty(t, late)
	w.failVerifier(old)
	w.until(w.now.Add(20 * time.Second))
	w.send(late)
	w.until(w.now.Add(time.Second))
	w.submit(w.globals[0], federation.Job{Name: "job", User: "u", Tasks: 2, Need: resources.Vector{1}})
	w.until(w.now.Add(time.Second))
	require.Len(t, w.runs, 2)
}

// A notice that a task was stopped, which a predecessor did not acknowledge, is not about
// the next run of that task.
func TestGlobal_FollowsNoNoticeFromBeforeTheList(t *testing.T) {
	w := newWorld(t, 1, network{delay: time.Millisecond}, 1, slots(1, 1))
	w.begin()
	w.until(start.Add(time.Second))
	f := w.globals[0]
	w.submit(f, federation.Job{Name: "job", User: "u", Tasks: 1, Need: resources.Vector{1}})
	w.until(w.now.Add(time.Second))
	w.net.loss = 1
	w.finish(federation.Task{Job: "job"}, false) // the global master does not hear of it
	w.net.loss = 0
	w.failGlobal(f)
	f.old = nil
	w.until(w.now.Add(5 * w.heartbeat)) // heartbeats repeat what was not acknowledged
	require.Equal(t, map[federation.Task]string{{Job: "job"}: "local-0/global-0"}, w.runs)
	require.Equal(t, 2, w.count)
	require.Equal(t, federation.Stats{Running: 1, Sent: 1}, f.Stats())
}

// A state that is older than the known one is ignored, by its number: that of a heartbeat,
// and that of a reply.
func TestGlobal_IgnoresOlderStates(t *testing.T) {
	w := newWorld(t, 1, network{delay: time.Millisecond}, 1, slots(1, 1))
	w.begin()
	w.until(start.Add(time.Second))
	f, b := w.globals[0], w.sites["local-0/global-0"]
	old, _, err := b.Step(context.Background(), w.now.Add(w.heartbeat)) // the machine is free
	require.NoError(t, err)
	for _, name := range []string{"first", "second", "third"} {
		w.submit(f, federation.Job{Name: name, User: "u", Tasks: 1, Need: resources.Vector{1}})
	}
	w.until(w.now.Add(time.Second))
	require.Len(t, w.runs, 1)

	delete(w.runs, federation.Task{Job: "first"})
	require.NoError(t, b.Done(w.told[federation.Task{Job: "first"}], true))
	w.ended[federation.Task{Job: "first"}] = true
	freed, _, err := b.Step(context.Background(), w.now) // the machine is free again
	require.NoError(t, err)
	old = append(old, freed...)
	w.send(freed)
	w.until(w.now.Add(time.Second))
	require.NotEmpty(t, w.runs[federation.Task{Job: "second"}])
	for _, m := range old {
		require.NoError(t, f.Receive(m))
		out, _ := f.Step(w.now)
		require.Empty(t, out, "a launch on a machine that is known to be taken")
	}
	require.Equal(t, federation.Stats{Waiting: 1, Running: 1, Sent: 2}, f.Stats())
}

// What the global master was sent once is not sent again: a reply has the machines that
// have changed since the last one, however many replies there were before.
func TestVerifier_ReportsAChangeOnce(t *testing.T) {
	w := newWorld(t, 1, network{delay: time.Millisecond}, 1, slots(8, 1))
	w.begin()
	w.until(start.Add(time.Second))
	f, b := w.globals[0], w.sites["local-0/global-0"]
	size := 0
	for i := range 100 {
		task := federation.Task{Job: fmt.Sprintf("job-%02d", i)}
		w.submit(f, federation.Job{Name: task.Job, User: "u", Tasks: 1, Need: resources.Vector{1}})
		w.until(w.now.Add(time.Second / 100))
		require.NotEmpty(t, w.runs[task])
		delete(w.runs, task)
		w.ended[task] = true
		require.NoError(t, b.Done(w.told[task], true))
		reply, _, err := b.Step(t.Context(), w.now)
		require.NoError(t, err)
		require.Len(t, reply, 1)
		text, err := json.Marshal(reply[0])
		require.NoError(t, err)
		if i == 0 {
			size = len(text)
		}
		require.Less(t, len(text), 2*size, "reply %d: %s", i, text) // numbers get longer
		w.send(reply)
		w.until(w.now.Add(time.Second / 100))
	}
}

// A launch that is refused for a limit of the scheduler is tried again with the next
// heartbeat, and not before: the machine looks free all the time.
func TestGlobal_TriesAMachineAgainThatLooksFree(t *testing.T) {
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{
		{Name: "small", Capacity: resources.Vector{1}}, {Name: "large", Capacity: resources.Vector{2}},
	}})
	require.NoError(t, err)
	w := newWorld(t, 1, network{delay: time.Millisecond}, 1, slots(1, 1))
	w.cells[0] = cell
	f := w.globals[0]
	w.makeGlobal(f)
	s, err := cell.Register(f.name, omega.Limits{Held: &resources.Vector{2}})
	require.NoError(t, err)
	w.makeVerifier(0, f.name, s, federation.Records{})
	w.stepGlobal(f)
	w.until(start.Add(time.Second))
	w.submit(f, federation.Job{Name: "a", User: "u", Tasks: 1, Need: resources.Vector{1}})
	w.submit(f, federation.Job{Name: "b", User: "u", Tasks: 1, Need: resources.Vector{2}})
	w.until(start.Add(3 * time.Minute))
	require.Len(t, w.runs, 1)
	require.LessOrEqual(t, f.Stats().Refused, uint64(3*60/10+2), "once in a heartbeat")
	w.finish(federation.Task{Job: "a"}, true)
	w.until(w.now.Add(2 * w.heartbeat))
	require.Contains(t, w.runs, federation.Task{Job: "b"})
}

// A run is over once: that it was told so late, or twice, does not end the next run of the task.
func TestVerifier_EndsARunOnce(t *testing.T) {
	w := newWorld(t, 1, network{delay: time.Millisecond}, 1, slots(1, 1))
	w.begin()
	w.until(start.Add(time.Second))
	b, task := w.sites["local-0/global-0"], federation.Task{Job: "j"}
	w.submit(w.globals[0], federation.Job{Name: "j", User: "u", Tasks: 1, Need: resources.Vector{1}})
	w.until(w.now.Add(time.Second))
	first := w.told[task]
	w.finish(task, false)
	w.until(w.now.Add(time.Second))
	require.NotEmpty(t, w.runs[task])
	require.NotEqual(t, first.Allocation, w.told[task].Allocation)

	require.ErrorIs(t, b.Done(first, true), federation.ErrUnknown)
	w.stepVerifier(b)
	w.until(w.now.Add(3 * w.heartbeat))
	require.NotEmpty(t, w.runs[task])
	require.Equal(t, 1, w.globals[0].Stats().Running)

	second := w.told[task]
	require.NoError(t, b.Done(second, true))
	require.NoError(t, b.Done(second, false), "both before the step, of which the first counts")
	delete(w.runs, task)
	w.ended[task] = true
	w.stepVerifier(b)
	w.until(w.now.Add(3 * w.heartbeat))
	require.Zero(t, w.globals[0].Stats().Waiting+w.globals[0].Stats().Running)
	w.check()
}

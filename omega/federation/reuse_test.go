package federation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/federation"
	"github.com/cellsched/cellsched/resources"
)

// The name of a job that has ended may be used again, also before the local master has
// heard that the end was acknowledged.
func TestFederation_RunsANewJobOfAnOldName(t *testing.T) {
	w := newWorld(t, 1, network{delay: time.Millisecond}, 1, slots(1, 1))
	w.begin()
	w.until(start.Add(time.Second))
	f, task := w.globals[0], federation.Task{Job: "j"}
	job := federation.Job{Name: "j", User: "u", Tasks: 1, Need: resources.Vector{1}}
	w.submit(f, job)
	w.until(w.now.Add(time.Second))
	w.finish(task, true)
	w.until(w.now.Add(100 * time.Millisecond))
	require.True(t, f.told[task])
	w.net.loss = 1 // the acknowledgement
	w.until(w.now.Add(2 * time.Second))
	w.net.loss = 0
	delete(w.ended, task)
	w.submit(f, job)
	w.until(w.now.Add(3 * w.heartbeat))
	require.Equal(t, 2, w.count)
	w.finish(task, true)
	w.until(w.now.Add(3 * w.heartbeat))
	require.Zero(t, f.Stats().Running)
	w.allEnded()
	w.check()
}

// A successor takes the end of an old job for that of no new one, before or after it has
// heard of the old one.
func TestGlobal_TakesNoOldEndForThatOfANewJob(t *testing.T) {
	w := newWorld(t, 1, network{delay: time.Millisecond}, 1, slots(1, 1))
	w.begin()
	w.until(start.Add(time.Second))
	f, task := w.globals[0], federation.Task{Job: "j"}
	job := federation.Job{Name: "j", User: "u", Tasks: 1, Need: resources.Vector{1}}
	w.submit(f, job)
	w.until(w.now.Add(time.Second))
	w.finish(task, true)
	w.until(w.now.Add(100 * time.Millisecond))
	require.True(t, f.told[task])
	w.failGlobal(f) // before it has acknowledged the end
	f.old = nil
	w.until(w.now.Add(time.Second))
	delete(w.ended, task)
	delete(f.told, task)
	w.submit(f, job)
	w.until(w.now.Add(time.Second))
	require.Equal(t, 2, w.count)
	w.finish(task, true)
	w.until(w.now.Add(3 * w.heartbeat))
	w.allEnded()
}

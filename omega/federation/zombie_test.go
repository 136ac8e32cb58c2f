package federation_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/federation"
	"github.com/cellsched/cellsched/resources"
)

// A global master that does not know that it was replaced gets nothing from a verifier
// that was replaced since: the epoch is part of the records. Else a task would run twice,
// which the successor has placed elsewhere.
func TestVerifier_RemembersTheEpochThatItServes(t *testing.T) {
	w := newWorld(t, 1, network{delay: time.Millisecond}, 1, slots(1, 1), slots(1, 1))
	w.begin()
	w.until(start.Add(time.Second))
	f := w.globals[0]
	w.submit(f, federation.Job{Name: "filler", User: "u", Tasks: 2, Need: resources.Vector{1}})
	w.until(w.now.Add(time.Second))
	w.submit(f, federation.Job{Name: "job", User: "u", Tasks: 1, Need: resources.Vector{1}})
	w.until(w.now.Add(time.Second))
	old := f.Global
	w.failGlobal(f)
	f.old = nil // it is driven by hand
	w.until(w.now.Add(time.Second))
	w.finish(federation.Task{Job: "filler", Index: 0}, true)
	w.until(w.now.Add(time.Second))
	job := federation.Task{Job: "job"}
	require.NotEmpty(t, w.runs[job])
	w.finish(federation.Task{Job: "filler", Index: 1}, true)
	free := "local-0/global-0"
	if w.runs[job] == free {
		free = "local-1/global-0"
	}
	before := w.sites[free]
	w.failVerifier(before)
	v := w.sites[free]
	// Nothing but the old global master speaks with the new verifier.
	for range 5 {
		w.now = w.now.Add(w.heartbeat)
		reports, _, err := v.Step(context.Background(), w.now)
		require.NoError(t, err)
		for _, m := range reports {
			_ = old.Receive(m)
		}
		asks, _ := old.Step(w.now)
		for _, m := range asks {
			if m.To == free[:7] {
				require.NoError(t, v.Receive(m))
			}
		}
	}
	require.Len(t, w.runs, 1, "the verifier ignores it")
}

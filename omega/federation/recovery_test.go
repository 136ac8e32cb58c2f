package federation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
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

// A local master goes on from its store: the saved cell, and the records as JSON. What ran
// goes on, and the global master hears of what has ended meanwhile.
func TestVerifier_GoesOnFromASavedCell(t *testing.T) {
	w := newWorld(t, 1, network{delay: time.Millisecond}, 2, slots(4, 1), slots(2, 1))
	w.begin()
	w.until(start.Add(time.Second))
	for _, f := range w.globals {
		w.submit(f, federation.Job{Name: "job of " + f.name, User: f.name, Tasks: 5, Need: resources.Vector{1}})
	}
	w.until(w.now.Add(time.Second))
	require.Len(t, w.runs, 6)

	// One task ends, and its global master does not hear of it.
	w.net.loss = 1
	for task, at := range w.runs {
		if at[:7] == "local-0" {
			w.finish(task, true)
			break
		}
	}
	var saved bytes.Buffer
	require.NoError(t, w.cells[0].Save(&saved))
	records := map[string][]byte{}
	for _, f := range w.globals {
		text, err := json.Marshal(w.sites["local-0/"+f.name].Records())
		require.NoError(t, err)
		records[f.name] = text
	}
	restored, err := omega.Restore(&saved, nil)
	require.NoError(t, err)
	w.cells[0] = restored
	w.net.loss = 0
	for _, f := range w.globals {
		var kept federation.Records
		require.NoError(t, json.Unmarshal(records[f.name], &kept))
		s, err := restored.Replace(f.name)
		require.NoError(t, err)
		w.makeVerifier(0, f.name, s, kept)
	}
	w.until(w.now.Add(3 * w.heartbeat))
	require.Len(t, w.runs, 6, "the room of the ended task is used again")
	w.check()
	for len(w.runs) > 0 {
		for task := range w.runs {
			w.finish(task, true)
			break
		}
		w.until(w.now.Add(time.Second))
	}
	w.until(w.now.Add(3 * w.heartbeat))
	w.allEnded()
	w.check()
}

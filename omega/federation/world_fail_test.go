package federation_test

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/federation"
)

// failGlobal replaces a global master. The user submits again what it has not heard the
// end of.
func (w *world) failGlobal(f *front) {
	f.epoch++
	if old := f.Global; w.rand.IntN(2) == 0 {
		f.old = old
		for i := range 20 { // it goes on by its own clock
			w.after(time.Duration(i)*w.timeout, func() {
				if f.old == old {
					out, _ := old.Step(w.now)
					w.send(out)
				}
			})
		}
	}
	w.makeGlobal(f)
	for _, name := range f.mine {
		j := w.jobs[name]
		j.Ended = []int{}
		for i := range j.Tasks {
			if f.told[federation.Task{Job: name, Index: i}] {
				j.Ended = append(j.Ended, i)
			}
		}
		if len(j.Ended) < j.Tasks {
			require.NoError(w.t, f.Submit(j))
		}
	}
	w.stepGlobal(f)
}

// failVerifier replaces a verifier: with the cell, and the records, as its store.
func (w *world) failVerifier(b *back) {
	s, err := w.cells[b.local].Replace(b.global)
	require.NoError(w.t, err)
	w.makeVerifier(b.local, b.global, s, b.Records())
}

// loseMachine removes a machine with all that runs on it.
func (w *world) loseMachine(local int, id omega.MachineID) {
	_, err := w.cells[local].Remove(id)
	require.NoError(w.t, err)
	w.stepAll()
}

package federation_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/federation"
	"github.com/cellsched/cellsched/resources"
)

var seeds = flag.Int("federation.seeds", 200, "simulated worlds of each kind")

// Whatever becomes of messages and masters, each task runs to its end exactly once, the
// cells are whole, and users are told.
func TestFederation_LosesNoTaskAndRunsNoneTwice(t *testing.T) {
	for seed := range *seeds {
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { faulty(t, uint64(seed)) }) {
			return
		}
	}
}

func faulty(t *testing.T, seed uint64) {
	t.Helper()
	w := newWorld(t, seed, network{}, 0)
	r := w.rand
	// The shape of the world depends on the seed alone.
	var cells [][]resources.Vector
	for range 1 + r.IntN(4) {
		var machines []resources.Vector
		for range 1 + r.IntN(5) {
			machines = append(machines, resources.Vector{1 + r.Int64N(4), 1 + r.Int64N(4)})
		}
		cells = append(cells, append(machines, resources.Vector{4, 4})) // each task fits somewhere
	}
	net := network{delay: time.Duration(r.IntN(3)) * 50 * time.Millisecond, jitter: time.Duration(r.IntN(4)) * 500 * time.Millisecond}
	if r.IntN(4) > 0 {
		net.loss, net.double = r.Float64()*0.4, r.Float64()*0.5
	}
	w = newWorld(t, seed, net, 1+r.IntN(3), cells...)
	w.heartbeat = time.Duration(1+r.IntN(10)) * time.Second
	w.length = func() time.Duration { return time.Duration(r.Int64N(int64(20 * time.Second))) }
	if r.IntN(2) > 0 {
		w.weights = map[string]float64{"user-0": 2}
	}
	if r.IntN(2) > 0 {
		w.grace = time.Second
	}
	if r.IntN(4) == 0 {
		w.doubt = 0.3
	}
	w.begin()

	for i := range 3 + r.IntN(8) {
		f := w.globals[r.IntN(len(w.globals))]
		w.after(time.Duration(r.Int64N(int64(30*time.Second))), func() {
			w.submit(f, federation.Job{
				Name: fmt.Sprint("job-", i), User: fmt.Sprintf("user-%d", r.IntN(2)), Tasks: 1 + r.IntN(5),
				Need: resources.Vector{1 + r.Int64N(3), r.Int64N(4)}, Precedence: omega.Precedence(r.IntN(2)),
			})
		})
	}
	for range r.IntN(4) {
		f := w.globals[r.IntN(len(w.globals))]
		w.after(time.Duration(r.Int64N(int64(60*time.Second))), func() { w.failGlobal(f) })
	}
	for range r.IntN(4) {
		key := w.names[r.IntN(len(w.names))] + "/" + w.globals[r.IntN(len(w.globals))].name
		w.after(time.Duration(r.Int64N(int64(60*time.Second))), func() { w.failVerifier(w.sites[key]) })
	}
	if local := r.IntN(2 * len(w.cells)); local < len(w.cells) {
		id, _ := w.cells[local].Machine("m0")
		w.after(time.Duration(r.Int64N(int64(40*time.Second))), func() {
			w.loseMachine(local, id)
			_, err := w.cells[local].Add(omega.Machine{Name: "new", Capacity: resources.Vector{2, 2}})
			require.NoError(t, err)
		})
	}
	for i := range 12 {
		w.until(start.Add(time.Duration(i) * 10 * time.Second))
		w.check()
	}
	w.net.loss, w.doubt = 0, min(w.doubt, 0.01)
	w.until(start.Add(20 * time.Minute))
	w.check()
	w.allEnded()
}

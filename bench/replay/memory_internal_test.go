package main

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/trace"
	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// However long a trace is, a replay holds the jobs that are under way, and no
// more. From the 2,000th job to the 6,000th the heap does not grow by five
// bytes for each.
func TestReplay_HoldsOnlyJobsUnderWay(t *testing.T) {
	const early, late = 2_000, 6_000
	var machines []trace.Machine
	for i := range 20 {
		machines = append(machines, trace.Machine{Name: strconv.Itoa(i), Rack: strconv.Itoa(i % 4), Capacity: resources.Vector{4}})
	}
	for _, order := range []string{"drf", "fifo", "priority", "pools"} {
		heap := map[int]uint64{}
		r, err := newReplay(config{
			machines: machines, order: order, by: "user", policy: omega.NextFit(), replicas: 3,
			waits: delay.Waits{3 * time.Second},
			jobs: func(yield func(trace.Job, error) bool) {
				for i := range late + 100 {
					work := []trace.Tasks{{Count: 3, Need: resources.Vector{1}, Duration: 20 * time.Second, Input: strconv.Itoa(i)}}
					j := trace.Job{ID: strconv.Itoa(i), User: strconv.Itoa(i % 7), Class: strconv.Itoa(i % 3), Submit: time.Duration(i) * time.Second, Work: work}
					if !yield(j, nil) {
						return
					}
				}
			},
			progress: func(jobs int) {
				if jobs == early || jobs == late {
					var m runtime.MemStats
					runtime.GC()
					runtime.ReadMemStats(&m)
					heap[jobs] = m.HeapAlloc
				}
			},
		})
		require.NoError(t, err)
		res, err := r.run()
		require.NoError(t, err)
		require.Equal(t, late+100, res.JobsEnded)
		require.Less(t, heap[late], heap[early]+5*(late-early), order)
	}
}

package view_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/cputime"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/view"
	"github.com/cellsched/cellsched/resources"
)

// BenchmarkFrame is one frame of a cell of which a part changes between two frames, with
// all that a viewer is sent: states, or the changes, and the overview.
//
// Measured 2026-11-24 on 2 cores of an AMD EPYC at a load of 3 to 5, Go 1.26.8, medians of
// four:
//
//	go test -run '^$' -bench Frame -benchtime 60x -count 4 ./omega/view
//
//	machines  changed  cpu-ns/frame   B-max
//	   5,000       1%        32,000     169
//	   5,000      10%       109,000   1,039
//	   5,000     100%       458,000   5,031
//	  50,000       1%       430,000   1,366
//	  50,000      10%     1,612,000  10,087
//	  50,000     100%     4,858,000  50,656
//
// The last took 6.4 ms in the same minutes where RefreshEach copied each machine for the
// searches that a viewer does not make.
func BenchmarkFrame(b *testing.B) {
	for _, machines := range []int{5_000, 50_000} {
		for _, changed := range []int{0, 1, 10, 100} {
			b.Run(fmt.Sprintf("machines=%d/changed=%d%%", machines, changed), func(b *testing.B) {
				cell, s := newCell(b, machines)
				ids := make([]omega.MachineID, 0, machines)
				for m := range cell.Machines() {
					ids = append(ids, m.ID)
				}
				r := rand.New(rand.NewPCG(1, 2))
				live := make([]omega.AllocationID, machines)
				turn := func(i int) { // takes or gives back room on a machine
					if live[i] != (omega.AllocationID{}) {
						require.NoError(b, s.Release(live[i]))
						live[i] = omega.AllocationID{}
						return
					}
					var tx omega.Txn
					tx.Claim(omega.Claim{Machine: ids[i], Need: resources.Vector{100 + r.Int64N(7000), 1 << 30}})
					_, err := s.Commit(&tx)
					require.NoError(b, err)
					live[i], _ = tx.Allocation(0)
				}
				for i := range machines {
					turn(i)
				}
				step := view.Bench(view.Config{Cell: cell}, "dominant")
				step() // the first one looks at all machines
				bytes, most := 0, 0
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				var cpu time.Duration
				for b.Loop() {
					b.StopTimer()
					for _, i := range r.Perm(machines)[:machines*changed/100] {
						turn(i)
					}
					began := cputime.OfThread()
					b.StartTimer()
					sent := len(step())
					cpu += cputime.OfThread() - began
					bytes += sent
					most = max(most, sent)
				}
				b.ReportMetric(float64(cpu)/float64(b.N), "cpu-ns/frame")
				b.ReportMetric(float64(bytes)/float64(b.N), "B/frame")
				b.ReportMetric(float64(most), "B-max")
			})
		}
	}
}

// BenchmarkFirst is the first frame of a first viewer, which looks at all machines: 1.2 ms
// of CPU time for 5,000 machines, 12 ms for 50,000, measured as those above.
func BenchmarkFirst(b *testing.B) {
	for _, machines := range []int{5_000, 50_000} {
		b.Run(fmt.Sprintf("machines=%d", machines), func(b *testing.B) {
			cell, _ := newCell(b, machines)
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			began := cputime.OfThread()
			for b.Loop() {
				view.Bench(view.Config{Cell: cell}, "dominant")()
			}
			b.ReportMetric(float64(cputime.OfThread()-began)/float64(b.N), "cpu-ns/frame")
		})
	}
}

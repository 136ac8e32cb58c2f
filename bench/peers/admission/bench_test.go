package admission_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/cellsched/cellsched/internal/cputime"
)

// BenchmarkAcquire measures taking one of limit units, a task that does next
// to nothing, and giving the unit back, all in the goroutine that asks. Of 100
// units there is always one left; for a single one all but one wait.
func BenchmarkAcquire(b *testing.B) {
	for _, limit := range []int{1, 100} {
		benchPeers(b, inPlace(), limit)
	}
}

// BenchmarkSubmit measures handing over a task that does next to nothing, to
// run in another goroutine, until the last one has run. To submit is faster
// than to run, so that submitters wait at either limit: for one of two that
// run, or until enough of 100 have. In a pond they wait for its queue.
func BenchmarkSubmit(b *testing.B) {
	for _, limit := range []int{2, 100} {
		benchPeers(b, append(elsewhere(), contender{"go", openUnbounded}), limit)
	}
}

func benchPeers(b *testing.B, contenders []contender, limit int) {
	b.Helper()
	for _, c := range contenders {
		for _, goroutines := range []int{1, 2, 8, maxSubmitters} {
			b.Run(fmt.Sprintf("limit=%d/peer=%s/goroutines=%d", limit, c.name, goroutines), func(b *testing.B) {
				var ran atomic.Int64
				p := c.open(b, limit, func() { ran.Add(1) })
				b.ReportAllocs()
				b.ResetTimer()
				start := cputime.Used()
				drive(p, goroutines, b.N)
				p.wait()
				used := cputime.Used() - start
				b.StopTimer()
				if n := int(ran.Load()); n != b.N {
					b.Fatal(n, "of", b.N, "tasks ran")
				}
				// Of the process: on a shared machine the wall clock also
				// counts the work of others.
				b.ReportMetric(float64(used)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

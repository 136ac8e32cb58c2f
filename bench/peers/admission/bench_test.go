package admission_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/cellsched/cellsched/bench/peers/internal/cputime"
)

// BenchmarkAcquire measures taking one of limit units, a task that does next
// to nothing, and giving the unit back, all in the goroutine that asks. Where
// the limit is 1, whoever is not alone waits; where it is 100, nobody ever
// does.
func BenchmarkAcquire(b *testing.B) {
	for _, limit := range []int{1, 100} {
		benchPeers(b, inPlace(), limit)
	}
}

// BenchmarkSubmit measures handing over a task that does next to nothing, to
// run in another goroutine, until the last one has run. With two at a time, one
// for each core of a small machine, those who submit wait most of the time;
// with 100 they seldom do.
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
				// Wall time on two cores hides what the other one does.
				b.ReportMetric(float64(used)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

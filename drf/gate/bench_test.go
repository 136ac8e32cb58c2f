package gate_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf/gate"
	"github.com/cellsched/cellsched/resources"
)

// BenchmarkGate is a question and the note that the task has begun, by 8 goroutines
// at once, each with a seat of its own.
//
//   - tasks=short: each task ends and is returned at once, so no seat is ahead for
//     long.
//   - tasks=endless: all usage counts for ever, so seats can only take turns. A
//     seat that is ahead is refused and lets others run.
//   - clock=now: the time is read for each question, as a caller would.
//   - clock=stopped: the gate alone.
func BenchmarkGate(b *testing.B) {
	const seats = 8
	stopped := func() time.Time { return time.Unix(1, 0) }
	for _, c := range []struct {
		name  string
		short bool
		clock func() time.Time
	}{
		{"tasks=short/clock=stopped", true, stopped},
		{"tasks=short/clock=now", true, time.Now},
		{"tasks=endless/clock=stopped", false, stopped},
	} {
		b.Run(c.name, func(b *testing.B) {
			g, err := gate.New(resources.Vector{1 << 60, 1 << 60, 1 << 60}, time.Hour)
			require.NoError(b, err)
			var number, questions atomic.Int64
			b.SetParallelism((seats + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				seat, err := g.Join(1)
				if err != nil {
					b.Error(err)
					return
				}
				defer seat.Rest()
				need := resources.Vector{1 + number.Add(1)%3, 1, 1}
				asked := int64(0)
				defer func() { questions.Add(asked) }()
				for pb.Next() {
					for yes := false; !yes; {
						if yes, err = seat.Ask(need, c.clock()); err != nil {
							b.Error(err)
							return
						}
						if asked++; !yes {
							runtime.Gosched()
						}
					}
					seat.Keep()
					if c.short {
						if err := seat.Return(need); err != nil {
							b.Error(err)
							return
						}
					}
				}
			})
			b.ReportMetric(float64(questions.Load())/float64(b.N), "questions/op")
		})
	}
}

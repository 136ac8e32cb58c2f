package peers_test

import (
	"testing"
	"time"

	"github.com/cellsched/cellsched/internal/cputime"
)

// meter adds up the CPU time of the process, garbage collection included: wall
// time on two cores hides a collector that runs on the other one.
type meter struct {
	from, total time.Duration
}

func (m *meter) start() { m.from = cputime.Used() }

func (m *meter) stop() { m.total += cputime.Used() - m.from }

// report gives the CPU time per operation, and per task where an operation is
// so many of them.
func (m *meter) report(b *testing.B, tasks int) {
	b.Helper()
	perOp := float64(m.total) / float64(b.N)
	b.ReportMetric(perOp, "cpu-ns/op")
	if tasks > 1 {
		b.ReportMetric(perOp/float64(tasks), "cpu-ns/task")
	}
}

// stopwatch times a part of each operation.
type stopwatch struct {
	from  time.Time
	total time.Duration
}

func (s *stopwatch) start() { s.from = time.Now() }

func (s *stopwatch) stop() { s.total += time.Since(s.from) }

// report gives the part's share of an operation.
func (s *stopwatch) report(b *testing.B, unit string) {
	b.Helper()
	b.ReportMetric(float64(s.total)/float64(b.N), unit)
}

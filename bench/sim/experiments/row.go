package experiments

import (
	"slices"
	"time"

	"github.com/cellsched/cellsched/bench/sim/simulate"
)

// Row is one point of an experiment: what was set, and what came out of it, as
// the mean over the seeds.
type Row struct {
	Architecture string
	Mode         string        // of conflict detection and transactions; "" where there are none
	Batch        int           // batch schedulers
	Rate         float64       // of batch jobs, times that of the workload
	TJob         time.Duration // t_job of service jobs

	Seeds int
	Class [simulate.Classes]Outcome
	CPU   float64 // share in use
}

// Outcome is what a row says about one class. Waits are in seconds.
type Outcome struct {
	Busyness                      float64
	Conflicts                     float64 // per transaction that succeeded
	LeastConflicts, MostConflicts float64 // of any seed
	DailyBusyness, DailyConflicts simulate.Median
	Wait, WaitP90, WaitP99        float64
	Full, FullP90, FullP99        float64
	Submitted, Placed, Abandoned  float64 // jobs
}

// summarise adds what the seeds gave to a row.
func (r *Row) summarise(runs []*simulate.Metrics) {
	r.Seeds = len(runs)
	mean := func(of func(m *simulate.Metrics) float64) float64 {
		sum := 0.0
		for _, m := range runs {
			sum += of(m)
		}
		return sum / float64(len(runs))
	}
	r.CPU = mean(func(m *simulate.Metrics) float64 { return m.Utilisation[simulate.CPU] })
	for c := range simulate.Classes {
		of := func(pick func(*simulate.ClassMetrics) float64) float64 {
			return mean(func(m *simulate.Metrics) float64 { return pick(&m.Classes[c]) })
		}
		var conflicts []float64
		for _, m := range runs {
			conflicts = append(conflicts, m.Classes[c].Conflicts())
		}
		busy := func(m *simulate.Metrics) simulate.Median { b, _ := m.Daily(c); return b }
		daily := func(m *simulate.Metrics) simulate.Median { _, f := m.Daily(c); return f }
		r.Class[c] = Outcome{
			Busyness:       mean(func(m *simulate.Metrics) float64 { return m.Busyness(c) }),
			Conflicts:      of(func(m *simulate.ClassMetrics) float64 { return m.Conflicts() }),
			LeastConflicts: slices.Min(conflicts),
			MostConflicts:  slices.Max(conflicts),
			DailyBusyness: simulate.Median{
				Value: mean(func(m *simulate.Metrics) float64 { return busy(m).Value }),
				MAD:   mean(func(m *simulate.Metrics) float64 { return busy(m).MAD }),
			},
			DailyConflicts: simulate.Median{
				Value: mean(func(m *simulate.Metrics) float64 { return daily(m).Value }),
				MAD:   mean(func(m *simulate.Metrics) float64 { return daily(m).MAD }),
			},
			Wait:      of(func(m *simulate.ClassMetrics) float64 { return m.Wait.Mean.Seconds() }),
			WaitP90:   of(func(m *simulate.ClassMetrics) float64 { return m.Wait.P90.Seconds() }),
			WaitP99:   of(func(m *simulate.ClassMetrics) float64 { return m.Wait.P99.Seconds() }),
			Full:      of(func(m *simulate.ClassMetrics) float64 { return m.WaitFull.Mean.Seconds() }),
			FullP90:   of(func(m *simulate.ClassMetrics) float64 { return m.WaitFull.P90.Seconds() }),
			FullP99:   of(func(m *simulate.ClassMetrics) float64 { return m.WaitFull.P99.Seconds() }),
			Submitted: of(func(m *simulate.ClassMetrics) float64 { return float64(m.Submitted) }),
			Placed:    of(func(m *simulate.ClassMetrics) float64 { return float64(m.Full) }),
			Abandoned: of(func(m *simulate.ClassMetrics) float64 { return float64(m.Abandoned) }),
		}
	}
}

package experiments

import (
	"slices"
	"time"

	"github.com/cellsched/cellsched/bench/sim/simulate"
)

// Row is one point of an experiment: its settings and its results, as
// the mean over the seeds.
type Row struct {
	Architecture string
	Mode         string        // of conflict detection and transactions, or of offers; "" where there are none
	Batch        int           // batch schedulers
	Rate         float64       // of batch jobs, times that of the workload
	TJob         time.Duration // t_job of service jobs

	Seeds int
	Class [simulate.Classes]Outcome
	CPU   float64 // share in use
	// Memory is the share in use, Schedulers is the load of each scheduler.
	Memory     float64
	Schedulers []SchedulerLoad
}

// SchedulerLoad is the work of one scheduler. Times are in seconds, all are means.
type SchedulerLoad struct {
	Name                  string
	Busyness              float64
	Useful, Wasted        float64
	Succeeded, Conflicted float64 // transactions
	Preempted             float64 // tasks
	Locked                float64 // share of all CPU that was offered to it
}

// Outcome is the results of a row for one class. Waits are in seconds.
type Outcome struct {
	Busyness                      float64   // of the schedulers that serve the class, on all their jobs
	BusynessOn                    float64   // the part of that which they spent on jobs of the class
	Conflicts                     float64   // per transaction that succeeded
	LeastConflicts, MostConflicts float64   // of any seed
	EachBusyness, EachConflicts   []float64 // by seed
	DailyBusyness, DailyConflicts simulate.Median
	Wait, WaitP90, WaitP99        float64
	Full, FullP90, FullP99        float64
	Submitted, Placed, Abandoned  float64 // jobs

	Queued, QueuedP90, QueuedP99 float64 // of Full, in the queue
	Started                      float64 // jobs
	Useful, Wasted               float64 // seconds
	Succeeded, Conflicted        float64 // transactions
	NoRoom                       float64 // attempts
	Granted, Refused             float64 // claims
	Locked                       float64 // share of all CPU in offers
}

// summarise adds the results of the seeds to a row.
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
	r.Memory = mean(func(m *simulate.Metrics) float64 { return m.Utilisation[simulate.Memory] })
	for i := range runs[0].Schedulers {
		of := func(pick func(*simulate.Load) float64) float64 {
			return mean(func(m *simulate.Metrics) float64 { return pick(&m.Schedulers[i]) })
		}
		r.Schedulers = append(r.Schedulers, SchedulerLoad{
			Name:       runs[0].Schedulers[i].Name,
			Busyness:   of(func(l *simulate.Load) float64 { return l.Busyness() }),
			Useful:     of(func(l *simulate.Load) float64 { return l.Useful.Seconds() }),
			Wasted:     of(func(l *simulate.Load) float64 { return l.Wasted.Seconds() }),
			Succeeded:  of(func(l *simulate.Load) float64 { return float64(l.Succeeded) }),
			Conflicted: of(func(l *simulate.Load) float64 { return float64(l.Conflicted) }),
			Preempted:  of(func(l *simulate.Load) float64 { return float64(l.Preempted) }),
			Locked:     of(func(l *simulate.Load) float64 { return l.Locked[simulate.CPU] }),
		})
	}
	for c := range simulate.Classes {
		of := func(pick func(*simulate.ClassMetrics) float64) float64 {
			return mean(func(m *simulate.Metrics) float64 { return pick(&m.Classes[c]) })
		}
		var conflicts, busyness []float64
		for _, m := range runs {
			conflicts, busyness = append(conflicts, m.Classes[c].Conflicts()), append(busyness, m.Busyness(c))
		}
		busy := func(m *simulate.Metrics) simulate.Median { b, _ := m.Daily(c); return b }
		daily := func(m *simulate.Metrics) simulate.Median { _, f := m.Daily(c); return f }
		r.Class[c] = Outcome{
			Busyness:       mean(func(m *simulate.Metrics) float64 { return m.Busyness(c) }),
			BusynessOn:     mean(func(m *simulate.Metrics) float64 { return m.BusynessOn(c) }),
			Conflicts:      of(func(m *simulate.ClassMetrics) float64 { return m.Conflicts() }),
			EachConflicts:  conflicts,
			EachBusyness:   busyness,
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

			Queued:     of(func(m *simulate.ClassMetrics) float64 { return m.QueuedFull.Mean.Seconds() }),
			QueuedP90:  of(func(m *simulate.ClassMetrics) float64 { return m.QueuedFull.P90.Seconds() }),
			QueuedP99:  of(func(m *simulate.ClassMetrics) float64 { return m.QueuedFull.P99.Seconds() }),
			Started:    of(func(m *simulate.ClassMetrics) float64 { return float64(m.Started) }),
			Useful:     of(func(m *simulate.ClassMetrics) float64 { return m.Useful.Seconds() }),
			Wasted:     of(func(m *simulate.ClassMetrics) float64 { return m.Wasted.Seconds() }),
			Succeeded:  of(func(m *simulate.ClassMetrics) float64 { return float64(m.Succeeded) }),
			Conflicted: of(func(m *simulate.ClassMetrics) float64 { return float64(m.Conflicted) }),
			NoRoom:     of(func(m *simulate.ClassMetrics) float64 { return float64(m.NoRoom) }),
			Granted:    of(func(m *simulate.ClassMetrics) float64 { return float64(m.Granted) }),
			Refused:    of(func(m *simulate.ClassMetrics) float64 { return float64(m.Refused) }),
			Locked:     mean(func(m *simulate.Metrics) float64 { return m.Locked(c)[simulate.CPU] }),
		}
	}
}

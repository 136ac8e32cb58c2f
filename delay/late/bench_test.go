package late_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cellsched/cellsched/delay/late"
	"github.com/cellsched/cellsched/locality"
)

// report is the next progress of an attempt.
type report struct {
	attempt  late.Attempt
	progress float64
}

// running is a job with all tasks running, after half an hour, on 50,000 nodes.
func running(b *testing.B, tasks int) (*late.Job, []report, *rand.Rand) {
	b.Helper()
	const nodes = 50_000
	job, err := late.New(late.Policy{}, tasks, book(b, nodes, tasks))
	if err != nil {
		b.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	reports := make([]report, tasks)
	for i := range reports {
		r := &reports[i]
		r.progress = 0.01 + 0.2*random.Float64()
		if r.attempt, err = job.Start(at(0), locality.Node(random.IntN(nodes))); err != nil {
			b.Fatal(err)
		}
	}
	for _, r := range reports {
		if err := job.Report(at(1800), r.attempt, r.progress); err != nil {
			b.Fatal(err)
		}
	}
	return job, reports, random
}

// Reports in random order. Rates are steady when a task keeps its own to within 1
// %. They rise when each report adds 1 % of the rest, whatever the time.
func BenchmarkReport(b *testing.B) {
	for _, tasks := range []int{1_000, 1_000_000} {
		for _, rates := range []string{"steady", "rising"} {
			benchmarkReport(b, tasks, rates)
		}
	}
}

func benchmarkReport(b *testing.B, tasks int, rates string) {
	b.Helper()
	b.Run(fmt.Sprintf("tasks=%d/rates=%s", tasks, rates), func(b *testing.B) {
		job, reports, random := running(b, tasks)
		random.Shuffle(tasks, func(i, j int) { reports[i], reports[j] = reports[j], reports[i] })
		step := 3 * time.Second / time.Duration(tasks)
		now, i := at(1800), 0
		b.ReportAllocs()
		for b.Loop() {
			r := &reports[i]
			now = now.Add(step)
			if rates == "rising" {
				r.progress += (1 - r.progress) * 0.01
			} else if r.progress < 0.99 {
				r.progress *= 1 + 3.0/1800*(0.5+random.Float64())
			}
			if err := job.Report(now, r.attempt, r.progress); err != nil {
				b.Fatal(err)
			}
			if i++; i == tasks {
				i = 0
			}
		}
	})
}

func BenchmarkPick(b *testing.B) {
	for _, tasks := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprintf("tasks=%d", tasks), func(b *testing.B) {
			job, _, _ := running(b, tasks)
			node := locality.Node(0)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := job.Pick(at(1801), node); err != nil {
					b.Fatal(err)
				}
				node = (node + 1) % 50_000
			}
		})
	}
}

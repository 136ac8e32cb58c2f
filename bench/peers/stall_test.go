package peers_test

import (
	"sync"
	"testing"
	"time"

	"github.com/cellsched/cellsched/bench/peers/internal/load"
)

// BenchmarkStall measures a placement and its release while another scheduler
// stalls for 10 of every 100 ms: it lost its core, or reads a page from disk.
// Each stalls where its way of working lets it. The rival stalls with the mutex in its
// hand. A scheduler of a cell stalls between looking and committing, since inside the
// commit it holds nothing either.
//
// The mean hides the effect: most placements fall between the stalls.
// worst-ns is the longest placement, blocked-% the share of the time that
// went into those of more than a millisecond. The stall itself should cost 10 %
// of the time and 10 ms at worst; more at times, where the kernel has other
// things to do.
func BenchmarkStall(b *testing.B) {
	const (
		machines = 5_000
		held     = 10 * time.Millisecond
		between  = 90 * time.Millisecond
	)
	needs := load.Mixed(seeded(), machines*20)
	tried := []rival{{"cellsched", openCell}, {"mutex", openNextFit}}
	for _, r := range tried {
		b.Run("impl="+r.name, func(b *testing.B) {
			// Task 0 is the staller's, the last one ours.
			s := setting{load.Capacity(needs, machines, 0.5), machines, len(needs) + 1, 2}
			placers := r.open(b, s)
			p, task := placers[0], len(needs)
			for i := 1; i < len(needs); i++ {
				if !p.place(i, &needs[i]) {
					b.Fatal("no room for", i)
				}
			}
			stop := make(chan struct{})
			var stalling sync.WaitGroup
			stalling.Go(func() {
				for {
					placers[1].(staller).stall(&needs[0], func() { <-time.After(held) })
					select {
					case <-stop:
						return
					case <-time.After(between):
					}
				}
			})
			var m meter
			var worst, blocked, total time.Duration
			b.ResetTimer()
			m.start()
			last := time.Now()
			for b.Loop() {
				if !p.place(task, &needs[task%len(needs)]) {
					b.Fatal("no room")
				}
				p.release(task)
				now := time.Now()
				took := now.Sub(last)
				last = now
				total += took
				worst = max(worst, took)
				if took > time.Millisecond {
					blocked += took
				}
			}
			m.stop()
			close(stop)
			stalling.Wait()
			m.report(b, 1)
			b.ReportMetric(float64(worst), "worst-ns")
			b.ReportMetric(100*float64(blocked)/float64(total), "blocked-%")
		})
	}
}

package peers_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// thought is the time for which a scheduler of the paper's kind thinks about a task:
// section 4.3 goes through the effects of its growth.
const thought = 100 * time.Microsecond

// BenchmarkThink measures placements that take 100 µs to decide, in a cell
// that is half full, and their releases. Busy: the thought is computation, a
// scheduler for each core. Waiting: it is a question to another system, eight
// for each core. It takes as long as the system's timers make of 100 µs, which
// may be ten times that.
//
// A mutex can be held meanwhile, and then one thinks at a time. Or the room that was
// found is checked again, and another search follows if it is gone, as in a cell.
func BenchmarkThink(b *testing.B) {
	kinds := []struct {
		name    string
		perCore int
		think   func()
	}{
		{"busy", 1, think},
		{"waiting", 8, func() { <-time.After(thought) }},
	}
	tried := []rival{{"cellsched", openCell}, {"mutex-held", openNextFit}, {"mutex-checked", openChecked}}
	for _, k := range kinds {
		for _, r := range tried {
			benchMany(b, "think="+k.name, r, k.perCore, 0.5, func(c *churn, p placer, task int) bool {
				p.release(task)
				return p.(thinker).placeThinking(task, &c.needs[task], k.think)
			})
		}
	}
}

// think computes for as long as a thought takes.
func think() {
	for start := time.Now(); time.Since(start) < thought; {
	}
}

// BenchmarkSchedulers measures a release and a placement, a commit each, in a
// cell that is 85 % full. There is one scheduler, or eight for each core: schedulers
// that take turns on a core lose it anywhere.
func BenchmarkSchedulers(b *testing.B) {
	for _, perCore := range []int{1, 8} {
		for _, r := range rivals()[:2] {
			benchMany(b, "full=85", r, perCore, 0.85, (*churn).step)
		}
	}
}

// benchMany runs step on all cores, on 5,000 machines with about 20 tasks each,
// each scheduler on tasks of its own. Besides the time for an operation it
// reports the conflict fraction: tries in vain to one that is granted (section
// 4.1 of the paper).
func benchMany(
	b *testing.B, name string, r rival, perCore int, full float64, step func(*churn, placer, int) bool,
) {
	b.Helper()
	schedulers := perCore * runtime.GOMAXPROCS(0)
	b.Run(fmt.Sprintf("%s/schedulers=%d/impl=%s", name, schedulers, r.name), func(b *testing.B) {
		c := newChurn(b, r, 5_000, 20, schedulers, full)
		before := conflicts(c.placers)
		own := make([][]int, schedulers)
		for _, task := range c.live {
			own[task%schedulers] = append(own[task%schedulers], task)
		}
		runtime.GC()
		var m meter
		var next, refused atomic.Int64
		b.SetParallelism(perCore)
		b.ReportAllocs()
		b.ResetTimer()
		m.start()
		b.RunParallel(func(pb *testing.PB) {
			i := int(next.Add(1)) - 1
			p, tasks := c.placers[i], own[i]
			rng := rngOf(i)
			for pb.Next() {
				// A task that found no room is not there to be released again.
				k := rng.IntN(len(tasks))
				if !step(c, p, tasks[k]) {
					refused.Add(1)
					tasks[k] = tasks[len(tasks)-1]
					tasks = tasks[:len(tasks)-1]
				}
			}
		})
		m.stop()
		m.report(b, 1)
		b.ReportMetric(float64(conflicts(c.placers)-before)/float64(b.N), "conflicts/op")
		b.ReportMetric(float64(refused.Load())/float64(b.N), "refused/op")
	})
}

func conflicts(placers []placer) (sum int) {
	for _, p := range placers {
		sum += p.conflicts()
	}
	return sum
}

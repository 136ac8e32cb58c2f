package peers_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/cellsched/cellsched/bench/peers/internal/load"
)

// churn is a cell that stays as full as it is: a task leaves, and one of the
// same need comes and is placed anew. Where it was there is always room for it,
// so nothing is ever refused, and all rivals have the same to do for ever.
type churn struct {
	placers []placer
	needs   []load.Need
	live    []int // tasks that found room at first
	full    float64
}

// newChurn fills a cell of so many machines with mixed tasks, on average so
// many to a machine, up to that share of its cpu. Tasks that find no room on
// the way are left out, and full is the share that was reached.
func newChurn(b *testing.B, r rival, machines, perMachine, schedulers int, full float64) *churn {
	b.Helper()
	c := &churn{needs: load.Mixed(seeded(), machines*perMachine)}
	s := setting{load.Capacity(c.needs, machines, full), machines, len(c.needs), schedulers}
	c.placers = r.open(b, s)
	var cpu int64
	for task := range c.needs {
		// Each scheduler has every so manieth task.
		if c.placers[task%schedulers].place(task, &c.needs[task]) {
			c.live = append(c.live, task)
			cpu += c.needs[task][0]
		}
	}
	c.full = 100 * float64(cpu) / float64(s.capacity[0]*int64(machines))
	return c
}

// step moves one task of p and returns false if there was no room, which cannot
// be where p is alone.
func (c *churn) step(p placer, task int) bool {
	p.release(task)
	return p.place(task, &c.needs[task])
}

// warm moves each task once, so that the result does not depend on the
// order in which the cell was filled.
func (c *churn) warm(b *testing.B, rng *rand.Rand) {
	b.Helper()
	for range c.live {
		task := c.live[rng.IntN(len(c.live))]
		if !c.step(c.placers[task%len(c.placers)], task) {
			b.Fatal("task", task, "found no room where it was")
		}
	}
	runtime.GC()
}

// BenchmarkSteady measures one release and one placement, a commit each, in a
// cell that stays full to that percentage, with mixed needs. At 97 % there are
// 50 tasks to a machine, and so on average not much more room than a task
// wants.
func BenchmarkSteady(b *testing.B) {
	shapes := []struct {
		full                 int
		machines, perMachine int
	}{
		{85, 5_000, 200},
		{85, 50_000, 20},
		{97, 500, 50},
		{97, 5_000, 50},
	}
	for _, s := range shapes {
		for _, r := range rivalsOn(s.machines) {
			b.Run(fmt.Sprintf("full=%d/machines=%d/impl=%s", s.full, s.machines, r.name), func(b *testing.B) {
				rng := seeded()
				c := newChurn(b, r, s.machines, s.perMachine, 1, float64(s.full)/100)
				c.warm(b, rng)
				var m meter
				b.ReportAllocs()
				b.ResetTimer()
				m.start()
				for b.Loop() {
					if !c.step(c.placers[0], c.live[rng.IntN(len(c.live))]) {
						b.Fatal("no room")
					}
				}
				m.stop()
				m.report(b, 1)
				b.ReportMetric(c.full, "full-%")
			})
		}
	}
}

// BenchmarkOneMachine measures one claim and its release on a machine that has
// so many live allocations already.
func BenchmarkOneMachine(b *testing.B) {
	for _, live := range []int{100, 10_000} {
		for _, r := range rivals()[:2] {
			b.Run(fmt.Sprintf("live=%d/impl=%s", live, r.name), func(b *testing.B) {
				need := load.Need{100, 128, 10}
				capacity := need
				for k := range capacity {
					capacity[k] *= int64(live + 1)
				}
				p := r.one(b, setting{capacity: capacity, machines: 1, tasks: live + 1})
				for task := range live {
					if !p.place(task, &need) {
						b.Fatal("no room for", task)
					}
				}
				var m meter
				b.ReportAllocs()
				b.ResetTimer()
				m.start()
				for b.Loop() {
					if !p.place(live, &need) {
						b.Fatal("no room")
					}
					p.release(live)
				}
				m.stop()
				m.report(b, 1)
			})
		}
	}
}

package peers_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cellsched/cellsched/bench/peers/internal/load"
)

// crowd is a cell at its limit. In each step a task leaves, chosen at random.
// Up to two come in, or fewer if so much of any kind is taken already; tasks that fit
// nowhere are turned away. The tasks that stay tend to be small, since small ones
// still fit.
type crowd struct {
	placer  placer
	needs   []load.Need // of the tasks that come in
	what    []int       // by task: its need, as a number in needs
	live    []int
	vacant  []int // tasks that are not live
	taken   load.Need
	limit   load.Need
	refused int
}

func newCrowd(tb testing.TB, r rival, needs []load.Need, machines int, full float64) *crowd {
	tb.Helper()
	const spare = 3 // small tasks are more than those of average size
	c := &crowd{needs: needs}
	capacity := load.Capacity(needs, machines, 1)
	for k, q := range capacity {
		c.limit[k] = int64(full * float64(q) * float64(machines))
	}
	tasks := spare * len(needs)
	c.placer = r.one(tb, setting{capacity: capacity, machines: machines, tasks: tasks})
	c.what = make([]int, tasks)
	for task := range tasks {
		c.vacant = append(c.vacant, tasks-1-task)
	}
	for what := range needs {
		if !c.isFull() {
			c.come(what)
		}
	}
	return c
}

func (c *crowd) isFull() bool {
	for k, q := range c.taken {
		if q >= c.limit[k] {
			return true
		}
	}
	return len(c.vacant) == 0
}

// step is one departure and the arrivals that follow.
func (c *crowd) step(rng *rand.Rand) {
	c.leave(rng.IntN(len(c.live)))
	for range 2 {
		if c.isFull() {
			return
		}
		c.come(rng.IntN(len(c.needs)))
	}
}

// leave ends the i-th of the live tasks.
func (c *crowd) leave(i int) {
	task := c.live[i]
	c.placer.release(task)
	for k, q := range c.needs[c.what[task]] {
		c.taken[k] -= q
	}
	c.live[i] = c.live[len(c.live)-1]
	c.live = c.live[:len(c.live)-1]
	c.vacant = append(c.vacant, task)
}

// come places a task or turns it away.
func (c *crowd) come(what int) {
	task := c.vacant[len(c.vacant)-1]
	if !c.placer.place(task, &c.needs[what]) {
		c.refused++
		return
	}
	c.vacant = c.vacant[:len(c.vacant)-1]
	c.live = append(c.live, task)
	c.what[task] = what
	for k, q := range c.needs[what] {
		c.taken[k] += q
	}
}

// BenchmarkFull measures a departure and the arrivals that follow, in a cell
// with up to 97 % taken, by about 20 tasks a machine. In the tailed one
// every tenth task is eight times as large, as a few are in real cells, and
// mostly fits nowhere. Finding that out is most of the work. refused/op is the
// number of such refusals.
func BenchmarkFull(b *testing.B) {
	// Steps until the live tasks have settled; fewer where each takes long.
	shapes := []struct {
		name             string
		make             func(*rand.Rand, int) []load.Need
		machines, settle int
	}{
		{"mixed", load.Mixed, 500, 100_000},
		{"mixed", load.Mixed, 5_000, 100_000},
		{"tailed", load.Tailed, 500, 100_000},
		{"tailed", load.Tailed, 5_000, 100_000},
		{"tailed", load.Tailed, 50_000, 10_000},
	}
	for _, s := range shapes {
		for _, r := range rivalsOn(s.machines) {
			b.Run(fmt.Sprintf("needs=%s/machines=%d/impl=%s", s.name, s.machines, r.name), func(b *testing.B) {
				rng := seeded()
				c := newCrowd(b, r, s.make(rng, s.machines*20), s.machines, 0.97)
				for range s.settle {
					c.step(rng)
				}
				c.refused = 0
				var m meter
				b.ReportAllocs()
				b.ResetTimer()
				m.start()
				for b.Loop() {
					c.step(rng)
				}
				m.stop()
				m.report(b, 1)
				b.ReportMetric(float64(c.refused)/float64(b.N), "refused/op")
				b.ReportMetric(97*float64(c.taken[0])/float64(c.limit[0]), "cpu-full-%")
			})
		}
	}
}

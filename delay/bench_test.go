package delay_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
)

// One offer to one job, a second apart. Instants that carry a monotonic clock,
// as time.Now gives them, are cheaper to subtract than those of virtual time.
func BenchmarkOffer(b *testing.B) {
	waits := delay.Policy{Waits: delay.Waits{5 * time.Second, 10 * time.Second}}
	offers := map[string][4]locality.Level{"far": {2, 2, 2, 2}, "local": {}, "mixed": {0, 1, 2, 3}}
	for clock, first := range map[string]time.Time{"live": time.Now(), "virtual": start} {
		// Made beforehand: adding up instants costs a third of an offer.
		instants := make([]time.Time, 1024)
		for i := range instants {
			instants[i] = first.Add(time.Duration(i) * time.Second)
		}
		for rule, p := range map[string]delay.Policy{
			"wait": waits, "skips": {Skips: 10}, "greedy": {}, "learned": {Learn: knowing(b)},
		} {
			for name, levels := range offers {
				b.Run(fmt.Sprintf("clock=%s/rule=%s/offers=%s", clock, rule, name), func(b *testing.B) {
					fresh, err := delay.New(p)
					if err != nil {
						b.Fatal(err)
					}
					job, i := fresh, 0
					b.ReportAllocs()
					for b.Loop() {
						if _, err := job.Offer(instants[i], levels[i%len(levels)]); err != nil {
							b.Fatal(err)
						}
						if i++; i == len(instants) {
							job, i = fresh, 0
						}
					}
				})
			}
		}
	}
}

// One slot is offered to a queue in the order of arrival. 95 % of the jobs want one
// of 100 nodes that never comes up, and have not waited long enough yet. The others
// have 100 tasks each. A job that has launched them all is replaced by another one.
func BenchmarkQueue(b *testing.B) {
	const nodes, busy, year = 2000, 100, 365 * 24 * time.Hour
	for rule, p := range map[string]delay.Policy{
		"wait":    {Waits: delay.Waits{year}},
		"skips":   {Skips: 1 << 30},
		"learned": {Learn: new(delay.Learner), Waits: delay.Waits{year}},
	} {
		for _, jobs := range []int{100, 10_000, 100_000} {
			b.Run(fmt.Sprintf("rule=%s/jobs=%d", rule, jobs), func(b *testing.B) {
				q, err := delay.NewQueue[int](p, nil)
				if err != nil {
					b.Fatal(err)
				}
				random := rand.New(rand.NewPCG(1, 2))
				local := func() [][]locality.Node {
					return slices.Repeat([][]locality.Node{{locality.Node(busy + random.IntN(nodes-busy))}}, 100)
				}
				for i := range jobs {
					tasks := [][]locality.Node{{locality.Node(random.IntN(busy))}}
					if i%20 == 19 {
						tasks = local()
					}
					if err := q.Add(i, tasks...); err != nil {
						b.Fatal(err)
					}
				}
				now, next, launches := start, jobs, 0
				b.ReportAllocs()
				for b.Loop() {
					now = now.Add(time.Millisecond)
					n := locality.Node(busy + next%(nodes-busy))
					_, ok, err := q.Offer(now, n)
					if err != nil {
						b.Fatal(err)
					}
					if ok {
						launches++
					}
					if next++; q.Len() < jobs {
						if err := q.Add(next, local()...); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(launches)/float64(b.N), "launches/op")
			})
		}
	}
}

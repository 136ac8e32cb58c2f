package delay_test

import (
	"fmt"
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
		for rule, p := range map[string]delay.Policy{"wait": waits, "skips": {Skips: 10}, "greedy": {}} {
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

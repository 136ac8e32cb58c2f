package peers_test

import (
	"fmt"
	"testing"

	"github.com/cellsched/cellsched/bench/peers/internal/load"
)

// BenchmarkRefresh measures the cost for a scheduler of coming back to a cell
// that others have changed meanwhile. That is one refresh of its snapshot and one
// placement (ns/op; the changes are not in it). Under a mutex there is nothing
// to refresh, and the placement is all.
func BenchmarkRefresh(b *testing.B) {
	shapes := []struct{ machines, changed int }{{5_000, 100}, {50_000, 1_000}}
	for _, s := range shapes {
		need := load.Need{1_000, 2_048, 100}
		set := setting{load.Need{64_000, 131_072, 8_000}, s.machines, s.changed + 1, 2}
		name := fmt.Sprintf("machines=%d/changed=%d/impl=", s.machines, s.changed)

		b.Run(name+"cellsched", func(b *testing.B) {
			placers := cellPlacers(b, set)
			mine, other := placers[0], placers[1]
			rng := seeded()
			nodes := make([]int, s.changed)
			var own stopwatch
			for b.Loop() {
				for i, n := range rng.Perm(s.machines)[:s.changed] {
					nodes[i] = n
				}
				other.touch(nodes, &need)
				own.start()
				mine.refresh()
				ok := mine.place(0, &need)
				own.stop()
				if !ok {
					b.Fatal("no room")
				}
				mine.release(0)
			}
			own.report(b, "ns/op")
		})
		b.Run(name+"mutex", func(b *testing.B) {
			p := openNextFit(b, set)[0]
			var own stopwatch
			for b.Loop() {
				own.start()
				ok := p.place(0, &need)
				own.stop()
				if !ok {
					b.Fatal("no room")
				}
				p.release(0)
			}
			own.report(b, "ns/op")
		})
	}
}

package peers_test

import (
	"fmt"
	"testing"

	"github.com/cellsched/cellsched/bench/peers/internal/load"
)

// BenchmarkGang measures gangs of 100 alike tasks over 100 machines of a cell
// that is half full. place-ns/op is for finding the machines and taking all or none of
// them. The release follows, in one transaction or under one lock.
func BenchmarkGang(b *testing.B) {
	const width = 100
	for _, machines := range []int{5_000, 50_000} {
		for _, r := range rivals()[:2] {
			b.Run(fmt.Sprintf("width=%d/machines=%d/impl=%s", width, machines, r.name), func(b *testing.B) {
				rng := seeded()
				needs := load.Mixed(rng, machines*20)
				p := r.one(b, setting{load.Capacity(needs, machines, 0.5), machines, len(needs) + width, 1})
				for task := range needs {
					if !p.place(task, &needs[task]) {
						b.Fatal("no room for", task)
					}
				}
				g, first := p.(gangPlacer), len(needs)
				var m meter
				var placing stopwatch
				b.ReportAllocs()
				b.ResetTimer()
				m.start()
				for b.Loop() {
					placing.start()
					ok := g.placeGang(first, &needs[rng.IntN(len(needs))], width)
					placing.stop()
					if !ok {
						b.Fatal("no room for a gang")
					}
					g.releaseGang(first, width)
				}
				m.stop()
				m.report(b, 1)
				placing.report(b, "place-ns/op")
			})
		}
	}
}

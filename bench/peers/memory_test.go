package peers_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/cellsched/cellsched/bench/peers/internal/load"
)

// BenchmarkMemory measures the live heap after a collection. It is given for each of a
// million allocations on 5,000 machines, the owner's handle included. It is also given
// for each machine of an empty cell, a scheduler's snapshot of it included.
// Time is of no interest here.
func BenchmarkMemory(b *testing.B) {
	const machines = 5_000
	needs := load.Mixed(seeded(), million)
	capacity := load.Capacity(needs, machines, 0.85)
	for _, r := range append(rivals()[:2], rival{"mutex-append", openAppend}) {
		b.Run(fmt.Sprintf("machines=%d/tasks=%d/impl=%s", machines, million, r.name), func(b *testing.B) {
			var perMachine, perTask float64
			for b.Loop() {
				before := liveHeap()
				empty := r.one(b, setting{capacity: capacity, machines: machines})
				perMachine = (liveHeap() - before) / machines
				runtime.KeepAlive(empty) // and no longer

				p := r.one(b, setting{capacity: capacity, machines: machines, tasks: million})
				for task := range needs {
					if !p.place(task, &needs[task]) {
						b.Fatal("no room for", task)
					}
				}
				// The machines are counted above; the handles are in the memory that p keeps.
				perTask = (liveHeap() - before - perMachine*machines) / million
				runtime.KeepAlive(p)
			}
			b.ReportMetric(perTask, "B/allocation")
			b.ReportMetric(perMachine, "B/machine")
		})
	}
}

func liveHeap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // for the objects that the first one found dead in pools
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

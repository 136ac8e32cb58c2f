package omega_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// BenchmarkPreempt measures a claim that preempts one allocation in the same
// commit; putting the next victim in place and cleaning up are not timed.
func BenchmarkPreempt(b *testing.B) {
	cell, ids := newCell(b, 1, resources.Vector{10})
	low, high := ranked(b, cell, "low"), ranked(b, cell, "high")
	tx := omega.Txn{Now: time.Unix(1, 0), Grace: time.Second}
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		victims := held(b, low, ids[0], 0, resources.Vector{10})
		b.StartTimer()
		tx.Reset()
		tx.Claim(omega.Claim{Machine: ids[0], Need: resources.Vector{10}, Precedence: 1, Victims: victims})
		if granted, err := high.Commit(&tx); granted != 1 || err != nil {
			b.Fatal(granted, err)
		}
		b.StopTimer()
		a, _ := tx.Allocation(0)
		if high.Release(a) != nil || low.Release(victims[0]) != nil {
			b.Fatal("not released")
		}
		b.StartTimer()
	}
}

// BenchmarkEmptyMachine reports the heap's growth for each machine of a cell, its name
// included.
func BenchmarkEmptyMachine(b *testing.B) {
	const machines = 5000
	cfg := omega.Config{Machines: make([]omega.Machine, machines)}
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range cfg.Machines {
			cfg.Machines[i] = omega.Machine{Name: fmt.Sprint("node-", i), Capacity: resources.Vector{1}}
		}
		cell, err := omega.NewCell(cfg)
		if err != nil {
			b.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(cell)
		clear(cfg.Machines)
	}
	b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/machines, "B/machine")
}

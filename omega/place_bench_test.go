package omega_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// BenchmarkRefreshAndFind measures what a scheduler does first for a job: it
// refreshes its snapshot, since others have changed some machines, and finds
// room for one task. The changes are not part of median-ns.
func BenchmarkRefreshAndFind(b *testing.B) {
	for _, size := range []struct{ machines, changed int }{
		{500, 1},
		{500, 10},
		{500, 500},
		{5000, 0},
		{5000, 1},
		{5000, 10},
		{5000, 100},
		{5000, 1000},
		{5000, 5000},
		{50000, 0},
		{50000, 1},
		{50000, 10},
		{50000, 1000},
		{50000, 50000},
	} {
		for _, policy := range []struct {
			name string
			p    omega.Policy
		}{{"next", omega.NextFit()}, {"best", omega.BestFit()}} {
			b.Run(fmt.Sprintf("machines=%d/changed=%d/policy=%s", size.machines, size.changed, policy.name), func(b *testing.B) {
				cell, ids := newCell(b, size.machines, resources.Vector{64000, 1 << 38, 8})
				s, other := register(b, cell, "s"), register(b, cell, "other")
				snap, rng := s.Snapshot(), rand.New(rand.NewPCG(1, 2))
				need := resources.Vector{1000, 1 << 30}
				const stride = 12347 // a prime: the machines are all over the cell, others each time, none twice
				var tx omega.Txn
				var took []float64
				for b.Loop() {
					first := rng.IntN(size.machines)
					for i := range size.changed {
						tx.Reset()
						tx.Claim(omega.Claim{Machine: ids[(first+i*stride)%size.machines], Need: need})
						if granted, err := other.Commit(&tx); granted != 1 || err != nil {
							b.Fatal(granted, err)
						}
						a, _ := tx.Allocation(0)
						tx.Reset()
						tx.Release(a)
						if _, err := other.Commit(&tx); err != nil {
							b.Fatal(err)
						}
					}
					start := time.Now()
					copied := snap.Refresh(time.Time{})
					_, found := snap.Find(omega.Query{Need: need}, policy.p)
					took = append(took, float64(time.Since(start).Nanoseconds()))
					if copied != size.changed || !found {
						b.Fatal(copied, found)
					}
				}
				slices.Sort(took)
				b.ReportMetric(took[len(took)/2], "median-ns")
			})
		}
	}
}

// BenchmarkFind measures one search and take for a mixed need, on machines that
// are filled to about two thirds and emptied again when one search fails.
func BenchmarkFind(b *testing.B) {
	const machines = 5000
	rng := rand.New(rand.NewPCG(3, 4))
	for _, policy := range []struct {
		name string
		p    omega.Policy
	}{
		{"next", omega.NextFit()},
		{"first", omega.FirstFit(rng)},
		{"best", omega.BestFit()},
		{"bestof8", omega.BestOf(8, nil, rng)},
	} {
		b.Run("policy="+policy.name, func(b *testing.B) {
			cell, _ := newCell(b, machines, resources.Vector{32, 64, 8})
			snap := register(b, cell, "s").Snapshot()
			needs := rand.New(rand.NewPCG(5, 6))
			b.ReportAllocs()
			for b.Loop() {
				need := resources.Vector{1 + needs.Int64N(8), 1 + needs.Int64N(16), needs.Int64N(9) / 8}
				m, ok := snap.Find(omega.Query{Need: need}, policy.p)
				if !ok {
					snap.Refresh(time.Time{})
					continue
				}
				snap.Take(m, need)
			}
		})
	}
}

// BenchmarkPlace measures finding room for 100 tasks alike, at once and one by
// one.
func BenchmarkPlace(b *testing.B) {
	const machines, tasks = 5000, 100
	for _, policy := range []struct {
		name string
		p    omega.Policy
	}{
		{"next", omega.NextFit()},
		{"best", omega.BestFit()},
		{"worst", omega.WorstFit()},
	} {
		cell, _ := newCell(b, machines, resources.Vector{32, 64, 8})
		snap := register(b, cell, "s").Snapshot()
		q := omega.Query{Need: resources.Vector{3, 5}}
		for _, whole := range []bool{true, false} {
			b.Run(fmt.Sprintf("policy=%s/whole=%v", policy.name, whole), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					snap.Refresh(time.Time{})
					b.StartTimer()
					if whole {
						snap.Place(q, policy.p, tasks, func(omega.MachineID, int) {})
						continue
					}
					for range tasks {
						m, _ := snap.Find(q, policy.p)
						snap.Take(m, q.Need)
					}
				}
			})
		}
	}
}

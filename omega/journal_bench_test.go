package omega_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/cputime"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// BenchmarkApply replays a log of claims on a copy of a cell of 5,000 machines: of claims on
// random machines, and of claims that next fit has placed.
func BenchmarkApply(b *testing.B) {
	for i := range 4 {
		claims, placed := []int{1, 16}[i%2], i > 1
		b.Run(fmt.Sprintf("claims=%d/placed=%v", claims, placed), func(b *testing.B) {
			cfg := omega.Config{}
			for i := range 5000 {
				cfg.Machines = append(cfg.Machines, omega.Machine{Name: fmt.Sprint(i), Capacity: resources.Vector{64000, 256 << 30}})
			}
			cell, log, began := newTaped(b, cfg)
			s, err := cell.Take(b.Context(), "s", omega.Limits{})
			require.NoError(b, err)
			fillTape(b, cell, s, claims, placed)
			size := 0
			for _, op := range log.ops {
				size += len(op)
			}
			var used time.Duration
			rounds := 0
			for b.Loop() {
				b.StopTimer()
				one := copyOf(b, began)
				b.StartTimer()
				before := cputime.Used()
				for _, op := range log.ops {
					if _, err := one.Apply(op); err != nil {
						b.Fatal(err)
					}
				}
				used += cputime.Used() - before
				rounds++
			}
			total := float64((len(log.ops) - 1) * claims)
			b.ReportMetric(float64(used)/float64(rounds)/total, "cpu-ns/claim")
			b.ReportMetric(float64(size)/total, "B/claim")
		})
	}
}

// fillTape commits claims until a good half of the cell is full: on random machines, or on those
// of next fit.
func fillTape(b *testing.B, cell *omega.Cell, s *omega.Scheduler, claims int, placed bool) {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	machines := make([]omega.MachineID, 0, 5000)
	for m := range cell.Machines() {
		machines = append(machines, m.ID)
	}
	var tx omega.Txn
	for range 96_000 / claims {
		tx.Reset()
		s.Snapshot().Refresh(time.Time{})
		for range claims {
			c := omega.Claim{Machine: machines[rng.IntN(len(machines))], Need: resources.Vector{500 * (1 + rng.Int64N(4)), (1 + rng.Int64N(4)) << 30}}
			if placed {
				m, ok := s.Snapshot().Find(omega.Query{Need: c.Need}, omega.NextFit())
				require.True(b, ok)
				require.True(b, s.Snapshot().Take(m, c.Need))
				c.Machine = m
			}
			tx.Claim(c)
		}
		commit(b, s, &tx)
	}
}

// BenchmarkRestoreJournaled restores a cell of a million allocations.
func BenchmarkRestoreJournaled(b *testing.B) {
	cfg := omega.Config{}
	for i := range 5000 {
		cfg.Machines = append(cfg.Machines, omega.Machine{Name: fmt.Sprint(i), Capacity: resources.Vector{640000, 2560 << 30}})
	}
	cell, _, _ := newTaped(b, cfg)
	s, err := cell.Take(b.Context(), "s", omega.Limits{})
	require.NoError(b, err)
	for range 10 {
		fillTape(b, cell, s, 96, false)
	}
	file := saved(b, cell)
	before := cputime.Used()
	rounds := 0
	for b.Loop() {
		_, err := omega.Restore(bytes.NewReader(file), nil)
		require.NoError(b, err)
		rounds++
	}
	b.ReportMetric(float64(cputime.Used()-before)/float64(rounds)/1e6, "cpu-ms/op")
	b.ReportMetric(float64(len(file)), "B")
}

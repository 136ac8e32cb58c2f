package file_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/cputime"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/file"
	"github.com/cellsched/cellsched/resources"
)

// BenchmarkSync is a bare append of 64 bytes to a file with a sync: the floor of a commit.
func BenchmarkSync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "bare"))
	require.NoError(b, err)
	took := make([]time.Duration, 0, 1<<12)
	block := make([]byte, 64)
	for b.Loop() {
		began := time.Now()
		_, err := f.Write(block)
		require.NoError(b, err)
		require.NoError(b, file.SyncData(f))
		took = append(took, time.Since(began))
	}
	median(b, took)
}

func median(b *testing.B, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
}

// BenchmarkCommit is commits of several schedulers on 5,000 machines, each placed, kept and
// applied. A later commit releases the allocations of an earlier one.
func BenchmarkCommit(b *testing.B) {
	for _, shape := range []struct{ schedulers, claims int }{{1, 1}, {8, 1}, {64, 1}, {8, 16}} {
		b.Run(fmt.Sprintf("schedulers=%d/claims=%d", shape.schedulers, shape.claims), func(b *testing.B) {
			store, err := file.Open(b.TempDir())
			require.NoError(b, err)
			defer store.Close()
			cfg := journal.Config{}
			for i := range 5000 {
				cfg.First.Machines = append(cfg.First.Machines, omega.Machine{Name: fmt.Sprint(i), Capacity: resources.Vector{16000, 64 << 30}})
			}
			cell, err := journal.Open(b.Context(), store, cfg)
			require.NoError(b, err)
			commits(b, cell, shape.schedulers, shape.claims)
			require.NoError(b, cell.Close(context.Background()))
		})
	}
}

func commits(b *testing.B, cell *journal.Cell, schedulers, claims int) {
	b.Helper()
	all := make([]*omega.Scheduler, schedulers)
	for i := range all {
		s, err := cell.Take(b.Context(), fmt.Sprint("s", i), omega.Limits{})
		require.NoError(b, err)
		s.Snapshot().Refresh(time.Now())
		all[i] = s
	}
	var mu sync.Mutex
	var took []time.Duration
	each := make(chan struct{}, 1024)
	var running sync.WaitGroup
	for i, s := range all {
		running.Go(func() {
			rng, mine := rand.New(rand.NewPCG(1, uint64(i))), []time.Duration{}
			var held []omega.AllocationID
			var tx omega.Txn
			for range each {
				tx.Reset()
				began := time.Now()
				snap := s.Snapshot()
				snap.Refresh(began)
				for range claims {
					need := resources.Vector{500 * (1 + rng.Int64N(4)), (1 + rng.Int64N(4)) << 30}
					if m, ok := snap.Find(omega.Query{Need: need}, omega.NextFit()); ok {
						tx.Claim(omega.Claim{Machine: m, Need: need})
					}
				}
				for range claims {
					if len(held) > 64*claims {
						tx.Release(held[0])
						held = held[1:]
					}
				}
				if _, err := s.CommitContext(context.Background(), &tx); err != nil {
					b.Error(err)
					continue
				}
				mine = append(mine, time.Since(began))
				for n := range tx.Len() {
					if a, ok := tx.Allocation(n); ok {
						held = append(held, a)
					}
				}
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, mine...)
		})
	}
	cpu := cputime.Used()
	for b.Loop() {
		each <- struct{}{}
	}
	close(each)
	running.Wait()
	b.ReportMetric(float64(cputime.Used()-cpu)/float64(b.N*claims), "cpu-ns/claim")
	median(b, took)
}

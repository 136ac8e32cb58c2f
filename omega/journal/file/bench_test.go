package file_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/cputime"
	"github.com/cellsched/cellsched/internal/journals"
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

// BenchmarkCommitBesideSync is commits of one scheduler, with a bare sync after each: the disk is
// as fast for both.
func BenchmarkCommitBesideSync(b *testing.B) {
	bare, err := os.Create(filepath.Join(b.TempDir(), "bare"))
	require.NoError(b, err)
	defer bare.Close()
	store, err := file.Open(b.TempDir())
	require.NoError(b, err)
	defer store.Close()
	cell, err := journal.Open(b.Context(), store, journal.Config{First: omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{1 << 40}}}}})
	require.NoError(b, err)
	s, err := cell.Take(b.Context(), "s", omega.Limits{})
	require.NoError(b, err)
	m, _ := cell.Machine("m")
	var syncs, commits []time.Duration
	block := make([]byte, 64)
	var tx omega.Txn
	var last omega.AllocationID
	for b.Loop() {
		began := time.Now()
		_, err := bare.Write(block)
		require.NoError(b, err)
		require.NoError(b, file.SyncData(bare))
		synced := time.Now()
		tx.Reset()
		tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{1}})
		if last != (omega.AllocationID{}) {
			tx.Release(last)
		}
		_, err = s.CommitContext(context.Background(), &tx)
		require.NoError(b, err)
		last, _ = tx.Allocation(0)
		syncs, commits = append(syncs, synced.Sub(began)), append(commits, time.Since(synced))
	}
	slices.Sort(syncs)
	slices.Sort(commits)
	sync, commit := syncs[len(syncs)/2], commits[len(commits)/2]
	b.ReportMetric(float64(sync.Nanoseconds()), "p50-sync-ns")
	b.ReportMetric(float64(commit.Nanoseconds()), "p50-commit-ns")
	b.ReportMetric(float64(commit)/float64(sync), "commit/sync")
	require.NoError(b, cell.Close(context.Background()))
}

// BenchmarkLog reports the bytes on disk for each claim, of commits of one scheduler that share no
// append.
func BenchmarkLog(b *testing.B) {
	for _, claims := range []int{1, 16} {
		b.Run(fmt.Sprintf("claims=%d", claims), func(b *testing.B) {
			folder := b.TempDir()
			store, err := file.Open(folder)
			require.NoError(b, err)
			defer store.Close()
			cfg := journal.Config{}
			for i := range 5000 {
				cfg.First.Machines = append(cfg.First.Machines, omega.Machine{Name: fmt.Sprint(i), Capacity: resources.Vector{64000, 256 << 30}})
			}
			cell, err := journal.Open(b.Context(), store, cfg)
			require.NoError(b, err)
			var machines []omega.MachineID
			for m := range cell.Machines() {
				machines = append(machines, m.ID)
			}
			s, err := cell.Take(b.Context(), "s", omega.Limits{})
			require.NoError(b, err)
			size := func() int64 {
				info, err := os.Stat(filepath.Join(folder, "journal-00000000000000000001"))
				require.NoError(b, err)
				return info.Size()
			}
			rng, before := rand.New(rand.NewPCG(1, 1)), size()
			var tx omega.Txn
			for b.Loop() {
				tx.Reset()
				for range claims {
					tx.Claim(omega.Claim{Machine: machines[rng.IntN(5000)], Need: resources.Vector{500 * (1 + rng.Int64N(4)), (1 + rng.Int64N(4)) << 30}})
				}
				_, err := s.Commit(&tx)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(size()-before)/float64(b.N*claims), "B/claim")
			require.NoError(b, cell.Close(context.Background()))
		})
	}
}

// BenchmarkOpen opens a journal with a checkpoint of a million allocations on 5,000 machines, and
// no entries behind it but those of sessions.
func BenchmarkOpen(b *testing.B) {
	folder := b.TempDir()
	cfg := journal.Config{Checkpoint: 1 << 40}
	for i := range 5000 {
		cfg.First.Machines = append(cfg.First.Machines, omega.Machine{Name: fmt.Sprint(i), Capacity: resources.Vector{640000, 2560 << 30}})
	}
	opened := func() (*file.Store, *journal.Cell) {
		store, err := file.Open(folder)
		require.NoError(b, err)
		cell, err := journal.Open(b.Context(), store, cfg)
		require.NoError(b, err)
		return store, cell
	}
	store, cell := opened()
	s, err := cell.Take(b.Context(), "s", omega.Limits{})
	require.NoError(b, err)
	machines := make([]omega.MachineID, 0, 5000)
	for m := range cell.Machines() {
		machines = append(machines, m.ID)
	}
	var tx omega.Txn
	granted := 0
	for i := range 2000 {
		tx.Reset()
		for n := range 500 {
			tx.Claim(omega.Claim{Machine: machines[(i*500+n)%len(machines)], Need: resources.Vector{500 * int64(1+n%4), int64(1+i%4) << 30}})
		}
		n, err := s.Commit(&tx)
		require.NoError(b, err)
		granted += n
	}
	require.Equal(b, 1_000_000, granted)
	require.NoError(b, cell.Checkpoint(b.Context()))
	var cpu time.Duration
	rounds := 0
	for b.Loop() {
		b.StopTimer()
		require.NoError(b, cell.Close(context.Background()))
		require.NoError(b, store.Close())
		cell = nil
		runtime.GC()
		b.StartTimer()
		before := cputime.Used()
		store, cell = opened()
		cpu += cputime.Used() - before
		rounds++
	}
	b.ReportMetric(float64(cpu)/float64(rounds)/1e6, "cpu-ms/op")
	require.NoError(b, cell.Close(context.Background()))
	require.NoError(b, store.Close())
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
			cell, err := journal.Open(b.Context(), store, journal.Config{First: omega.Config{Machines: journals.Machines()}})
			require.NoError(b, err)
			journals.Turnover(b, cell.Cell, shape.schedulers, shape.claims, nil)
			require.NoError(b, cell.Close(context.Background()))
		})
	}
}

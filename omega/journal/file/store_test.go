package file_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/file"
	"github.com/cellsched/cellsched/omega/journal/journaltest"
	"github.com/cellsched/cellsched/resources"
)

func TestStore_IsAStore(t *testing.T) {
	journaltest.Run(t, func(t *testing.T) func() journal.Store {
		t.Helper()
		store, err := file.Open(t.TempDir())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		return func() journal.Store { return store }
	})
}

// The folder is for one process at a time: the second one is refused, with its name.
func TestOpen_RefusesAFolderInUse(t *testing.T) {
	folder := t.TempDir()
	store, err := file.Open(folder)
	require.NoError(t, err)
	_, err = file.Open(folder)
	require.ErrorIs(t, err, file.ErrLocked)
	require.ErrorContains(t, err, folder)
	require.NoError(t, store.Close())
	store, err = file.Open(folder)
	require.NoError(t, err)
	require.NoError(t, store.Close())
}

// A closed store takes nothing more: another process may have its folder.
func TestClose_EndsAppendsAndCheckpoints(t *testing.T) {
	store, err := file.Open(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, store.Append(t.Context(), []byte("first")))
	require.NoError(t, store.Close())
	require.ErrorIs(t, store.Append(t.Context(), []byte("late")), journal.ErrFailed)
	require.ErrorIs(t, store.Replace(t.Context(), 1, func(io.Writer) error { return nil }), journal.ErrFailed)
	_, _, err = store.Checkpoint(t.Context())
	require.ErrorIs(t, err, journal.ErrFailed)
}

// A trim that was cut short may leave some of the segments below the checkpoint. A
// checkpoint without any segment is damage: entries behind it are lost.
func TestOpen_MeetsAnyPartOfATrim(t *testing.T) {
	folder := t.TempDir()
	store, err := file.Open(folder)
	require.NoError(t, err)
	big := make([]byte, 9<<20)
	for range 8 { // two a segment
		require.NoError(t, store.Append(t.Context(), big))
	}
	require.NoError(t, store.Close())
	segments, err := filepath.Glob(filepath.Join(folder, "journal-*"))
	require.NoError(t, err)
	require.Len(t, segments, 4)
	first, err := os.ReadFile(segments[0])
	require.NoError(t, err)
	store, err = file.Open(folder)
	require.NoError(t, err)
	require.NoError(t, store.Replace(t.Context(), 6, func(io.Writer) error { return nil }))
	require.NoError(t, store.Close())
	require.NoError(t, os.WriteFile(segments[0], first, 0o600)) // it was not removed, others were
	store, err = file.Open(folder)
	require.NoError(t, err)
	require.NoError(t, store.Append(t.Context(), []byte("more")))
	require.NoError(t, store.Close())
	require.NoFileExists(t, segments[0])

	require.NoError(t, os.Remove(segments[3]))
	_, err = file.Open(folder)
	require.ErrorIs(t, err, journal.ErrDamaged)
}

// A cell goes on after its process: what was granted is there, by the same IDs.
func TestStore_KeepsACell(t *testing.T) {
	folder := t.TempDir()
	cfg := journal.Config{First: omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{9}}}}, Checkpoint: 2000}
	held := map[omega.AllocationID]bool{}
	for round := range 5 {
		store, err := file.Open(folder)
		require.NoError(t, err)
		cell, err := journal.Open(t.Context(), store, cfg)
		require.NoError(t, err)
		s, err := cell.Take(t.Context(), "s", omega.Limits{})
		require.NoError(t, err)
		found := map[omega.AllocationID]bool{}
		for a := range s.Allocations() {
			found[a.ID] = true
		}
		require.Equal(t, held, found)
		m, _ := cell.Machine("m")
		for i := range 40 {
			var tx omega.Txn
			for a := range held {
				if i%2 == 1 {
					tx.Release(a)
					delete(held, a)
					break
				}
			}
			claim := tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{1}})
			_, err := s.CommitContext(t.Context(), &tx)
			require.NoError(t, err)
			if a, ok := tx.Allocation(claim); ok {
				held[a] = true
			}
		}
		if round == 3 {
			require.NoError(t, cell.Checkpoint(t.Context()))
		}
		require.NoError(t, cell.Close(t.Context()))
		require.NoError(t, store.Close())
		require.ErrorIs(t, cell.Drain(m), journal.ErrClosed)
	}
}

// Damage before the last frame is refused with its place, and never read over. Of the last
// frame it drops that one.
func TestOpen_NamesDamage(t *testing.T) {
	const entries = 30
	folder := t.TempDir()
	store, err := file.Open(folder)
	require.NoError(t, err)
	ends := []int64{20}
	for i := range entries {
		data := fmt.Appendf(nil, "entry %d of many", i)
		require.NoError(t, store.Append(t.Context(), data))
		ends = append(ends, ends[i]+12+int64(len(data)))
	}
	require.NoError(t, store.Close())
	path := filepath.Join(folder, "journal-00000000000000000001")
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Len(t, whole, int(ends[entries]))
	for at := range whole {
		damaged := append([]byte(nil), whole...)
		damaged[at] ^= 1 << (at % 8)
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		store, err := file.Open(folder)
		if int64(at) < ends[entries-1] {
			require.ErrorIs(t, err, journal.ErrDamaged, "byte %d", at)
			require.ErrorContains(t, err, "position")
			continue
		}
		require.NoError(t, err, "byte %d", at)
		for e, err := range store.Read(t.Context(), 0) {
			require.NoError(t, err)
			if e.At == entries-1 {
				break
			}
		}
		require.NoError(t, store.Close())
	}
}

package file_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
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
		folder := t.TempDir()
		var store *file.Store
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		return func() journal.Store {
			if store != nil {
				if _, r, err := store.Checkpoint(t.Context()); !errors.Is(err, journal.ErrFailed) {
					if r != nil {
						require.NoError(t, r.Close())
					}
					return store
				}
			}
			var err error
			store, err = file.Open(folder) // the first one, or the last one was closed
			require.NoError(t, err)
			return store
		}
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

// Damage is refused with its place, and never read over, in the last frame too: no part of it
// looks like a sector that was not written.
func TestOpen_NamesDamage(t *testing.T) {
	const entries = 30
	folder := t.TempDir()
	store, err := file.Open(folder)
	require.NoError(t, err)
	for i := range entries {
		require.NoError(t, store.Append(t.Context(), fmt.Appendf(nil, "entry %d of many", i)))
	}
	require.NoError(t, store.Close())
	path := filepath.Join(folder, "journal-00000000000000000001")
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for at := range whole {
		damaged := append([]byte(nil), whole...)
		damaged[at] ^= 1 << (at % 8)
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		_, err := file.Open(folder)
		require.ErrorIs(t, err, journal.ErrDamaged, "byte %d", at)
		require.ErrorContains(t, err, "position")
	}
}

var packages = regexp.MustCompile(`\b(file|journal|omega): `)

// The text of an error names a package once, in front.
func TestOpen_NamesThePackageOnce(t *testing.T) {
	folder := t.TempDir()
	store, err := file.Open(folder)
	require.NoError(t, err)
	require.NoError(t, store.Append(t.Context(), []byte("entry")))
	_, locked := file.Open(folder)
	require.ErrorIs(t, locked, file.ErrLocked)
	require.NoError(t, store.Close())
	path := filepath.Join(folder, "journal-00000000000000000001")
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append([]byte("X"), whole...), 0o600))
	_, damaged := file.Open(folder)
	require.ErrorIs(t, damaged, journal.ErrDamaged)
	_, absent := file.Open(filepath.Join(path, "below"))
	require.Error(t, absent)
	_, broken := journal.Open(t.Context(), store, journal.Config{})
	require.ErrorIs(t, broken, journal.ErrFailed)
	for _, err := range []error{locked, damaged, absent, broken, store.Append(t.Context(), nil), store.Append(t.Context(), []byte("late"))} {
		require.Len(t, packages.FindAllString(err.Error(), -1), 1, err.Error())
		require.Regexp(t, `^(file|journal): `, err.Error())
	}
}

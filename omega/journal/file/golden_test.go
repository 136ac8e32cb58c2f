package file_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/file"
	"github.com/cellsched/cellsched/resources"
)

// golden is the folder of a journal that a release has written. state.txt is the cell that it
// had then.
const golden = "testdata/v1"

// A journal that an earlier release has written is read as that release did. Each entry gives
// the outcomes of which its writer kept a digest, and the cell is the same.
// JOURNAL_GOLDEN=write writes the folder, once for each version of what operations do.
func TestOpen_ReadsTheJournalsOfEarlierReleases(t *testing.T) {
	if os.Getenv("JOURNAL_GOLDEN") == "write" {
		writeGolden(t)
	}
	// The one of version 2 was written alike by a process with a TTL, which died, and its successor.
	for _, folder := range []string{golden, "testdata/v2"} {
		for _, from := range []string{"entries", "checkpoint"} {
			readsGolden(t, folder, from)
		}
	}
}

// readsGolden reads one folder of a golden journal.
func readsGolden(t *testing.T, golden, from string) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join(golden, "state.txt"))
	require.NoError(t, err)
	folder := t.TempDir()
	require.NoError(t, os.CopyFS(folder, os.DirFS(filepath.Join(golden, from))))
	store, err := file.Open(folder)
	require.NoError(t, err)
	cell, err := journal.Open(t.Context(), store, journal.Config{First: omega.Config{Space: goldenSpace(t)}})
	require.NoError(t, err)
	require.Equal(t, string(want), describe(cell.Cell), from)
	require.NoError(t, cell.Check())
	require.NoError(t, cell.Close(t.Context()))
	require.NoError(t, store.Close())
	kept, err := filepath.Glob(filepath.Join(golden, from, "*-*"))
	require.NoError(t, err)
	for _, name := range kept {
		before, err := os.ReadFile(name)
		require.NoError(t, err)
		after, err := os.ReadFile(filepath.Join(folder, filepath.Base(name)))
		require.NoError(t, err)
		require.True(t, bytes.HasPrefix(after, before), name)
	}
}

func goldenSpace(t *testing.T) *resources.Space {
	t.Helper()
	space, err := resources.NewSpace(resources.Dimension{Name: "cpu"}, resources.Dimension{Name: "memory"})
	require.NoError(t, err)
	return space
}

// describe returns what callers see of a cell.
func describe(cell *omega.Cell) string {
	var b bytes.Buffer
	for m := range cell.Machines() {
		fmt.Fprintln(&b, "machine", m.ID, m.Name, m.Condition, m.Capacity, m.Free, m.Attributes)
	}
	for a := range cell.Allocations() {
		name, _ := cell.AccountName(a.Account)
		fmt.Fprintln(&b, "allocation", a.ID, a.Scheduler, name, a.Need, a.Precedence)
	}
	return b.String()
}

func writeGolden(t *testing.T) {
	t.Helper()
	require.NoError(t, os.RemoveAll(golden))
	entries, checkpoint := filepath.Join(golden, "entries"), filepath.Join(golden, "checkpoint")
	store, err := file.Open(entries)
	require.NoError(t, err)
	cfg := journal.Config{First: omega.Config{Space: goldenSpace(t)}}
	cell, err := journal.Open(t.Context(), store, cfg)
	require.NoError(t, err)
	goldenScript(t, cell.Cell)
	require.NoError(t, cell.Close(t.Context()))
	require.NoError(t, store.Close())

	require.NoError(t, os.CopyFS(checkpoint, os.DirFS(entries)))
	store, err = file.Open(checkpoint)
	require.NoError(t, err)
	cell, err = journal.Open(t.Context(), store, cfg)
	require.NoError(t, err)
	require.NoError(t, cell.Checkpoint(t.Context()))
	s, err := cell.Take(t.Context(), "batch", omega.Limits{})
	require.NoError(t, err)
	m, _ := cell.Machine("node-0")
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{1, 1}})
	_, err = s.Commit(&tx)
	require.NoError(t, err)
	id, _ := tx.Allocation(0)
	require.NoError(t, s.Release(id))
	require.NoError(t, cell.Close(t.Context()))
	require.NoError(t, store.Close())
	for _, folder := range []string{entries, checkpoint} {
		require.NoError(t, os.Remove(filepath.Join(folder, "lock")))
	}
	require.NoError(t, os.WriteFile(filepath.Join(golden, "state.txt"), []byte(describe(cell.Cell)), 0o600))
}

// goldenScript makes changes of all kinds, some of which are refused.
func goldenScript(t *testing.T, cell *omega.Cell) {
	t.Helper()
	ids := make([]omega.MachineID, 4)
	for i := range ids {
		id, err := cell.Add(omega.Machine{
			Name: fmt.Sprint("node-", i), Capacity: resources.Vector{16000, 64 << 30},
			Attributes: map[string]string{"rack": fmt.Sprint(i % 2), "zone": "a"},
		})
		require.NoError(t, err)
		ids[i] = id
	}
	low, err := cell.Take(t.Context(), "batch", omega.Limits{Lowest: -1, Highest: 3, Divisible: true})
	require.NoError(t, err)
	high, err := cell.Register("service", omega.Limits{Highest: 9, Jobs: 2, Held: &resources.Vector{40000, 100 << 30}})
	require.NoError(t, err)
	deputy, err := high.Deputy("service/web", omega.Limits{Highest: 9})
	require.NoError(t, err)
	tenant, err := cell.Account(t.Context(), "tenant")
	require.NoError(t, err)
	require.NoError(t, high.BeginJob())
	now := time.Unix(1_700_000_000, 0)
	var held []omega.AllocationID
	commit := func(s *omega.Scheduler, tx *omega.Txn) {
		tx.Now, tx.Grace = now, omega.AtOnce
		_, err := s.Commit(tx)
		require.NoError(t, err)
		for i := range tx.Len() {
			if id, ok := tx.Allocation(i); ok && s == low {
				held = append(held, id)
			}
		}
	}
	for i := range 12 {
		tx := omega.Txn{Gang: i%3 == 0}
		for n := range 1 + i%4 {
			tx.Claim(omega.Claim{Machine: ids[(i+n)%4], Account: tenant, Need: resources.Vector{500 * int64(1+n), 1 << 30}, Precedence: omega.Precedence(i % 3)})
		}
		commit(low, &tx)
	}
	var resize, exchange, preempt, gang, coarse omega.Txn
	resize.Resize(held[0], resources.Vector{250, 1 << 29})
	commit(low, &resize)
	exchange.Exchange([]omega.AllocationID{held[1]}, omega.Claim{Machine: ids[held[1].Node()], Need: resources.Vector{100}, Grantee: deputy})
	commit(low, &exchange)
	need := resources.Vector{15000, 1 << 30}
	victims, ok := cell.Victims(ids[2], need, 9)
	require.True(t, ok)
	preempt.Claim(omega.Claim{Machine: ids[2], Need: need, Precedence: 9, Victims: victims})
	commit(high, &preempt)
	for i := range ids {
		gang.Claim(omega.Claim{Machine: ids[i], Need: resources.Vector{15000}}) // refused
	}
	gang.Gang = true
	commit(deputy, &gang)
	low.Snapshot().Refresh(now)
	coarse.Detect = omega.Coarse
	coarse.Claim(omega.Claim{Machine: ids[3], Need: resources.Vector{10}})
	commit(low, &coarse)
	var reserve omega.Txn
	reserve.Reserve(now.Add(time.Hour), omega.Claim{Machine: ids[0], Need: resources.Vector{12000}})
	commit(low, &reserve)
	require.NoError(t, low.Restrict(t.Context(), omega.Mask{7}))
	require.NoError(t, low.Release(held[5]))
	for mark := range low.Marked() {
		require.NoError(t, low.Release(mark.Allocation.ID))
	}
	require.NoError(t, deputy.Leave())
	require.NoError(t, high.EndJob())
	require.NoError(t, cell.Drain(ids[1]))
	require.NoError(t, cell.Drain(ids[0]))
	require.NoError(t, cell.Resume(ids[0]))
	require.NoError(t, cell.SetCapacity(ids[0], resources.Vector{32000, 64 << 30}))
	require.NoError(t, cell.SetAttributes(ids[0], map[string]string{"rack": "9"}))
	require.ErrorIs(t, cell.SetCapacity(ids[2], resources.Vector{1}), omega.ErrInUse)
	_, err = cell.Replace("service")
	require.NoError(t, err)
	_, err = cell.Remove(ids[3])
	require.NoError(t, err)
}

// The walk of a golden journal has entries of each kind.
func TestRead_WalksTheJournalsOfEarlierReleases(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.CopyFS(folder, os.DirFS(filepath.Join(golden, "entries"))))
	store, err := file.Open(folder)
	require.NoError(t, err)
	kinds := map[byte]int{}
	for e, err := range store.Read(t.Context(), 0) {
		require.NoError(t, err)
		if e.Data == nil {
			break
		}
		require.Equal(t, byte(1), e.Data[0], "version")
		kinds[e.Data[1]]++
	}
	require.Equal(t, 1, kinds[1])
	require.Greater(t, kinds[2], 30)
	require.Equal(t, 1, kinds[3])
	_, r, err := store.Checkpoint(t.Context())
	require.NoError(t, err)
	require.Nil(t, r)
	require.NoError(t, store.Close())
	checkpoints, err := filepath.Glob(filepath.Join(golden, "checkpoint", "checkpoint-*"))
	require.NoError(t, err)
	require.Len(t, checkpoints, 1)
	f, err := os.Open(checkpoints[0])
	require.NoError(t, err)
	magic := make([]byte, 9)
	_, err = io.ReadFull(f, magic)
	require.NoError(t, err)
	require.Equal(t, "OmegaJnl\x01", string(magic))
	require.NoError(t, f.Close())
}

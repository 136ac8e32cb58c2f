package file_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/file"
	"github.com/cellsched/cellsched/resources"
)

// Of 300 damages to the files of a journal none is silent: the open is refused. Some damages are
// those of an append that was cut off. Then one entry at most is gone.
func TestOpen_RefusesThreeHundredDamages(t *testing.T) {
	whole := t.TempDir()
	store, err := file.Open(whole)
	require.NoError(t, err)
	cell, err := journal.Open(t.Context(), store, killedConfig())
	require.NoError(t, err)
	s, err := cell.Take(t.Context(), "s", omega.Limits{})
	require.NoError(t, err)
	m, _ := cell.Machine("m0")
	for i := range 120 {
		var tx omega.Txn
		tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{1}})
		_, err := s.Commit(&tx)
		require.NoError(t, err)
		if i == 60 {
			require.NoError(t, cell.Checkpoint(t.Context()))
		}
	}
	before := describe(cell.Cell)
	require.NoError(t, cell.Drain(m))
	last := describe(cell.Cell)
	require.NoError(t, store.Close()) // as after a kill: the session has no end
	require.ErrorIs(t, cell.Close(t.Context()), journal.ErrFailed)
	names, err := filepath.Glob(filepath.Join(whole, "*-*"))
	require.NoError(t, err)
	require.Len(t, names, 2)

	rng := rand.New(rand.NewPCG(5, 5))
	refused, torn, harmless := 0, 0, 0
	for n := range 300 {
		folder := t.TempDir()
		require.NoError(t, os.CopyFS(folder, os.DirFS(whole)))
		name := filepath.Join(folder, filepath.Base(names[n%2]))
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		kind, damaged := damage(rng, data)
		if bytes.Equal(data, damaged) {
			continue
		}
		require.NoError(t, os.WriteFile(name, damaged, 0o600))
		if kind == "gone" {
			require.NoError(t, os.Remove(name))
		}
		store, err := file.Open(folder)
		var cell *journal.Cell
		if err == nil {
			cell, err = journal.Open(t.Context(), store, killedConfig())
		}
		if err != nil {
			require.ErrorIs(t, err, journal.ErrDamaged, "damage %d, %s", n, kind)
			if n%2 == 0 && kind != "gone" {
				require.ErrorContains(t, err, "checkpoint at position 64: ", "damage %d, %s", n, kind)
			}
			refused++
		} else {
			switch describe(cell.Cell) {
			case last: // a checkpoint that is gone, with all entries there
				harmless++
			case before:
				torn++
			default:
				require.Fail(t, "silent", "damage %d, %s of %s", n, kind, filepath.Base(name))
			}
		}
		if cell != nil {
			_ = cell.Close(t.Context())
		}
		if store != nil {
			_ = store.Close()
		}
	}
	require.Less(t, torn, 15)
	t.Logf("%d refused, %d as an append that was cut off, %d harmless", refused, torn, harmless)
}

// damage returns a copy of data with some damage, and its kind.
func damage(rng *rand.Rand, data []byte) (kind string, damaged []byte) {
	b := bytes.Clone(data)
	at := rng.IntN(len(b))
	to := min(len(b), at+1+rng.IntN(200))
	switch kind := rng.IntN(8); kind {
	case 0, 1:
		b[at] ^= 1 << rng.IntN(8)
		return fmt.Sprint("bit of byte ", at), b
	case 2:
		clear(b[at:to])
		return fmt.Sprint("zeros from ", at, " to ", to), b
	case 3:
		for i := at; i < to; i++ {
			b[i] = byte(rng.Uint32())
		}
		return fmt.Sprint("noise from ", at, " to ", to), b
	case 4:
		return fmt.Sprint("cut of ", at, " to ", to), append(b[:at], data[to:]...)
	case 5:
		return fmt.Sprint("copy of ", at, " to ", to), append(b[:to], data[at:]...)
	case 6:
		from := rng.IntN(len(b))
		copy(b[at:to], data[from:])
		return fmt.Sprint("bytes of ", from, " at ", at), b
	default:
		return "gone", nil
	}
}

package journal_test

import (
	"bytes"
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/journal"
)

// A checkpoint with any byte altered is refused, and the error names its position: in the header
// and in the saved cell alike.
func TestOpen_NamesTheCheckpointThatItRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim(1)
		cell := open(t, sim.Client(), first(3))
		require.NoError(t, cell.Checkpoint(t.Context()))
		require.NoError(t, cell.Close(t.Context()))
		at, r, err := sim.Client().Checkpoint(t.Context())
		require.NoError(t, err)
		whole, err := io.ReadAll(r)
		require.NoError(t, err)
		for i := range whole {
			bad, want := bytes.Clone(whole), journal.ErrDamaged
			if bad[i] ^= 0x10; i == 8 {
				want = journal.ErrVersion
			}
			_, err := journal.Open(t.Context(), &stale{Store: sim.Client(), at: at, checkpoint: bad, times: 1}, first(3))
			require.ErrorIs(t, err, want, "byte %d", i)
			require.ErrorContains(t, err, "checkpoint at position 2: ")
			onePackage(t, err)
		}
	})
}

// onePackage requires that the text of an error names one package, in front.
func onePackage(t *testing.T, err error) {
	t.Helper()
	require.Len(t, packages.FindAllString(err.Error(), -1), 1, err.Error())
	require.Regexp(t, `^(journal|omega): `, err.Error())
}

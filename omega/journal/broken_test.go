package journal_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/journaltest"
)

// breaking is a store whose connection breaks while a checkpoint is read.
type breaking struct {
	*journaltest.Client
	after int // bytes
}

var errConnection = fmt.Errorf("connection: %w", io.ErrUnexpectedEOF)

func (b *breaking) Checkpoint(ctx context.Context) (journal.Position, io.ReadCloser, error) {
	at, r, err := b.Client.Checkpoint(ctx)
	if r != nil {
		r = &broken{r, b.after}
	}
	return at, r, err
}

type broken struct {
	io.ReadCloser
	left int
}

func (b *broken) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errConnection
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// A connection that breaks is no damage, wherever it does.
func TestOpen_TakesABrokenConnectionForNoDamage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim(1)
		cell := open(t, sim.Client(), expiring(2))
		s, err := cell.Ephemeral(t.Context(), "leases", omega.Limits{})
		require.NoError(t, err)
		hold(t, s, 1, 2)
		require.NoError(t, board(t, cell).Post(t.Context(), journal.Note{Key: "t", Amount: unit(1), Most: unit(6)}))
		require.NoError(t, cell.Checkpoint(t.Context()))
		_, r, err := sim.Client().Checkpoint(t.Context())
		require.NoError(t, err)
		whole, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NotEmpty(t, whole)
		for after := range whole {
			_, err := journal.Open(t.Context(), &breaking{sim.Client(), after}, expiring(2))
			require.ErrorIs(t, err, errConnection, after)
			require.False(t, errors.Is(err, journal.ErrDamaged) || errors.Is(err, omega.ErrDamaged), "%d: %v", after, err)
		}
		closeAll(t, cell)
	})
}

package omega_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

func TestReason_IsTheWordThatIsCounted(t *testing.T) {
	for err, want := range map[error]string{
		nil: "", errors.New("other"): "", omega.ErrEmpty: "", omega.ErrConflict: "conflict", omega.ErrFull: "full",
		fmt.Errorf("%w: more", omega.ErrLimit): "limit", omega.ErrSuperseded: "superseded", omega.ErrGang: "gang",
	} {
		require.Equal(t, want, omega.Reason(err))
	}
	cell, ids := newCell(t, 1, resources.Vector{})
	s := register(t, cell, "s")
	var tx omega.Txn
	tx.Claim(claim(ids[0], 1))
	_, err := s.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, s.Stats().Refused[0].Reason, omega.Reason(tx.Err(0)))
}

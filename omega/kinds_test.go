package omega_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
)

// The errors that only tests of the package tell apart wrap the one that programs see.
func TestErrors_OfOneKindWrapIt(t *testing.T) {
	for _, err := range []error{
		omega.ErrEmpty, omega.ErrCommitted, omega.ErrUncommitted, omega.ErrVictim, omega.ErrExchange, omega.ErrReservation, omega.ErrGrace,
	} {
		require.ErrorIs(t, err, omega.ErrTxn)
	}
	for _, err := range []error{
		omega.ErrID,
	} {
		require.ErrorIs(t, err, omega.ErrName)
	}
}

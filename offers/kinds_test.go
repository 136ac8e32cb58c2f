package offers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
)

// The errors that only tests of the package tell apart wrap the one that programs see.
func TestErrors_OfOneKindWrapIt(t *testing.T) {
	for _, err := range []error{
		offers.ErrName, offers.ErrSpan, offers.ErrWeight, offers.ErrFraction,
	} {
		require.ErrorIs(t, err, offers.ErrConfig)
	}
	for _, err := range []error{
		offers.ErrUsed, offers.ErrDeclined, offers.ErrForeign, offers.ErrMachine,
	} {
		require.ErrorIs(t, err, offers.ErrUnknown)
	}
}

package late_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/delay/late"
)

// The errors that only tests of the package tell apart wrap the one that programs see.
func TestErrors_OfOneKindWrapIt(t *testing.T) {
	for _, err := range []error{
		late.ErrAttempt, late.ErrCopied, late.ErrNode, late.ErrTime, late.ErrProgress,
	} {
		require.ErrorIs(t, err, late.ErrCall)
	}
}

package pools_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf/pools"
)

// The errors that only tests of the package tell apart wrap the one that programs see.
func TestErrors_OfOneKindWrapIt(t *testing.T) {
	for _, err := range []error{
		pools.ErrLimits, pools.ErrFactor, pools.ErrTime,
	} {
		require.ErrorIs(t, err, pools.ErrValue)
	}
}

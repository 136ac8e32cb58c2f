package pools_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf/pools"
	"github.com/cellsched/cellsched/internal/niltest"
	"github.com/cellsched/cellsched/resources"
)

func TestNil_MethodsFailOrReturnNothing(t *testing.T) {
	niltest.Methods(t, (*pools.Tree[string])(nil), resources.ErrNil, nil)
	niltest.Methods(t, (*pools.Hunger)(nil), resources.ErrNil, nil)
}

func TestZero_ValueIsUsableOrRejected(t *testing.T) {
	niltest.Methods(t, &pools.Tree[string]{}, resources.ErrNil, nil)
	niltest.Methods(t, &pools.Hunger{}, pools.ErrTime, nil) // the zero time
	niltest.Methods(t, pools.Tally{}, nil, nil)
	niltest.Methods(t, pools.Child{}, nil, nil)
	for _, order := range []pools.Order{pools.FIFO, pools.Priority, pools.Fair(0), pools.Fair(200)} {
		require.Zero(t, order(pools.Child{}, pools.Child{}))
	}
}

package drf_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/internal/niltest"
	"github.com/cellsched/cellsched/resources"
)

func TestNil_MethodsFailOrReturnNothing(t *testing.T) {
	niltest.Methods(t, (*drf.Heap[int])(nil), resources.ErrNil, nil)
	niltest.Methods(t, (*drf.FairQueue)(nil), resources.ErrNil, nil)
	niltest.Methods(t, (*drf.Run)(nil), nil, map[string]any{"Timed": false})
}

func TestZero_ValueIsUsableOrRejected(t *testing.T) {
	var heap drf.Heap[string]
	u, err := heap.Add("a", 1)
	require.NoError(t, err)
	require.NoError(t, heap.Charge(u, resources.Vector{1}))
	require.Equal(t, 1, heap.Len())
	niltest.Methods(t, &drf.FairQueue{}, resources.ErrNil, nil)
	niltest.Methods(t, drf.User{}, nil, nil)
	niltest.Methods(t, &drf.Run{}, nil, map[string]any{"Timed": false})
}

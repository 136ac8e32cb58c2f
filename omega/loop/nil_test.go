package loop_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/niltest"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

func TestNil_MethodsOfALoop(t *testing.T) {
	niltest.Methods(t, (*loop.Loop[string])(nil), resources.ErrNil, nil)
	niltest.Methods(t, new(loop.Loop[string]), resources.ErrNil, nil)
}

// A Cancel of no job leaves the loop in order.
func TestCancel_OfNoJob(t *testing.T) {
	r := newRig(t, newCell(t, 1), loop.Config[string]{})
	r.Cancel(nil)
	r.submit(t, at(0), job("a", 1, 1))
	require.NotPanics(t, func() { r.step(t, at(0)); r.step(t, at(0)) })
	require.Len(t, r.held["a"], 1)
}

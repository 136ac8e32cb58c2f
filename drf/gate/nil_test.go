package gate_test

import (
	"testing"

	"github.com/cellsched/cellsched/drf/gate"
	"github.com/cellsched/cellsched/internal/niltest"
	"github.com/cellsched/cellsched/resources"
)

func TestNil_MethodsFailOrReturnNothing(t *testing.T) {
	niltest.Methods(t, (*gate.Gate)(nil), resources.ErrNil, nil)
	niltest.Methods(t, (*gate.Seat)(nil), resources.ErrNil, nil)
	niltest.Methods(t, &gate.Gate{}, resources.ErrNil, nil)
	niltest.Methods(t, &gate.Seat{}, resources.ErrNil, nil)
}

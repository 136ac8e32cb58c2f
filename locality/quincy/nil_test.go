package quincy_test

import (
	"testing"

	"github.com/cellsched/cellsched/internal/niltest"
	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/resources"
)

func TestNil_MethodsFailOrReturnNothing(t *testing.T) {
	niltest.Methods(t, (*quincy.Planner[int, int])(nil), resources.ErrNil, nil)
	niltest.Methods(t, &quincy.Planner[int, int]{}, resources.ErrNil, nil)
}

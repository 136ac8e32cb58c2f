package flow_test

import (
	"testing"

	"github.com/cellsched/cellsched/internal/niltest"
	"github.com/cellsched/cellsched/omega/flow"
	"github.com/cellsched/cellsched/resources"
)

func TestNil_MethodsOfAScheduler(t *testing.T) {
	niltest.Methods(t, (*flow.Scheduler[job, name])(nil), resources.ErrNil, nil)
	niltest.Methods(t, new(flow.Scheduler[job, name]), resources.ErrNil, nil)
}

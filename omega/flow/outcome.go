package flow

import (
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
)

// outcome holds the report and the errors of the round in progress.
type outcome[T comparable] struct {
	report    Report[T]
	errs      []error
	refused   observe.Counts // claims, by reason
	conflicts []conflict[T]  // the refused claims, if there is a subscriber
}

// conflict is a claim that the cell has refused.
type conflict[T comparable] struct {
	task    T
	machine omega.MachineID
	why     error
}

// fail notes an error of the round; nil is none.
func (o *outcome[T]) fail(err error) {
	if err != nil {
		o.errs = append(o.errs, err)
	}
}

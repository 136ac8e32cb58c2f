package flow

import "github.com/cellsched/cellsched/omega/observe"

// outcome holds the report and the errors of the round in progress.
type outcome[T comparable] struct {
	report  Report[T]
	errs    []error
	refused observe.Counts // claims, by reason
}

// fail notes an error of the round; nil is none.
func (o *outcome[T]) fail(err error) {
	if err != nil {
		o.errs = append(o.errs, err)
	}
}

package resources

import "fmt"

// CheckNeed returns an error that wraps [ErrQuantity] unless v can be what a task
// needs: valid as [Vector.Check] has it, and more than zero of some kind. A need of
// nothing would fit any number of times.
func (v Vector) CheckNeed() error {
	if err := v.Check(); err != nil {
		return err
	}
	if v == (Vector{}) {
		return fmt.Errorf("%w: need is 0 of every kind, want more than 0 of one", ErrQuantity)
	}
	return nil
}

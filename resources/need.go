package resources

import "fmt"

// CheckNeed returns an error that wraps [ErrQuantity] unless v can be the need of a
// task. It has to pass [Vector.Check], and be more than zero of some kind: a need
// of nothing would fit any number of times.
func (v Vector) CheckNeed() error {
	if err := v.Check(); err != nil {
		return err
	}
	if v == (Vector{}) {
		return fmt.Errorf("%w: need is 0 of every kind, want more than 0 of one", ErrQuantity)
	}
	return nil
}

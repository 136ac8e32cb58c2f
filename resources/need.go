package resources

import "fmt"

// CheckNeed returns an error that wraps [ErrQuantity] unless v can be the need of a
// task. It has to pass [Vector.Check], and be more than zero of some kind: a need
// of nothing would fit any number of times.
func (v Vector) CheckNeed() error {
	// With another number of kinds this does not compile.
	const _ = uint(MaxKinds-8) + uint(8-MaxKinds)
	if all := v[0] | v[1] | v[2] | v[3] | v[4] | v[5] | v[6] | v[7]; 0 < all && all < MaxQuantity {
		return nil // since none is larger than all of their bits, or negative
	}
	if err := v.Check(); err != nil {
		return err
	}
	if v == (Vector{}) {
		return fmt.Errorf("%w: need is 0 of every kind, want more than 0 of one", ErrQuantity)
	}
	return nil
}

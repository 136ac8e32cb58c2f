// Package check holds the checks of input that drf and the packages below it share, and
// the text of their errors.
package check

import (
	"errors"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/resources"
)

// The sentinels of all packages of drf. Package drf exports them.
var (
	ErrUser     = errors.New("drf: no such user")
	ErrWeight   = errors.New("drf: invalid weight")
	ErrEmpty    = errors.New("drf: empty amount")
	ErrPatience = errors.New("drf: invalid patience")
	ErrHeld     = errors.New("drf: usage mismatch")
)

// The weights that are valid.
const (
	MinWeight = 1e-6
	MaxWeight = 1e6
)

// Package is the name of a package, in front of its errors.
type Package string

// Refuse returns an error of the package that wraps cause. Vectors among the
// arguments are written as [resources.Space.Format] does without names: only the
// kinds that are not zero.
func (p Package) Refuse(cause error, format string, args ...any) error {
	for i, arg := range args {
		if v, ok := arg.(resources.Vector); ok {
			args[i] = (*resources.Space)(nil).Format(v)
		}
	}
	return fault.Newf(string(p), cause, format, args...)
}

// Absent returns an error that wraps [resources.ErrNil] and names the argument.
func (p Package) Absent(argument string) error {
	return p.Refuse(resources.ErrNil, "%s", argument)
}

// Weight returns an error for a weight that is not valid.
func (p Package) Weight(op string, weight float64) error {
	if ValidWeight(weight) {
		return nil
	}
	return p.Refuse(ErrWeight, "%s: weight %v, want %v to %v", op, weight, MinWeight, MaxWeight)
}

// ValidWeight reports whether a weight is a number from [MinWeight] to [MaxWeight].
func ValidWeight(weight float64) bool {
	return weight >= MinWeight && weight <= MaxWeight // false for NaN
}

// Some returns an error for a vector that is invalid or zero.
func (p Package) Some(op string, v resources.Vector) error {
	if err := v.Check(); err != nil {
		return p.Refuse(err, "%s", op)
	}
	if v == (resources.Vector{}) {
		return p.Refuse(ErrEmpty, "%s: amount %v, want some of at least one kind", op, v)
	}
	return nil
}

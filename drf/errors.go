package drf

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cellsched/cellsched/resources"
)

// ErrUser is what a call fails with when its [User] is not in the heap: never
// added, or removed since.
var ErrUser = errors.New("drf: no such user")

// ErrKey is what [Heap.Add] fails with when the key is taken already, or can
// never be found again (NaN, or an interface that holds a slice, map or func).
var ErrKey = errors.New("drf: unusable key")

// ErrWeight is what a weight fails with when it is outside [[MinWeight],
// [MaxWeight]], or not a number.
var ErrWeight = errors.New("drf: invalid weight")

// ErrEmpty is what a total or a demand of nothing at all fails with.
var ErrEmpty = errors.New("drf: nothing of any resource")

// ErrPatience is what a patience of nothing, or less, fails with.
var ErrPatience = errors.New("drf: invalid patience")

// ErrHeld is what a call fails with when it does not agree with what the user
// holds: a credit of more than that, a removal before all of it is credited.
var ErrHeld = errors.New("drf: disagrees with what the user holds")

// refusal is one of the above with the figures: package, what was tried, what
// was wanted, the condition last.
type refusal struct {
	text  string
	cause error
}

func refuse(cause error, format string, args ...any) error {
	return &refusal{fmt.Sprintf(format, args...), cause}
}

func (r *refusal) Error() string {
	return "drf: " + r.text + ": " + strings.TrimPrefix(r.cause.Error(), "drf: ")
}

func (r *refusal) Unwrap() error { return r.cause }

func badUser(op string, u User) error {
	return refuse(ErrUser, "%s user %d (generation %d)", op, u.slot, u.gen)
}

func checkWeight(op string, weight float64) error {
	if weight >= MinWeight && weight <= MaxWeight { // false for NaN
		return nil
	}
	return refuse(ErrWeight, "%s: weight %v, want %v to %v", op, weight, MinWeight, MaxWeight)
}

// checkSome is for vectors that must be valid and ask for something.
func checkSome(op string, v resources.Vector) error {
	if err := v.Check(); err != nil {
		return refuse(err, "%s", op)
	}
	if v == (resources.Vector{}) {
		return refuse(ErrEmpty, "%s %v, want some of at least one kind", op, v)
	}
	return nil
}

func badCharge(u User, held, v resources.Vector) error {
	if err := v.Check(); err != nil {
		return refuse(err, "charge user %d", u.slot)
	}
	return refuse(resources.ErrQuantity, "charge user %d %v on top of %v, want at most 2^62 in all", u.slot, v, held)
}

func badCredit(u User, held, v resources.Vector) error {
	if err := v.Check(); err != nil {
		return refuse(err, "credit user %d", u.slot)
	}
	return refuse(ErrHeld, "credit user %d %v, but it holds %v", u.slot, v, held)
}

package drf

import (
	"errors"
	"fmt"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/resources"
)

// ErrUser reports a [User] that is not in the heap: never added, or removed since.
var ErrUser = errors.New("drf: no such user")

// ErrKey reports a key that [Heap.Add] cannot use: another user has it, or a map
// can never find it again. NaN is such a key, and an interface that holds a slice,
// map or func.
var ErrKey = errors.New("drf: unusable key")

// ErrWeight reports a weight outside [[MinWeight], [MaxWeight]], or not a number.
var ErrWeight = errors.New("drf: invalid weight")

// ErrEmpty reports a total, a demand or a machine without any resource.
var ErrEmpty = errors.New("drf: empty amount")

// ErrPatience reports a patience or an expected length out of its range.
var ErrPatience = errors.New("drf: invalid patience")

// ErrHeld reports a call that does not agree with the usage of its user: a credit
// of more than that, or a removal before all of it is credited.
var ErrHeld = errors.New("drf: usage mismatch")

// refuse returns an error of this package that wraps cause. Vectors among the
// arguments are written as [resources.Space.Format] does without names: only the
// kinds that are not zero.
func refuse(cause error, format string, args ...any) error {
	for i, arg := range args {
		if v, ok := arg.(resources.Vector); ok {
			args[i] = (*resources.Space)(nil).Format(v)
		}
	}
	return fault.Newf("drf", cause, format, args...)
}

// absent returns an error that wraps [resources.ErrNil] and names the argument.
func absent(argument string) error { return refuse(resources.ErrNil, "%s", argument) }

func badUser(op string, u User) error {
	return refuse(ErrUser, "%s user %d (generation %d)", op, u.slot, u.gen)
}

func validWeight(weight float64) bool {
	return weight >= MinWeight && weight <= MaxWeight // false for NaN
}

func checkWeight(op string, weight float64) error {
	if validWeight(weight) {
		return nil
	}
	return refuse(ErrWeight, "%s: weight %v, want %v to %v", op, weight, MinWeight, MaxWeight)
}

// checkSome returns an error for a vector that is invalid or zero.
func checkSome(op string, v resources.Vector) error {
	if err := v.Check(); err != nil {
		return refuse(err, "%s", op)
	}
	if v == (resources.Vector{}) {
		return refuse(ErrEmpty, "%s: amount %v, want some of at least one kind", op, v)
	}
	return nil
}

func badCharge(name string, held, v resources.Vector) error {
	if err := v.Check(); err != nil {
		return refuse(err, "charge %s", name)
	}
	return refuse(resources.ErrQuantity, "charge %s %v on top of %v, want at most 2^62 in all", name, v, held)
}

func badCredit(name string, held, v resources.Vector) error {
	if err := v.Check(); err != nil {
		return refuse(err, "credit %s", name)
	}
	return refuse(ErrHeld, "credit %s %v, but it holds %v", name, v, held)
}

// name returns a user's key for an error text, or its number if the key has no
// text.
func (h *Heap[K]) name(u User) string {
	if key := h.keys[u.slot]; !fault.Opaque(key) {
		return "user " + fault.Key(key)
	}
	return fmt.Sprintf("user %d", u.slot)
}

package drf

import (
	"errors"
	"fmt"

	"github.com/cellsched/cellsched/drf/internal/check"
	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/resources"
)

// ErrUser reports a [User] that is not in the heap: never added, or removed since.
var ErrUser = check.ErrUser

// ErrKey reports a key that [Heap.Add] cannot use: another user has it, or a map
// can never find it again. NaN is such a key, and an interface that holds a slice,
// map or func.
var ErrKey = errors.New("drf: unusable key")

// ErrWeight reports a weight outside [[MinWeight], [MaxWeight]], or not a number.
var ErrWeight = check.ErrWeight

// ErrEmpty reports a total, a demand or a machine without any resource.
var ErrEmpty = check.ErrEmpty

// ErrPatience reports a patience or an expected length out of its range.
var ErrPatience = check.ErrPatience

// ErrHeld reports a call that does not agree with the usage of its user: a credit
// above that usage, or the removal of a user with usage.
var ErrHeld = check.ErrHeld

// self is the package in front of its errors.
const self check.Package = "drf"

func badUser(op string) error {
	return self.Refuse(ErrUser, "%s user: want the handle of a user of this heap or queue", op)
}

func badCharge(name string, held, v resources.Vector) error {
	if err := v.Check(); err != nil {
		return self.Refuse(err, "charge %s", name)
	}
	return self.Refuse(resources.ErrQuantity, "charge %s %v plus %v held, want at most 2^62 in all", name, v, held)
}

func badCredit(name string, held, v resources.Vector) error {
	if err := v.Check(); err != nil {
		return self.Refuse(err, "credit %s", name)
	}
	return self.Refuse(ErrHeld, "credit %s %v, but it holds %v", name, v, held)
}

// name returns a user's key for an error text, or its number if the key has no
// text.
func (h *Heap[K]) name(u User) string {
	if key := h.keys[u.slot]; !fault.Opaque(key) {
		return "user " + fault.Key(key)
	}
	return fmt.Sprintf("user %d", u.slot)
}

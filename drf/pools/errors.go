package pools

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// ErrNode is what a call fails with when its [Node] is not in the tree, or is a
// pool where a job is asked for.
var ErrNode = errors.New("pools: no such pool or job")

// ErrTree is what a call fails with that would leave no tree: a parent that is
// not a pool or is below its own child, children without a parent, a job that
// has what only pools have.
var ErrTree = errors.New("pools: not a tree")

// ErrLimits is what a min share above the max share fails with.
var ErrLimits = errors.New("pools: min share above max share")

// ErrTime is what a time before one that was already told fails with.
var ErrTime = errors.New("pools: time goes back")

// refusal is one of the above, or of those of drf and resources, with the
// figures.
type refusal struct {
	text  string
	cause error
}

func refuse(cause error, format string, args ...any) error {
	return &refusal{fmt.Sprintf(format, args...), cause}
}

func (r *refusal) Error() string {
	_, cause, ok := strings.Cut(r.cause.Error(), ": ")
	if !ok {
		cause = r.cause.Error()
	}
	return "pools: " + r.text + ": " + cause
}

func (r *refusal) Unwrap() error { return r.cause }

func badNode(op, want string, n Node) error {
	return refuse(ErrNode, "%s node %d (generation %d), want %s", op, n.slot, n.gen, want)
}

func checkWeight(op string, weight float64) error {
	if weight >= drf.MinWeight && weight <= drf.MaxWeight { // false for NaN
		return nil
	}
	return refuse(drf.ErrWeight, "%s: weight %v, want %v to %v", op, weight, drf.MinWeight, drf.MaxWeight)
}

// checkSome is for vectors that must be valid and ask for something.
func checkSome(op string, v resources.Vector) error {
	if err := v.Check(); err != nil {
		return refuse(err, "%s", op)
	}
	if v == (resources.Vector{}) {
		return refuse(drf.ErrEmpty, "%s %v, want some of at least one kind", op, v)
	}
	return nil
}

func checkLimits(op string, low resources.Vector, high *resources.Vector) error {
	if err := low.Check(); err != nil {
		return refuse(err, "%s: min share", op)
	}
	if high == nil {
		return nil
	}
	if err := high.Check(); err != nil {
		return refuse(err, "%s: max share", op)
	}
	for k := range low {
		if low[k] > high[k] {
			return refuse(ErrLimits, "%s: kind %d: min share %d, max share %d", op, k, low[k], high[k])
		}
	}
	return nil
}

// exceeds reports whether v and w are more than 2^62 of any kind together.
func exceeds(v, w *resources.Vector) bool {
	for k := range v {
		if v[k] > resources.MaxQuantity-w[k] {
			return true
		}
	}
	return false
}

package pools

import (
	"errors"
	"strconv"

	"github.com/cellsched/cellsched/drf/internal/check"
	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/resources"
)

// ErrNode reports a [Node] that is not in the tree, or a pool in place of a job.
var ErrNode = errors.New("pools: no such pool or job")

// ErrTree reports a call that would break the tree's form. Such are a parent that
// is a job or below its own child, children without a parent, and a job with a
// setting of pools.
var ErrTree = errors.New("pools: invalid tree")

// ErrValue reports a value that is out of range: a min share above the max share, a time before
// that of an earlier call, or a factor outside (0, 1]. The text says which.
var ErrValue = errors.New("pools: invalid value")

// errLimits reports a min share above the max share.
var errLimits = fault.Text("pools: min share above max share", ErrValue)

// errTime reports a time before that of an earlier call.
var errTime = fault.Text("pools: time goes back", ErrValue)

// self is the package in front of its errors.
const self check.Package = "pools"

func badNode(op, want string) error {
	return self.Refuse(ErrNode, "%s node: want the handle of %s", op, want)
}

// checkLimits returns an error for an invalid limit; op names the call.
func checkLimits(low resources.Vector, high *resources.Vector, op func() string) error {
	if err := low.Check(); err != nil {
		return self.Refuse(err, "%s: min share", op())
	}
	if high == nil {
		return nil
	}
	if err := high.Check(); err != nil {
		return self.Refuse(err, "%s: max share", op())
	}
	for k := range low {
		if low[k] > high[k] {
			return self.Refuse(errLimits, "%s: min share kind%d=%d, max share kind%d=%d", op(), k, low[k], k, high[k])
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

// name returns a node's key for an error text, or its number if the key has no
// text.
func (t *Tree[K]) name(slot uint32) string {
	n := &t.core.nodes[slot]
	if n.parent == none {
		return "the root"
	}
	key := strconv.Itoa(int(slot))
	if !fault.Opaque(t.keys[slot]) {
		key = fault.Key(t.keys[slot])
	}
	if n.sort == isPool {
		return "pool " + key
	}
	return "job " + key
}

package pool

import (
	"errors"
	"fmt"

	"github.com/cellsched/cellsched/internal/fault"
)

// What a call can fail with; nothing is held then.
var (
	// ErrNeed: the need is nothing at all, or would not fit in the pool if it
	// were empty, so that waiting is in vain.
	ErrNeed = errors.New("pool: need can never be met")
	// ErrNoRoom: [Pool.TryAcquire] would have to wait.
	ErrNoRoom = errors.New("pool: no room now")
	// ErrClosed: the pool was closed.
	ErrClosed = errors.New("pool: the pool is closed")
	// ErrReleased: the lease was released before.
	ErrReleased = errors.New("pool: lease is already released")
	// ErrConfig: the configuration can not be used.
	ErrConfig = errors.New("pool: invalid configuration")
	// ErrName: a tenant's name that [resources.CheckName] refuses; the error wraps
	// [resources.ErrName] besides.
	ErrName = errors.New("pool: invalid tenant name")
	// ErrNode: a preferred node that the pool does not have.
	ErrNode = errors.New("pool: unknown node")
)

// refuse returns an error that wraps kind and cause, which says what is wrong.
func refuse(kind, cause error, format string, args ...any) error {
	return fault.New("pool", fault.Bare(kind)+": "+fmt.Sprintf(format, args...), cause, kind)
}

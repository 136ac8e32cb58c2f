package pool

import "errors"

// What a call can fail with; nothing is held then.
var (
	// ErrNeed: the need is nothing at all, or would not fit in the pool if it
	// were empty, so that waiting is in vain.
	ErrNeed = errors.New("pool: need can never be met")
	// ErrNoRoom: [Pool.TryAcquire] would have to wait.
	ErrNoRoom = errors.New("pool: no room now")
	// ErrClosed: the pool was closed.
	ErrClosed = errors.New("pool: closed")
	// ErrReleased: the lease was released before.
	ErrReleased = errors.New("pool: lease is already released")
	// ErrConfig: the configuration can not be used.
	ErrConfig = errors.New("pool: invalid configuration")
	// ErrNode: a preferred node that the pool does not have.
	ErrNode = errors.New("pool: unknown node")
)

//go:build !explore

package gate

import (
	"sync"
	"sync/atomic"
)

// Gates and seats use the atomics of the standard library. Under the build tag
// explore a schedule explorer sees each of their operations.
type (
	atomicPointer[T any] = atomic.Pointer[T]
	atomicInt64          = atomic.Int64
	atomicUint64         = atomic.Uint64
	mutex                = sync.Mutex
)

// Package atomics replaces sync/atomic and sync.Mutex in package omega, so that the
// schedule explorer can decide which goroutine goes on at each of these operations.
//
// In an ordinary build the names stand for those of the standard library and cost
// nothing. Under the build tag explore they have the same methods. An operation of a
// goroutine that is a thread of an exploration then stops first, until the explorer
// lets it go on (package explore). In any other goroutine it is the plain operation.
//
// Go's atomics are sequentially consistent, so every execution is some interleaving of
// these operations. Exploring the interleavings leaves nothing out, as long as
// everything else that threads share is immutable once they do. Shared state that is
// not immutable is for the race detector to find.
package atomics

// Package atomics is what package omega uses in place of sync/atomic and
// sync.Mutex, so that the schedule explorer can decide which goroutine goes on
// at each of these operations.
//
// In an ordinary build the names stand for those of the standard library and
// cost nothing. Under the build tag explore they have the same methods, and an
// operation of a goroutine that is a thread of an exploration stops first until
// the explorer lets it go on (package explore); of any other goroutine it is
// the plain operation.
//
// Go's atomics are sequentially consistent, so all that can happen is some
// interleaving of these operations: exploring those leaves nothing out, as long
// as everything else that threads share is immutable once they do. What is not
// is for the race detector to find.
package atomics

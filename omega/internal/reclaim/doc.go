// Package reclaim provides words that point to objects. The maker of an object writes
// it anew instead of leaving it to the garbage collector.
//
// A [Word] is swapped from one [Object] to the next. A [Maker] reuses an object of its
// own that has left its word by the maker's doing, unless the object is kept. [Word.Keep]
// is the way of all others from a word to an object. It keeps the object for good and then
// looks whether the word still holds it. A caller that passes an object on by another way
// does not retire it.
//
// Invariant, in two parts. An object that any goroutine but its maker's may read is kept,
// or is never retired. A kept object that was in a word after it was kept is never written
// again. An object may be in several words: it is retired once it has left all of them.
//
//  1. Keep sets kept, then loads the word. Retire is called after the object has left
//     the word, then loads kept. Go's atomics are sequentially consistent, so if Retire
//     reads that the object is not kept, Keep loads the word after the swap, and finds
//     another object there.
//  2. Keep may find the same object again, because the maker has put it into the word
//     once more. The object then was kept before that, so it is kept when it leaves the
//     word, and is not written again. What Keep returns is what the object was in the
//     word when Keep loaded it the second time.
//  3. Kept is never reset. So an object can be kept by a reader that came too late, and
//     is left to the collector once it has left the word. That mistake costs memory for
//     one object only, once.
//  4. If a swap compares the address of an object, the object was kept by the goroutine
//     that compares, or is its maker's and in the word. So no address comes back: there
//     is no ABA.
//
// Memory is bounded however long a goroutine stalls: a maker has [Spares] spare objects at most, and
// all others that have left their words belong to the collector.
package reclaim

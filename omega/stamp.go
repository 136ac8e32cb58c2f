package omega

import "github.com/cellsched/cellsched/omega/internal/atomics"

// Snapshots find what has changed by comparing each machine's word with the one
// they saw. From node unstamped on, machines are stamped besides, in blocks: a
// refresh looks at a block only if its stamp says that it may have changed. So
// a small cell pays nothing for stamps, and a large one does not pay for its
// size.
const stampBlock = 8

// stamp counts the changes of a block of machines: in the upper bits those that have
// begun, in the lower 24 those that are in progress. A change begins before the swap of
// the word that makes it and ends after.
//
// So a block has not changed since its stamp was read if no change was in progress then
// and the stamp is still the same. While a writer is stalled in between, a change is in
// progress, and the block is looked at every time. The count comes round after 2^40
// changes. A refresh could only mistake that for no change if so many came between it
// and the one before.
type stamp = atomics.Uint64

const (
	stampBegun   = 1<<24 | 1
	stampEnded   = ^uint64(0) // one less
	stampChanges = 1<<24 - 1  // in progress; 8 for each of the schedulers that there can be, and more
)

// opening is to be called before the word of a machine is swapped.
func (c *Cell) opening(node uint32) {
	if node >= unstamped {
		c.stamp(node, stampBegun)
	}
}

// closed is to be called after it, whether or not that went well.
func (c *Cell) closed(node uint32) {
	if node >= unstamped {
		c.stamp(node, stampEnded)
	}
}

// stamp changes the stamp of a machine that has one. It is apart from its callers, so that
// these are inlined.
func (c *Cell) stamp(node uint32, by uint64) { c.stamps.at((node - unstamped) / stampBlock).Add(by) }

// atRest reports whether no change was in progress in a block when the stamp was
// read.
func atRest(stamp uint64) bool { return stamp&stampChanges == 0 }

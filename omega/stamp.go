package omega

import "github.com/cellsched/cellsched/omega/internal/atomics"

// Snapshots find what has changed by comparing each machine's word with the one
// they saw. From node unstamped on, machines are stamped besides, in blocks: a
// refresh looks at a block only if its stamp says that it may have changed. So
// a small cell pays nothing for stamps, and a large one does not pay for its
// size.
const (
	unstamped  = 8192 // a multiple of stampBlock
	stampBlock = 8
)

// stamp counts the changes of a block of machines: those that were begun in
// the upper half, those that were ended in the lower. A change is begun before
// the swap of the word that makes it and ended after. So a block has not
// changed since its stamp was read if the halves were equal then and the stamp
// is still the same; while a writer is stalled anywhere in between they
// differ, and the block is looked at every time.
type stamp = atomics.Uint64

const (
	stampBegun = 1 << 32
	stampEnded = 1
)

// opening is to be called before the word of a machine is swapped.
func (c *Cell) opening(node uint32) {
	if node >= unstamped {
		c.stamps.at((node - unstamped) / stampBlock).Add(stampBegun)
	}
}

// closed is to be called after it, whether or not that went well.
func (c *Cell) closed(node uint32) {
	if node >= unstamped {
		c.stamps.at((node - unstamped) / stampBlock).Add(stampEnded)
	}
}

// atRest tells whether no change was in progress in a block when the stamp was
// read.
func atRest(stamp uint64) bool { return uint32(stamp>>32) == uint32(stamp) }

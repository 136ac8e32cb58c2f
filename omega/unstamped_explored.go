//go:build explore

package omega

// unstamped is the first node with a stamp, a multiple of stampBlock. A scenario
// lowers it before it makes a cell, so that a few machines have stamps, and sets
// it back at its end.
var unstamped uint32 = 8192

// fetching enables loads of words for the caches alone. Here each load would be one
// more step to be explored.
const fetching = false

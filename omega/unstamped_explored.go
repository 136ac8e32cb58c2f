//go:build explore

package omega

// unstamped is the first node with a stamp, a multiple of stampBlock. A scenario
// lowers it before it makes a cell, so that a few machines have stamps, and sets
// it back at its end.
var unstamped uint32 = 8192

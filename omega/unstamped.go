//go:build !explore

package omega

// unstamped is the first node with a stamp, a multiple of stampBlock.
const unstamped uint32 = 8192

//go:build !explore

package omega

// unstamped is the first node with a stamp, a multiple of stampBlock.
const unstamped uint32 = 8192

// fetching enables loads of words before they are needed, for the caches alone.
const fetching = true

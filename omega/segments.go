package omega

import (
	"iter"
	"math/bits"
	"sync/atomic"
)

// The first firstSegment elements of a segmented array are in place; each
// further segment doubles what there is, so that index 2^20-1 is in the last.
const (
	firstSegment = 16
	moreSegments = 16
	maxIndex     = firstSegment << moreSegments // exclusive
)

// segments is an array that grows without moving: a pointer to an element
// stays good for ever, which is what lets goroutines swap elements while
// others add some. Elements start as the zero T.
//
// Segments are only ever added. The swap in grow publishes a whole one, and a
// Load that returns it sees it zeroed.
type segments[T any] struct {
	first [firstSegment]T
	more  [moreSegments]atomic.Pointer[[]T]
}

// locate returns the segment after the first that holds index i, from
// firstSegment on, and i's place in it.
func locate(i uint32) (seg int, at uint32) {
	top := bits.Len32(i/firstSegment) - 1
	return top, i - firstSegment<<top
}

// at returns element i, or nil where it was never grown.
func (s *segments[T]) at(i uint32) *T {
	if i < firstSegment {
		return &s.first[i]
	}
	n, at := locate(i)
	if n >= moreSegments {
		return nil
	}
	seg := s.more[n].Load()
	if seg == nil {
		return nil
	}
	return &(*seg)[at]
}

// grow returns element i, which it creates where needed; i < maxIndex.
func (s *segments[T]) grow(i uint32) *T {
	if i < firstSegment {
		return &s.first[i]
	}
	n, at := locate(i)
	seg := s.more[n].Load()
	if seg == nil {
		fresh := make([]T, firstSegment<<n)
		s.more[n].CompareAndSwap(nil, &fresh)
		seg = s.more[n].Load() // this one, or another goroutine's, just as good
	}
	return &(*seg)[at]
}

// all walks the first n elements, segment by segment; they must exist.
func (s *segments[T]) all(n int) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		if !yield(s.first[:min(n, firstSegment)]) {
			return
		}
		rest := n - firstSegment
		for i := 0; rest > 0; i++ {
			seg := *s.more[i].Load()
			if !yield(seg[:min(rest, len(seg))]) {
				return
			}
			rest -= len(seg)
		}
	}
}

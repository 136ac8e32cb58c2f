package omega

import (
	"iter"
	"math/bits"
	"sync/atomic"
)

// The first segment of a segmented array has firstSegment elements; each
// further one doubles what there is, so that index 2^20-1 is in the last.
const (
	firstSegment = 16
	segmentCount = 17
	maxIndex     = firstSegment << (segmentCount - 1) // exclusive
)

// segments is an array that grows without moving: a pointer to an element
// stays good for ever, which is what lets goroutines swap elements while
// others add some. Elements start as the zero T.
//
// Segments are only ever added. The swap in grow publishes a whole one, and a Load that
// returns it sees it zeroed. A pointer is written once, and it does not matter by which
// goroutine. So the schedule explorer need not see these atomics.
type segments[T any] struct {
	list [segmentCount]atomic.Pointer[[]T]
}

// locate returns the segment that holds index i, and i's place in it.
func locate(i uint32) (seg int, at uint32) {
	if i < firstSegment {
		return 0, i
	}
	seg = bits.Len32(i / firstSegment)
	return seg, i - firstSegment<<(seg-1)
}

// at returns element i, or nil where it was never grown.
func (s *segments[T]) at(i uint32) *T {
	if n, at := locate(i); n < segmentCount {
		if seg := s.list[n].Load(); seg != nil {
			return &(*seg)[at]
		}
	}
	return nil
}

// from returns the elements from i to the end of its segment; i must exist.
func (s *segments[T]) from(i uint32) []T {
	n, at := locate(i)
	return (*s.list[n].Load())[at:]
}

// grow returns element i, which it creates where needed; i < maxIndex.
func (s *segments[T]) grow(i uint32) *T {
	n, at := locate(i)
	seg := s.list[n].Load()
	if seg == nil {
		fresh := make([]T, firstSegment<<max(n-1, 0))
		// Pages new to the process are written before they are read. A page that is
		// read first is mapped to the kernel's page of zeros, and the write that
		// follows takes that back from all cores by an interrupt.
		clear(fresh)
		s.list[n].CompareAndSwap(nil, &fresh)
		seg = s.list[n].Load() // this one, or another goroutine's, just as good
	}
	return &(*seg)[at]
}

// each walks the elements that there are, by index.
func (s *segments[T]) each() iter.Seq2[uint32, *T] {
	return func(yield func(uint32, *T) bool) {
		first := uint32(0)
		for i := range s.list {
			n := uint32(firstSegment << max(i-1, 0))
			if seg := s.list[i].Load(); seg != nil {
				for at := range *seg {
					if !yield(first+uint32(at), &(*seg)[at]) {
						return
					}
				}
			}
			first += n
		}
	}
}

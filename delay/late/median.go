package late

import (
	"container/heap"
	"time"
)

// median keeps the median of added durations: number n/2 in rising order, counted
// from 0, as Spark's. The zero median is empty. It keeps 8 bytes a duration.
type median struct {
	below, above durations // the longest first, and the shortest; below negated
}

// add counts one duration more. Cost: O(log n).
func (m *median) add(d time.Duration) {
	heap.Push(&m.above, d)
	heap.Push(&m.below, -heap.Pop(&m.above).(time.Duration))
	if len(m.below) > len(m.above) {
		heap.Push(&m.above, -heap.Pop(&m.below).(time.Duration))
	}
}

// value returns the median, 0 if there is none.
func (m *median) value() time.Duration {
	if len(m.above) == 0 {
		return 0
	}
	return m.above[0]
}

// durations is a heap, the shortest first.
type durations []time.Duration

func (d durations) Len() int           { return len(d) }
func (d durations) Less(i, k int) bool { return d[i] < d[k] }
func (d durations) Swap(i, k int)      { d[i], d[k] = d[k], d[i] }
func (d *durations) Push(x any)        { *d = append(*d, x.(time.Duration)) }

func (d *durations) Pop() any {
	last := len(*d) - 1
	x := (*d)[last]
	*d = (*d)[:last]
	return x
}

package slots

// item is a location, or a task t as ^t, at a distance.
type item struct {
	dist int64
	id   int32
}

// queue holds items by distance. Those at the current distance wait in line,
// first come, first served; the others are in a heap.
type queue struct {
	dist int64
	line []int32
	head int
	heap []item
}

func (q *queue) reset() {
	q.dist, q.head = 0, 0
	q.line, q.heap = q.line[:0], q.heap[:0]
}

// add puts id at distance d, which is not below the current one.
func (q *queue) add(id int32, d int64) {
	if d == q.dist {
		q.line = append(q.line, id)
		return
	}
	q.heap = append(q.heap, item{})
	i := len(q.heap) - 1
	for i > 0 {
		up := (i - 1) / 4
		if q.heap[up].dist <= d {
			break
		}
		q.heap[i] = q.heap[up]
		i = up
	}
	q.heap[i] = item{d, id}
}

func (q *queue) next() (int32, bool) {
	if q.head == len(q.line) {
		if len(q.heap) == 0 {
			return 0, false
		}
		q.line, q.head = q.line[:0], 0
		q.dist = q.heap[0].dist
		for len(q.heap) > 0 && q.heap[0].dist == q.dist {
			q.line = append(q.line, q.pop())
		}
	}
	q.head++
	return q.line[q.head-1], true
}

func (q *queue) pop() int32 {
	top := q.heap[0].id
	last := len(q.heap) - 1
	it := q.heap[last]
	q.heap = q.heap[:last]
	i := 0
	for {
		kid := 4*i + 1
		if kid >= last {
			break
		}
		best := kid
		for k := kid + 1; k < min(kid+4, last); k++ {
			if q.heap[k].dist < q.heap[best].dist {
				best = k
			}
		}
		if q.heap[best].dist >= it.dist {
			break
		}
		q.heap[i] = q.heap[best]
		i = best
	}
	if last > 0 {
		q.heap[i] = it
	}
	return top
}

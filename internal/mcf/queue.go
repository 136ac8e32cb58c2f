package mcf

// fifo is a queue of nodes in which each is at most once.
type fifo struct {
	ring    []int32
	in      []bool
	head, n int
}

func (q *fifo) grow(nodes int) {
	q.ring, q.in = make([]int32, nodes), make([]bool, nodes)
}

func (q *fifo) add(v int32) {
	if q.in[v] {
		return
	}
	q.in[v] = true
	i := q.head + q.n
	if i >= len(q.ring) {
		i -= len(q.ring)
	}
	q.ring[i] = v
	q.n++
}

func (q *fifo) next() (int32, bool) {
	if q.n == 0 {
		return 0, false
	}
	v := q.ring[q.head]
	q.in[v] = false
	if q.head++; q.head == len(q.ring) {
		q.head = 0
	}
	q.n--
	return v, true
}

func (q *fifo) clear() {
	for q.n > 0 {
		q.next()
	}
}

// buckets is a queue of nodes by distance: lists for the near distances, and
// one list for all beyond, which is sorted in when the near ones are empty.
type buckets struct {
	near  [][]entry
	far   []entry
	dist  []int64
	state []uint8 // 0 unseen, 1 seen, 2 done
	base  int64
	at    int
}

type entry struct {
	dist int64
	node int32
}

const nearest = 1 << 10

func (b *buckets) reset(nodes int) {
	if b.near == nil {
		b.near = make([][]entry, nearest)
		b.dist, b.state = make([]int64, nodes), make([]uint8, nodes)
	}
	for i := range b.near {
		b.near[i] = b.near[i][:0]
	}
	b.far = b.far[:0]
	clear(b.state)
	b.base, b.at = 0, 0
}

func (b *buckets) done(v int32) bool { return b.state[v] == 2 }

// add brings v to distance d unless it is nearer already.
func (b *buckets) add(v int32, d int64) {
	if b.state[v] != 0 && b.dist[v] <= d {
		return
	}
	b.dist[v], b.state[v] = d, 1
	b.put(entry{d, v})
}

func (b *buckets) put(e entry) {
	if i := e.dist - b.base; i < nearest {
		b.near[i] = append(b.near[i], e)
	} else {
		b.far = append(b.far, e)
	}
}

// next returns the nearest node, for good.
func (b *buckets) next() (int32, int64, bool) {
	for {
		for b.at < nearest {
			l := b.near[b.at]
			if len(l) == 0 {
				b.at++
				continue
			}
			e := l[len(l)-1]
			b.near[b.at] = l[:len(l)-1]
			if b.state[e.node] == 1 && b.dist[e.node] == e.dist {
				b.state[e.node] = 2
				return e.node, e.dist, true
			}
		}
		if !b.turn() {
			return 0, 0, false
		}
	}
}

// turn moves on to the distances from the nearest far node on.
func (b *buckets) turn() bool {
	if len(b.far) == 0 {
		return false
	}
	least := b.far[0].dist
	for _, e := range b.far {
		least = min(least, e.dist)
	}
	all := b.far
	b.far = nil
	b.base, b.at = least, 0
	for _, e := range all {
		if b.state[e.node] == 1 && b.dist[e.node] == e.dist {
			b.put(e)
		}
	}
	return true
}

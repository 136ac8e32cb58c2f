package slots

import "math"

// side is one of two searches that are to meet: what it has got to so far, and
// what is next.
type side struct {
	labels []pathLabel // by location
	queue  []pathItem  // a heap, nearest first, lower numbers first among equals
	round  int32       // points of others are old
	arcs   int64       // how many it has looked at
}

// pathLabel is a location as seen by a side: its distance, and the arc that led there.
type pathLabel struct {
	far   distance
	hop   hop
	round int32
}

type pathItem struct {
	far distance
	at  Loc
}

func (a pathItem) less(b pathItem) bool {
	if a.far != b.far {
		return a.far.less(b.far)
	}
	return a.at < b.at
}

// begin forgets what the side has got to.
func (s *side) begin(locs int) {
	s.labels = grown(s.labels, locs)
	if s.round == math.MaxInt32 {
		s.round = 0
		clear(s.labels)
	}
	s.round++
	s.queue = s.queue[:0]
}

// reach notes that it gets to v by h, if that is the nearest so far.
func (s *side) reach(v Loc, far distance, h hop) bool {
	p := &s.labels[v]
	if p.round == s.round && !far.less(p.far) {
		return false
	}
	*p = pathLabel{far: far, hop: h, round: s.round}
	s.push(pathItem{far, v})
	return true
}

// next returns the nearest location that is not settled; false if there is none.
func (s *side) next() (Loc, distance, bool) {
	for len(s.queue) > 0 {
		if it := s.queue[0]; it.far == s.labels[it.at].far {
			return it.at, it.far, true
		}
		s.settle() // it was got to by a shorter path since
	}
	return none, distance{}, false
}

// settle takes the nearest from the queue.
func (s *side) settle() {
	q := s.queue
	last := len(q) - 1
	it := q[last]
	q = q[:last]
	s.queue = q
	i := 0
	for {
		k := 2*i + 1
		if k >= last {
			break
		}
		if k+1 < last && q[k+1].less(q[k]) {
			k++
		}
		if !q[k].less(it) {
			break
		}
		q[i] = q[k]
		i = k
	}
	if last > 0 {
		q[i] = it
	}
}

func (s *side) push(it pathItem) {
	s.queue = append(s.queue, it)
	q := s.queue
	i := len(q) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !it.less(q[up]) {
			break
		}
		q[i] = q[up]
		i = up
	}
	q[i] = it
}

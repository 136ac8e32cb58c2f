package slots

import "math"

// side is one of two searches that are to meet: what it has got to so far, and
// what is next.
type side struct {
	points []waypoint // by location
	queue  []wayItem  // a heap, nearest first, lower numbers first among equals
	round  int32      // points of others are old
	arcs   int64      // how many it has looked at
}

// waypoint is a location as seen by a side: its distance, and the arc that led there.
type waypoint struct {
	far   distance
	hop   hop
	round int32
}

type wayItem struct {
	far distance
	at  Loc
}

func (a wayItem) less(b wayItem) bool {
	if a.far != b.far {
		return a.far.less(b.far)
	}
	return a.at < b.at
}

// begin forgets what the side has got to.
func (s *side) begin(locs int) {
	s.points = grown(s.points, locs)
	if s.round == math.MaxInt32 {
		s.round = 0
		clear(s.points)
	}
	s.round++
	s.queue = s.queue[:0]
}

// reach notes that it gets to v by h, if that is the nearest so far.
func (s *side) reach(v Loc, far distance, h hop) bool {
	p := &s.points[v]
	if p.round == s.round && !far.less(p.far) {
		return false
	}
	*p = waypoint{far: far, hop: h, round: s.round}
	s.push(wayItem{far, v})
	return true
}

// next returns the nearest location that is not settled; false if there is none.
func (s *side) next() (Loc, distance, bool) {
	for len(s.queue) > 0 {
		if it := s.queue[0]; it.far == s.points[it.at].far {
			return it.at, it.far, true
		}
		s.settle() // it was got to by a shorter way since
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

func (s *side) push(it wayItem) {
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

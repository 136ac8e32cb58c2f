package mcf

import "fmt"

// update lowers the prices of all nodes at once by how far they are from the
// nearest deficit, in steps of eps. Relabelling alone finds this out one node
// at a time.
//
// An excess from which no residual arcs lead to a deficit proves that no flow
// meets all demands.
func (s *state) update() error {
	s.relabels = 0
	b := &s.buckets
	b.reset(len(s.price))
	excesses := 0
	for v, e := range s.excess {
		if e < 0 {
			b.add(int32(v), 0)
		} else if e > 0 {
			excesses++
		}
	}
	far := int64(0)
	for excesses > 0 {
		v, d, ok := b.next()
		if !ok {
			break
		}
		far = d
		if s.excess[v] > 0 {
			excesses--
		}
		for i := s.first[v]; i < s.first[v+1]; i++ {
			a := &s.arcs[i]
			back := &s.arcs[a.rev]
			if back.cap <= 0 || b.done(a.to) {
				continue
			}
			// At least -eps, so the length is at least 0.
			reduced := back.cost + s.price[a.to] - s.price[v]
			b.add(a.to, d+(reduced+s.eps)/s.eps)
		}
	}
	if excesses > 0 {
		return fmt.Errorf("%d nodes cannot send all they have to a node in need: %w", excesses, ErrInfeasible)
	}
	for v := range s.price {
		d := far
		if b.done(int32(v)) {
			d = b.dist[v]
		}
		s.price[v] -= d * s.eps
	}
	copy(s.cur, s.first)
	return nil
}

// provesOptimal looks for prices at which no residual arc has a negative
// reduced cost. It gives up, and leaves the prices as they were, after a few
// looks at each arc.
func (s *state) provesOptimal() bool {
	before := append([]int64(nil), s.price...)
	budget := 4 * len(s.arcs)
	for v := range s.price {
		s.queue.add(int32(v))
	}
	for {
		v, ok := s.queue.next()
		if !ok {
			return true
		}
		for i := s.first[v]; i < s.first[v+1]; i++ {
			a := &s.arcs[i]
			if a.cap > 0 && s.price[v]+a.cost < s.price[a.to] {
				s.price[a.to] = s.price[v] + a.cost
				s.queue.add(a.to)
			}
		}
		if budget -= int(s.first[v+1] - s.first[v]); budget < 0 {
			s.queue.clear()
			copy(s.price, before)
			return false
		}
	}
}

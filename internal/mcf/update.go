package mcf

import (
	"context"
	"math"

	"github.com/cellsched/cellsched/internal/fault"
)

// update lowers the prices of all nodes at once by how far they are from the
// nearest deficit, in steps of eps. Relabelling alone finds this out one node
// at a time.
//
// An excess from which no residual arcs lead to a deficit proves that no flow
// meets all demands.
func (s *state) update(ctx context.Context) error {
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
	for turn := 0; excesses > 0; turn++ {
		v, d, ok := b.next()
		if !ok {
			break
		}
		if turn%(1<<10) == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if d > farthest/s.eps {
			return errFar(v)
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
		stuck := int32(0)
		for s.excess[stuck] <= 0 || b.done(stuck) {
			stuck++
		}
		return fault.Newf("quincy", ErrInfeasible, "node %d and %d others cannot send all they have to a node in need", stuck+1, excesses-1)
	}
	for v := range s.price {
		d := far
		if b.done(int32(v)) {
			d = b.dist[v]
		}
		s.price[v] -= d * s.eps
		if s.price[v] < -farthest {
			return errFar(int32(v))
		}
	}
	copy(s.cur, s.first)
	return nil
}

// prove looks for prices at which no residual arc has a negative reduced cost,
// and reports whether there are any. It gives up, and leaves the prices as they
// were, after so many looks at each arc.
func (s *state) prove(ctx context.Context, looks int64) (bool, error) {
	before := append([]int64(nil), s.price...)
	left := int64(math.MaxInt64)
	if all := int64(len(s.arcs) + 1); looks < left/all {
		left = looks * all
	}
	for v := range s.price {
		s.queue.add(int32(v))
	}
	for turn := 0; ; turn++ {
		v, ok := s.queue.next()
		if !ok {
			return true, nil
		}
		if turn%(1<<10) == 0 && ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		for i := s.first[v]; i < s.first[v+1]; i++ {
			a := &s.arcs[i]
			if a.cap > 0 && s.price[v]+a.cost < s.price[a.to] {
				s.price[a.to] = s.price[v] + a.cost
				s.queue.add(a.to)
			}
		}
		left -= int64(s.first[v+1] - s.first[v])
		if left < 0 || s.price[v] < -farthest {
			s.queue.clear()
			copy(s.price, before)
			if looks == math.MaxInt64 {
				return false, errFar(v)
			}
			return false, nil
		}
	}
}

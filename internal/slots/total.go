package slots

import "math"

// total is a sum of costs, kept up as they come and go. It is exact for all tasks that
// there can be, in any history of additions and subtractions. Halves of costs are within
// 2^32, and there are fewer than 2^31 of them.
type total struct{ high, low int64 } // high × 2^32 + low

func (s *total) add(cost int64) {
	s.high += cost >> 32
	s.low += cost & math.MaxUint32
}

// sub takes away what was added before.
func (s *total) sub(cost int64) {
	s.high -= cost >> 32
	s.low -= cost & math.MaxUint32
}

// Cost returns what all places cost together, or the nearest to that that an
// int64 holds. Cost: O(1).
func (n *Net) Cost() int64 { return n.total.int64() }

// carried returns s as low halves of 32 bits have it: sums that are equal look the
// same then.
func (s total) carried() total {
	return total{s.high + s.low>>32, s.low & math.MaxUint32}
}

func (s total) int64() int64 {
	high, low := s.carried().high, s.carried().low
	switch {
	case high > math.MaxInt32:
		return math.MaxInt64
	case high < math.MinInt32:
		return math.MinInt64
	}
	return high<<32 + low
}

// charge notes what t costs where it sits from now on.
func (n *Net) charge(t int32, cost int64) {
	p := &n.cur[t]
	n.total.sub(p.cost)
	n.total.add(cost)
	p.cost = cost
}

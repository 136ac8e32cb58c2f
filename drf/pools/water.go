package pools

import "slices"

// claim is the claim of one of several siblings to one kind of resource.
type claim struct {
	weight mass
	low    int64 // its min share, which it gets at any level
	high   int64 // the most that it wants, at least low
}

// water divides one kind of resource among siblings. It keeps its memory from one
// division to the next.
//
// At the level r, each claim gets r times its weight, but no less than its low and
// no more than its high: the rule of the Hadoop Fair Scheduler. That scheduler
// finds the level by halving an interval some 25 times, in floating point. Here the
// levels at which a claim begins and ceases to grow are sorted, and passed one by
// one as long as the total allows. Between two of them the level is a fraction of
// integers. So the level is exact for any weights and amounts, in O(n log n) for n
// claims.
type water struct {
	bounds  []bound
	partial []int
}

// bound is a level, at/weight, at which a claim begins or ceases to grow.
type bound struct {
	weight mass
	at     int64
	begins bool
}

func compareBounds(a, b bound) int {
	x, y := b.weight.times(a.at), a.weight.times(b.at)
	switch {
	case y.exceeds(x):
		return -1
	case x.exceeds(y):
		return 1
	}
	return 0
}

// divide computes the shares, by the place of the claim, of a total that is at
// least the sum of all low.
//
// Each share is the exact one, rounded down. The units that remain go one by one to
// the first of the rounded claims. So the total is used up, unless all claims get
// all they want.
func (w *water) divide(total int64, claims []claim, shares []int64) {
	rest, wanted := total, mass{} // rest is for the claims that grow
	for i := range claims {
		rest -= claims[i].low
		wanted = wanted.plus(quantity(claims[i].high))
	}
	if wanted.hi == 0 && wanted.lo <= uint64(total) {
		for i := range claims {
			shares[i] = claims[i].high
		}
		return
	}
	var growing mass // the weights of the claims that grow
	for _, b := range w.levels(claims) {
		if growing.times(b.at).exceeds(b.weight.times(rest)) {
			break // some claims still want more: growing is not 0 from here on
		}
		if b.begins {
			growing, rest = growing.plus(b.weight), rest+b.at
		} else {
			growing, rest = growing.minus(b.weight), rest-b.at
		}
	}
	left := total
	w.partial = w.partial[:0]
	for i := range claims {
		c, share := &claims[i], int64(0)
		switch p := c.weight.times(rest); {
		case !p.exceeds(growing.times(c.low)):
			share = c.low
		case !growing.times(c.high).exceeds(p):
			share = c.high
		default:
			var exact bool
			if share, exact = p.over(growing); !exact {
				w.partial = append(w.partial, i)
			}
		}
		shares[i] = share
		left -= share
	}
	for _, i := range w.partial[:left] {
		shares[i]++
	}
}

// levels returns the bounds of all claims that can grow, in ascending order.
func (w *water) levels(claims []claim) []bound {
	w.bounds = w.bounds[:0]
	for i := range claims {
		if c := &claims[i]; c.low < c.high {
			w.bounds = append(w.bounds, bound{c.weight, c.low, true}, bound{c.weight, c.high, false})
		}
	}
	slices.SortFunc(w.bounds, compareBounds)
	return w.bounds
}

// promise makes the lows of the claims fit in the total. If they do not, each gets
// the same part of its own. It overwrites the shares.
func (w *water) promise(total int64, claims []claim, shares []int64) {
	sum := int64(0) // the tree keeps the sum of siblings' min shares to 2^62
	for i := range claims {
		sum += claims[i].low
	}
	if sum <= total {
		return
	}
	scaled := make([]claim, len(claims))
	for i := range claims {
		scaled[i] = claim{weight: quantity(claims[i].low), high: claims[i].low}
	}
	w.divide(total, scaled, shares)
	for i := range claims {
		claims[i].low = shares[i]
	}
}

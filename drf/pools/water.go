package pools

import "slices"

// claim is what one of several siblings claims of one kind of resource.
type claim struct {
	weight mass
	low    int64 // its min share: what it gets at any level
	high   int64 // all that it wants, at least low
}

// water divides one kind of resource among siblings. It keeps its memory from
// one division to the next.
//
// At the level r, each claim gets r times its weight, but no less than its low
// and no more than its high: the rule of the Hadoop Fair Scheduler. That looks
// for the level at which the total is given away by halving an interval some
// 25 times, in floating point. Here the levels at which a claim begins and
// ceases to grow are sorted, and passed one by one as long as there is enough;
// between two of them the level is a fraction of integers. So it is found
// exactly, and whatever the range of weights and amounts, in O(n log n) for n
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
// The share of each is its exact one, rounded down, and what that leaves of the
// total goes, unit by unit, to the first of those who were rounded. So all is
// given away, unless all get all they want.
func (w *water) divide(total int64, claims []claim, shares []int64) {
	rest, wanted := total, mass{} // rest is for those who grow: less what others have
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
	var growing mass // the weights of those who grow
	for _, b := range w.levels(claims) {
		if growing.times(b.at).exceeds(b.weight.times(rest)) {
			break // before all want what they get: growing is not 0 from here on
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

// promise makes the lows of the claims fit in the total: where they do not,
// each gets the same part of its own. It uses the shares.
func (w *water) promise(total int64, claims []claim, shares []int64) {
	sum := int64(0) // the tree keeps that of the min shares of siblings to 2^62
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

package allot

import (
	"math"

	"github.com/cellsched/cellsched/drf/internal/fraction"
	"github.com/cellsched/cellsched/resources"
)

// Envy is a pair of users of which the first could run more tasks with the holdings
// of the second.
type Envy struct {
	User, Of int   // by index; User envies Of
	Own      int64 // tasks of User's demand that its own holdings could run
	Other    int64 // tasks that Of's holdings could run, scaled by the weights
}

// Envies returns the envious pairs, sorted by User, then Of.
//
// User u counts the whole tasks of its demand, exactly and up to 2^63-1. It
// multiplies the holdings of user v in each kind by weight(u)/weight(v). If these
// could run more tasks than u's own holdings, u envies v. A user that demands
// nothing has no envy. Ghodsi et al., NSDI 2011, section 3. Where tasks cannot be
// divided, progressive filling leaves some envy, but none that would not end if v
// held one task less.
//
// Cost: O(n^2) for n users. Errors: as [Audit] for its users.
func Envies(users []Holding) ([]Envy, error) {
	if err := checkHoldings("envies", users); err != nil {
		return nil, err
	}
	var envies []Envy
	for i := range users {
		u := &users[i]
		if u.Demand == (resources.Vector{}) {
			continue
		}
		own := u.tasks(u)
		for j := range users {
			if other := u.tasks(&users[j]); other > own {
				envies = append(envies, Envy{i, j, own, other})
			}
		}
	}
	return envies, nil
}

// tasks returns the number of u's tasks that other's holdings could run, scaled by
// the weights.
func (u *Holding) tasks(other *Holding) int64 {
	most := int64(math.MaxInt64)
	for k, d := range u.Demand {
		if d > 0 {
			most = min(most, quotient(other.Usage[k], u.weight(k), d, other.weight(k)))
		}
	}
	return most
}

// quotient returns the whole part of n*nw/(d*dw), at most 2^63-1.
func quotient(n int64, nw float64, d int64, dw float64) int64 {
	if nw == dw {
		return n / d
	}
	nm, ne := fraction.Mantissa(nw)
	dm, de := fraction.Mantissa(dw)
	low := min(ne, de)
	have := fraction.Product(uint64(n), 1, nm, ne-low)
	// Five roundings, each by at most 2^-53, put near off by less than slack.
	// The right one is lo, or more, but less than hi.
	const slack = 8.0 / (1 << 53)
	near := float64(n) / float64(d) * (nw / dw)
	lo, hi := int64(0), uint64(math.MaxInt64)+1
	if near < math.MaxInt64/2 {
		lo, hi = int64(near*(1-slack)), uint64(near*(1+slack))+1
	}
	for uint64(lo)+1 < hi {
		mid := uint64(lo) + (hi-uint64(lo))/2
		if lessOrEqual(fraction.Product(mid, uint64(d), dm, de-low), have) {
			lo = int64(mid)
		} else {
			hi = mid
		}
	}
	return lo
}

// lessOrEqual compares two products.
func lessOrEqual(a, b [4]uint64) bool {
	for i := 3; i > 0; i-- {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return a[0] <= b[0]
}

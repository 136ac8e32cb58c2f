package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Distribution is a distribution of amounts, all 0 or more.
type Distribution interface {
	Draw(r *rand.Rand) float64
	check() error
}

// Exponential is the exponential distribution of that mean.
type Exponential float64

// Draw returns one amount.
func (e Exponential) Draw(r *rand.Rand) float64 { return r.ExpFloat64() * float64(e) }

func (e Exponential) check() error {
	if !(e > 0) || math.IsInf(float64(e), 1) {
		return fmt.Errorf("exponential distribution of mean %v: want more than 0", float64(e))
	}
	return nil
}

// Empirical is a distribution by its quantiles: a share of all amounts that is
// at most Share is at most Value. In between it is linear. The first point's
// share is that of amounts which equal its value.
type Empirical []Quantile

// Quantile is one point of an Empirical.
type Quantile struct{ Value, Share float64 }

// Draw returns one amount.
func (e Empirical) Draw(r *rand.Rand) float64 {
	u := r.Float64()
	for i, q := range e {
		if u > q.Share {
			continue
		}
		if i == 0 || q.Share == e[i-1].Share {
			return q.Value
		}
		p := e[i-1]
		return p.Value + (q.Value-p.Value)*(u-p.Share)/(q.Share-p.Share)
	}
	return e[len(e)-1].Value
}

func (e Empirical) check() error {
	last := Quantile{}
	for i, q := range e {
		if !(q.Value >= last.Value) || !(q.Share >= last.Share) || math.IsInf(q.Value, 1) {
			return fmt.Errorf("empirical distribution: point %d of value %v and share %v: want no less than %v and %v",
				i, q.Value, q.Share, last.Value, last.Share)
		}
		last = q
	}
	if last.Share != 1 {
		return fmt.Errorf("empirical distribution of %d points ends with share %v: want 1", len(e), last.Share)
	}
	return nil
}

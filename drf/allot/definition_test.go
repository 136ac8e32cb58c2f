package allot_test

import (
	"math/big"

	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/drf/allot"
	"github.com/cellsched/cellsched/resources"
)

func rat(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

// weightFor is the weight of a valid holding for a kind.
func weightFor(u allot.Holding, kind int) *big.Rat {
	if u.Weights != nil {
		return new(big.Rat).SetFloat64(u.Weights[kind])
	}
	return new(big.Rat).SetFloat64(u.Weight)
}

// shareOfUsage is the definition of a dominant share: a rational, and its kind.
func shareOfUsage(total resources.Vector, u allot.Holding, usage resources.Vector) (*big.Rat, resources.Kind) {
	best, kind := new(big.Rat), 0
	for k, q := range usage {
		if total[k] == 0 {
			continue
		}
		s := new(big.Rat).Quo(rat(q), rat(total[k]))
		if s.Quo(s, weightFor(u, k)); s.Cmp(best) > 0 {
			best, kind = s, k
		}
	}
	return best, resources.Kind(kind)
}

// amounts are small, so that ties are common, or close to the limit.
func amounts() *rapid.Generator[int64] {
	return rapid.OneOf(
		rapid.Int64Range(0, 4),
		rapid.Int64Range(0, 4),
		rapid.Int64Range(0, 1<<20),
		rapid.Int64Range(resources.MaxQuantity/8-3, resources.MaxQuantity/8),
	)
}

// plenty is room for any task.
var plenty = resources.Uniform(resources.MaxQuantity)

func vectors() *rapid.Generator[resources.Vector] {
	return rapid.Custom(func(t *rapid.T) (v resources.Vector) {
		for _, k := range []int{0, 2, 7} { // neither all kinds nor adjacent ones
			v[k] = amounts().Draw(t, "amount")
		}
		return v
	})
}

func weights() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.Just(1.0),
		rapid.SampledFrom([]float64{1, 2, 3, 4, 0.1, 1.0 / 3, drf.MinWeight, drf.MaxWeight}),
		rapid.Float64Range(drf.MinWeight, drf.MaxWeight),
	)
}

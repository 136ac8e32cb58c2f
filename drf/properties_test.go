package drf_test

import (
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// instance says what a random filling may have in it.
type instance struct {
	kinds, users    int
	zeros           bool // demands that leave out some kinds
	weights, finite bool
	whole           bool // few tasks fit, so that it can be filled one by one
}

func drawTakers(t *rapid.T, in instance) (total resources.Vector, takers []drf.Taker) {
	kinds := rapid.IntRange(1, in.kinds).Draw(t, "kinds")
	scale := make([]int64, kinds)
	for k := range scale {
		scale[k] = rapid.SampledFrom([]int64{1, 7, 1 << 20, 1 << 40, resources.MaxQuantity >> 7}).Draw(t, "scale")
		total[k] = scale[k]*rapid.Int64Range(1, 100).Draw(t, "total") + rapid.Int64Range(0, min(scale[k]-1, 5)).Draw(t, "odd")
	}
	takers = make([]drf.Taker, rapid.IntRange(1, in.users).Draw(t, "users"))
	for i := range takers {
		x := &takers[i]
		for k := range kinds {
			least := int64(1)
			if in.zeros {
				least = 0
			}
			x.Demand[k] = rapid.Int64Range(least, 20).Draw(t, "demand")
			if in.whole || rapid.Bool().Draw(t, "coarse") {
				x.Demand[k] *= scale[k]
			}
		}
		if x.Demand == (resources.Vector{}) {
			x.Demand[0] = scale[0]
		}
		if in.weights {
			switch rapid.IntRange(0, 2).Draw(t, "weighted") {
			case 1:
				x.Weight = rapid.SampledFrom([]float64{0.5, 2, 3, 0.1, drf.MinWeight, drf.MaxWeight}).Draw(t, "weight")
			case 2:
				x.Weights = new([resources.MaxKinds]float64)
				for k := range x.Weights {
					x.Weights[k] = rapid.Float64Range(0.01, 100).Draw(t, "weight by kind")
				}
			}
		}
		if in.finite && rapid.Bool().Draw(t, "finite") {
			x.Tasks = rapid.Int64Range(1, 30).Draw(t, "tasks")
		}
	}
	return total, takers
}

package allot_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/drf/allot"
	"github.com/cellsched/cellsched/resources"
)

// instance is the set of features that a random filling may have.
type instance struct {
	kinds, users    int
	zeros           bool // demands that leave out some kinds
	weights, finite bool
	scalar          bool // a weight for all kinds, in some takers
	roomy           bool // totals of which there may be 100 times as much
	whole           bool // few tasks fit, so that it can be filled one by one
}

func drawTakers(t *rapid.T, in instance) (total resources.Vector, takers []allot.Taker) {
	kinds := rapid.IntRange(1, in.kinds).Draw(t, "kinds")
	scales := []int64{1, 7, 1 << 20, 1 << 40, resources.MaxQuantity >> 7}
	if in.roomy {
		scales = scales[:4]
	}
	scale := make([]int64, kinds)
	for k := range scale {
		scale[k] = rapid.SampledFrom(scales).Draw(t, "scale")
		total[k] = scale[k]*rapid.Int64Range(1, 100).Draw(t, "total") + rapid.Int64Range(0, min(scale[k]-1, 5)).Draw(t, "odd")
	}
	takers = make([]allot.Taker, rapid.IntRange(1, in.users).Draw(t, "users"))
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
		if in.weights || in.scalar {
			most := 2
			if !in.weights {
				most = 1
			}
			switch rapid.IntRange(0, most).Draw(t, "weighted") {
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

// The properties of section 3 of NSDI 2011, of tasks that can be divided. Numbers
// are compared within 1e-9.
const slack = 1e-9

func divide(t require.TestingT, total resources.Vector, takers []allot.Taker) []float64 {
	tasks, err := allot.Divide(total, takers)
	require.NoError(t, err)
	return tasks
}

// runs returns the number of tasks that a taker can run with so many of another's, or
// of its own as it was told. It is the least that any kind suffices for.
func runs(t, of allot.Taker, tasks float64) float64 {
	most := math.Inf(1)
	if t.Tasks > 0 {
		most = float64(t.Tasks)
	}
	for k, q := range t.Demand {
		if q > 0 {
			most = min(most, tasks*float64(of.Demand[k])/float64(q))
		}
	}
	return most
}

// Each taker runs at least as many tasks as with its part of each kind.
func TestDivide_SharingIncentive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total, takers := drawTakers(t, instance{kinds: 4, users: 8, zeros: true, finite: true, scalar: true})
		weights := 0.0
		for _, x := range takers {
			weights += weightOf(x, 0)
		}
		for i, n := range divide(t, total, takers) {
			part := runs(takers[i], allot.Taker{Demand: total}, weightOf(takers[i], 0)/weights)
			require.GreaterOrEqual(t, n, part*(1-slack), "taker %d", i)
		}
	})
}

// No taker could run more with another's holdings, each counted by its weight.
func TestDivide_EnvyFreeness(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total, takers := drawTakers(t, instance{kinds: 4, users: 8, zeros: true, finite: true, scalar: true})
		tasks := divide(t, total, takers)
		for i, x := range takers {
			for j, other := range takers {
				envied := runs(x, other, tasks[j]*weightOf(x, 0)/weightOf(other, 0))
				require.GreaterOrEqual(t, tasks[i], envied*(1-slack), "taker %d beside %d", i, j)
			}
		}
	})
}

// No taker could have more unless another had less: a taker without all of its
// tasks demands a kind that is used up. The takers together get no more than the
// total.
func TestDivide_ParetoEfficiency(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total, takers := drawTakers(t, instance{kinds: 4, users: 8, zeros: true, finite: true, weights: true})
		tasks := divide(t, total, takers)
		var used [resources.MaxKinds]float64 // as a part of the total
		for k, q := range total {
			for i, x := range takers {
				if x.Demand[k] > 0 && q > 0 {
					used[k] += tasks[i] * float64(x.Demand[k]) / float64(q)
				}
			}
			require.LessOrEqual(t, used[k], 1+slack)
		}
		for i, x := range takers {
			ended := x.Tasks > 0 && tasks[i] >= float64(x.Tasks)
			for k, q := range x.Demand {
				ended = ended || q > 0 && used[k] > 1-slack
			}
			require.True(t, ended, "taker %d could have more", i)
		}
	})
}

// No taker runs more by misreporting its demand or its number of tasks.
func TestDivide_StrategyProofness(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total, takers := drawTakers(t, instance{kinds: 3, users: 6, zeros: true, finite: true, weights: true})
		liar := rapid.IntRange(0, len(takers)-1).Draw(t, "liar")
		honest := divide(t, total, takers)[liar]

		truth := takers[liar]
		takers[liar] = lie(t, total, truth)
		gets := runs(truth, takers[liar], divide(t, total, takers)[liar])
		require.LessOrEqual(t, gets, honest*(1+slack), "by telling %v, %d tasks", takers[liar].Demand, takers[liar].Tasks)
	})
}

// lie draws a false report of a taker. Its tasks are not so small that a filling
// with them would not end.
func lie(t *rapid.T, total resources.Vector, truth allot.Taker) allot.Taker {
	for k, q := range truth.Demand {
		if total[k] > 0 && rapid.Bool().Draw(t, "about this kind") {
			unit := max(1, q/8)
			if q == 0 {
				unit = total[k]/64 + 1
			}
			truth.Demand[k] = min(unit*rapid.Int64Range(0, 32).Draw(t, "lie"), resources.MaxQuantity)
		}
	}
	if truth.Demand == (resources.Vector{}) {
		truth.Demand[0] = total[0]/64 + 1
	}
	if rapid.Bool().Draw(t, "about tasks") {
		truth.Tasks = rapid.Int64Range(0, 60).Draw(t, "tasks told")
	}
	return truth
}

// If each taker demands some of each kind, no taker has less after another leaves.
func TestDivide_PopulationMonotonicity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total, takers := drawTakers(t, instance{kinds: 4, users: 8, finite: true, weights: true})
		before := divide(t, total, takers)
		leaves := rapid.IntRange(0, len(takers)-1).Draw(t, "leaves")
		after := divide(t, total, slices.Delete(slices.Clone(takers), leaves, leaves+1))
		for i, n := range slices.Delete(before, leaves, leaves+1) {
			require.GreaterOrEqual(t, after[i], n*(1-slack), "remaining taker %d", i)
		}
	})
}

// Where demands leave out kinds that is not so: while two share the first kind with
// B, little of the second goes to B, and C has the rest.
func TestDivide_PopulationMonotonicityNeedsDemandsOfEachKind(t *testing.T) {
	total := resources.Vector{12, 12}
	b, c := allot.Taker{Demand: resources.Vector{1, 1}}, allot.Taker{Demand: resources.Vector{0, 1}}
	a := allot.Taker{Demand: resources.Vector{1, 0}}
	require.InDeltaSlice(t, []float64{4, 8, 4, 4}, divide(t, total, []allot.Taker{b, c, a, a}), slack)
	require.InDeltaSlice(t, []float64{6, 6, 6}, divide(t, total, []allot.Taker{b, c, a}), slack)
}

// Dominant resource fairness is not monotonic in resources. With more memory CPUs
// become B's dominant kind, as they are A's, and A has fewer than before.
func TestDivide_HasNoResourceMonotonicity(t *testing.T) {
	takers := []allot.Taker{{Demand: resources.Vector{2, 1}}, {Demand: resources.Vector{1, 2}}}
	require.InDeltaSlice(t, []float64{4, 4}, divide(t, resources.Vector{12, 12}, takers), slack)
	require.InDeltaSlice(t, []float64{3, 6}, divide(t, resources.Vector{12, 24}, takers), slack)
}

// Resource monotonicity holds with one kind of resource. It holds with more of each
// kind by the same factor too, unless some demands leave out kinds and some tasks
// have an end. Then a taker that has all of its tasks sooner makes way like one
// that leaves.
func TestDivide_ResourceMonotonicityWhereItHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.SampledFrom([]int{1, 4}).Draw(t, "kinds at most")
		zeros := kinds > 1 && rapid.Bool().Draw(t, "zeros")
		total, takers := drawTakers(t, instance{kinds: kinds, users: 8, zeros: zeros, finite: !zeros, weights: true, roomy: true})
		before := divide(t, total, takers)
		if kinds == 1 {
			total[0] += rapid.Int64Range(0, 1<<40).Draw(t, "more")
		} else {
			total = total.Scale(rapid.Int64Range(1, 50).Draw(t, "times"))
		}
		for i, n := range divide(t, total, takers) {
			require.GreaterOrEqual(t, n, before[i]*(1-slack), "taker %d", i)
		}
	})
}

// The allocation is max-min fair if there is one kind of resource, or one that is
// the dominant kind of all. A taker with less for its weight than another has all
// it wants.
func TestDivide_SingleResourceAndBottleneckFairness(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total, takers := drawTakers(t, instance{kinds: 1, users: 8, finite: true, scalar: true, roomy: true})
		if rapid.Bool().Draw(t, "a bottleneck of several") {
			for k := 1; k < 4; k++ {
				total[k] = 2 * total[0] // no taker demands more of these than of the first
				for i := range takers {
					takers[i].Demand[k] = rapid.Int64Range(0, takers[i].Demand[0]).Draw(t, "demand of the others")
				}
			}
		}
		tasks := divide(t, total, takers)
		most, used := 0.0, 0.0
		for i, x := range takers {
			most = max(most, tasks[i]*float64(x.Demand[0])/weightOf(x, 0))
			used += tasks[i] * float64(x.Demand[0])
		}
		for i, x := range takers {
			if x.Tasks == 0 || tasks[i] < float64(x.Tasks) {
				require.InEpsilon(t, most, tasks[i]*float64(x.Demand[0])/weightOf(x, 0), slack, "taker %d", i)
				require.InEpsilon(t, float64(total[0]), used, slack)
			}
		}
	})
}

package allot_test

import (
	"fmt"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/drf/allot"
	"github.com/cellsched/cellsched/resources"
)

// fluid is the definition of Divide in exact arithmetic: one event at a time.
func fluid(total resources.Vector, takers []allot.Taker) []*big.Rat {
	var left [resources.MaxKinds]*big.Rat
	for k, q := range total {
		left[k] = new(big.Rat).SetInt64(q)
	}
	tasks := make([]*big.Rat, len(takers))
	pace := make([]*big.Rat, len(takers)) // tasks for each unit of share; nil for a taker that has stopped
	for i, t := range takers {
		tasks[i], pace[i] = new(big.Rat), paceOf(total, t)
	}
	for {
		// The rise of all shares to the next event, and the taker or kind that
		// stops.
		var rise *big.Rat
		stops := func(int) bool { return false }
		event := func(at *big.Rat, who func(int) bool) {
			if rise == nil || at.Cmp(rise) < 0 {
				rise, stops = at, who
			}
		}
		for k := range left {
			flow := new(big.Rat)
			for i, p := range pace {
				if p != nil {
					flow.Add(flow, times(p, takers[i].Demand[k]))
				}
			}
			if flow.Sign() > 0 {
				event(new(big.Rat).Quo(left[k], flow), func(i int) bool { return takers[i].Demand[k] > 0 })
			}
		}
		for i, p := range pace {
			if p != nil && takers[i].Tasks > 0 {
				more := new(big.Rat).SetInt64(takers[i].Tasks)
				event(more.Sub(more, tasks[i]).Quo(more, p), func(j int) bool { return i == j })
			}
		}
		if rise == nil {
			return tasks
		}
		for i, p := range pace {
			if p == nil {
				continue
			}
			more := new(big.Rat).Mul(rise, p)
			tasks[i].Add(tasks[i], more)
			for k, q := range takers[i].Demand {
				left[k].Sub(left[k], times(more, q))
			}
			if stops(i) {
				pace[i] = nil
			}
		}
	}
}

// paceOf returns nil for a taker that demands a kind the total has none of.
func paceOf(total resources.Vector, t allot.Taker) *big.Rat {
	var pace *big.Rat
	for k, q := range t.Demand {
		if q == 0 {
			continue
		}
		if total[k] == 0 {
			return nil
		}
		p := new(big.Rat).SetFrac64(total[k], q)
		p.Mul(p, new(big.Rat).SetFloat64(weightOf(t, k)))
		if pace == nil || p.Cmp(pace) < 0 {
			pace = p
		}
	}
	return pace
}

func weightOf(t allot.Taker, kind int) float64 {
	switch {
	case t.Weights != nil:
		return t.Weights[kind]
	case t.Weight != 0:
		return t.Weight
	default:
		return 1
	}
}

func times(r *big.Rat, n int64) *big.Rat {
	return new(big.Rat).Mul(r, new(big.Rat).SetInt64(n))
}

func TestDivide_IsWithin1e12OfTheExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total, takers := drawTakers(t, instance{kinds: 4, users: 8, zeros: true, weights: true, finite: true})
		got, err := allot.Divide(total, takers)
		require.NoError(t, err)
		requireExact(t, fluid(total, takers), got)
	})
}

// The fluid numbers of the worked examples.
func TestDivide_FollowsTheWorkedExamples(t *testing.T) {
	tests := map[string]struct {
		total  resources.Vector
		takers []allot.Taker
		tasks  []float64
	}{
		"NSDI 2011, section 4.1 (P01)": {
			total:  resources.Vector{9, 18},
			takers: []allot.Taker{{Demand: resources.Vector{1, 4}}, {Demand: resources.Vector{3, 1}}},
			tasks:  []float64{3, 2},
		},
		"NSDI 2011, section 6 (P02)": {
			total:  resources.Vector{30, 30},
			takers: []allot.Taker{{Demand: resources.Vector{1, 3}}, {Demand: resources.Vector{1, 1}}},
			tasks:  []float64{5, 15},
		},
		"YARN's DominantResourceCalculator explained (P03)": {
			total:  resources.Vector{100, 10_000},
			takers: []allot.Taker{{Demand: resources.Vector{2, 300}}, {Demand: resources.Vector{6, 100}}},
			tasks:  []float64{20, 10},
		},
		"NSDI 2011, section 4.3, A counts double (P04)": {
			total:  resources.Vector{9, 18},
			takers: []allot.Taker{{Demand: resources.Vector{1, 4}, Weight: 2}, {Demand: resources.Vector{3, 1}}},
			tasks:  []float64{54.0 / 13, 18.0 / 13},
		},
		"one kind runs out, the others go on (P07)": {
			total:  resources.Vector{12, 12, 12},
			takers: []allot.Taker{{Demand: resources.Vector{3, 1}}, {Demand: resources.Vector{1, 0, 2}}, {Demand: resources.Vector{0, 1, 3}}},
			tasks:  []float64{3, 3, 2},
		},
		"demands that leave out a kind (P08a)": {
			total:  resources.Vector{12, 12},
			takers: []allot.Taker{{Demand: resources.Vector{1}}, {Demand: resources.Vector{0, 1}}, {Demand: resources.Vector{1, 1}}},
			tasks:  []float64{6, 6, 6},
		},
		"a kind of which there is none (P08c)": {
			total:  resources.Vector{8},
			takers: []allot.Taker{{Demand: resources.Vector{1}}, {Demand: resources.Vector{2}}},
			tasks:  []float64{4, 2},
		},
		"a demand for an absent kind gets nothing": {
			total:  resources.Vector{4},
			takers: []allot.Taker{{Demand: resources.Vector{1, 1}}, {Demand: resources.Vector{1}}},
			tasks:  []float64{0, 4},
		},
		"large tasks and small ones (P09)": {
			total:  resources.Vector{100, 100},
			takers: []allot.Taker{{Demand: resources.Vector{40, 1}}, {Demand: resources.Vector{10, 1}}},
			tasks:  []float64{5.0 / 4, 5},
		},
		"a user that wants less than its share (P10)": {
			total: resources.Vector{12, 12},
			takers: []allot.Taker{
				{Demand: resources.Vector{1, 1}, Tasks: 2},
				{Demand: resources.Vector{1, 2}},
				{Demand: resources.Vector{2, 1}},
			},
			tasks: []float64{2, 10.0 / 3, 10.0 / 3},
		},
		"a taker of finitely many tasks goes on after a kind is used up": {
			total: resources.Vector{13, 1, 1},
			takers: []allot.Taker{
				{Demand: resources.Vector{1}},
				{Demand: resources.Vector{1}},
				{Demand: resources.Vector{2}, Tasks: 2},
				{Demand: resources.Vector{0, 0, 1}},
				{Demand: resources.Vector{0, 0, 1}},
				{Demand: resources.Vector{0, 0, 1}, Weight: 2},
				{Demand: resources.Vector{0, 6, 1}},
			},
			tasks: []float64{4.5, 4.5, 2, 0.24, 0.24, 0.48, 0.04},
		},
		"each taker wants the total, more than 64 bits in all": {
			total: resources.Vector{resources.MaxQuantity},
			takers: []allot.Taker{
				{Demand: resources.Vector{resources.MaxQuantity}, Tasks: 1},
				{Demand: resources.Vector{resources.MaxQuantity / 2}, Tasks: 2},
				{Demand: resources.Vector{1}, Tasks: resources.MaxQuantity},
				{Demand: resources.Vector{resources.MaxQuantity}, Tasks: 1},
			},
			tasks: []float64{0.25, 0.5, float64(resources.MaxQuantity / 4), 0.25},
		},
		"each taker has all of its tasks": {
			total:  resources.Vector{12},
			takers: []allot.Taker{{Demand: resources.Vector{3}, Tasks: 3}, {Demand: resources.Vector{1}, Tasks: 3}},
			tasks:  []float64{3, 3},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tasks, err := allot.Divide(test.total, test.takers)
			require.NoError(t, err)
			require.InDeltaSlice(t, test.tasks, tasks, 1e-14)
		})
	}
}

// 100,000 takers of great weight leave 1,000 of 2^62 to two that hardly count.
// A sum of float64 would be off by more than there is left.
func TestDivide_CountsTheLittleThatManyLeave(t *testing.T) {
	const many, left = 100_000, 1_000
	takers := make([]allot.Taker, many, many+2)
	total := resources.Vector{left}
	for i := range takers {
		takers[i] = allot.Taker{Demand: resources.Vector{resources.MaxQuantity/many - int64(i)}, Weight: drf.MaxWeight, Tasks: 1}
		total[0] += takers[i].Demand[0]
	}
	takers = append(takers,
		allot.Taker{Demand: resources.Vector{1}, Weight: drf.MinWeight}, allot.Taker{Demand: resources.Vector{2}, Weight: drf.MinWeight})
	tasks, err := allot.Divide(total, takers)
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{1, 500, 250}, tasks[many-1:], 1e-12)
}

// Ten takers have to stop when the first kind is used up. They hold nearly all of
// the second kind then, in amounts that are not whole. A last one, which hardly
// counts, gets the rest: a millionth.
func TestDivide_CountsASmallRestOfStoppedTakers(t *testing.T) {
	total := resources.Vector{97, resources.MaxQuantity}
	first := &[resources.MaxKinds]float64{1, 100, 1, 1, 1, 1, 1, 1} // its share is what counts
	takers := make([]allot.Taker, 10)
	for i := range takers {
		takers[i] = allot.Taker{Demand: resources.Vector{int64(3 + 7*i), 1<<52 + int64(i)<<49}, Weights: first}
	}
	used := new(big.Rat)
	for i, tasks := range fluid(total, takers) {
		used.Add(used, times(tasks, takers[i].Demand[1]))
	}
	units := new(big.Int).Quo(used.Num(), used.Denom())
	total[1] = units.Int64()
	total[1] += total[1] / 1_000_000
	takers = append(takers, allot.Taker{Demand: resources.Vector{0, 1}, Weight: drf.MinWeight})

	tasks, err := allot.Divide(total, takers)
	require.NoError(t, err)
	requireExact(t, fluid(total, takers), tasks)
	require.Less(t, tasks[10], float64(total[1])/900_000)
}

// Two takers have to stop when the first kind is used up. They hold all of the
// second kind then, but for less than a unit in 2^61 of one task: rounding cannot
// tell how much is left. The taker that gets it does not fall behind the two.
func TestDivide_NeverLowersTheShareOfAnActiveTaker(t *testing.T) {
	const all, ratio = 97, 1 << 40
	for i := range int64(100) {
		total := resources.Vector{all, ratio * all, 1}
		takers := []allot.Taker{
			{Demand: resources.Vector{3 + i, (3 + i) * ratio}, Weight: 0.3},
			{Demand: resources.Vector{5, 5 * ratio}, Weight: 1 / float64(7+i)},
			{Demand: resources.Vector{0, 1, resources.MaxQuantity}, Weight: 0.1},
		}
		tasks, err := allot.Divide(total, takers)
		require.NoError(t, err)
		stopped := tasks[0] * float64(takers[0].Demand[0]) / all / takers[0].Weight
		require.GreaterOrEqual(t, tasks[2]*float64(resources.MaxQuantity)/takers[2].Weight, stopped*(1-1e-12), "i=%d", i)
	}
}

func requireExact(t require.TestingT, want []*big.Rat, got []float64) {
	tolerance := big.NewRat(1, 1_000_000_000_000)
	for i, w := range want {
		off := new(big.Rat).SetFloat64(got[i])
		off.Sub(off, w).Abs(off)
		if off.Cmp(new(big.Rat).Mul(tolerance, w)) > 0 {
			exact, _ := w.Float64()
			require.Fail(t, fmt.Sprintf("taker %d gets %v tasks, want %v", i, got[i], exact))
		}
	}
}

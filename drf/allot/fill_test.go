package allot_test

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/drf/allot"
	"github.com/cellsched/cellsched/resources"
)

// sequence fills and returns the taker of each task.
func sequence(t require.TestingT, total resources.Vector, takers []allot.Taker, o allot.FillOptions) (order string, free resources.Vector) {
	tasks, err := allot.FillOrder(total, takers, o)
	require.NoError(t, err)
	var b strings.Builder
	for i := range tasks {
		b.WriteByte(byte('A' + i))
		free = free.Add(takers[i].Demand)
	}
	free, ok := total.Sub(free)
	require.True(t, ok, "more than the total %v was given away: %v", total, free)
	return b.String(), free
}

// The worked examples by all rules. What they fill to step by step by the rule
// of the heap is also in paper_test.go, where a caller of the heap fills.
func TestFill_FollowsTheWorkedExamples(t *testing.T) {
	stop, after := allot.FillOptions{Stop: true}, allot.FillOptions{After: true}
	memoryTwice := &[resources.MaxKinds]float64{1, 2, 1, 1, 1, 1, 1, 1}
	tests := map[string]struct {
		total  resources.Vector
		takers []allot.Taker
		o      allot.FillOptions
		order  string
		free   resources.Vector
	}{
		"NSDI 2011, section 4.1 and Table 1 (P01)": {
			total:  resources.Vector{9, 18},
			takers: []allot.Taker{{Demand: resources.Vector{1, 4}}, {Demand: resources.Vector{3, 1}}},
			order:  "ABABA", free: resources.Vector{0, 4},
		},
		"NSDI 2011, Algorithm 1 as it is printed (P01)": {
			total:  resources.Vector{9, 18},
			takers: []allot.Taker{{Demand: resources.Vector{1, 4}}, {Demand: resources.Vector{3, 1}}},
			o:      stop, order: "ABABA", free: resources.Vector{0, 4},
		},
		"NSDI 2011, section 6 (P02)": {
			total:  resources.Vector{30, 30},
			takers: []allot.Taker{{Demand: resources.Vector{1, 3}}, {Demand: resources.Vector{1, 1}}},
			order:  strings.Repeat("ABBB", 5), free: resources.Vector{10, 0},
		},
		"YARN's DominantResourceCalculator explained (P03)": {
			total:  resources.Vector{100, 10_000},
			takers: []allot.Taker{{Demand: resources.Vector{2, 300}}, {Demand: resources.Vector{6, 100}}},
			order:  strings.Repeat("ABA", 10), free: resources.Vector{0, 3_000},
		},
		"NSDI 2011, section 4.3, A counts double (P04)": {
			total:  resources.Vector{9, 18},
			takers: []allot.Taker{{Demand: resources.Vector{1, 4}, Weight: 2}, {Demand: resources.Vector{3, 1}}},
			order:  "ABAAA", free: resources.Vector{2, 1},
		},
		"A counts double, after the task (P04)": {
			total:  resources.Vector{9, 18},
			takers: []allot.Taker{{Demand: resources.Vector{1, 4}, Weight: 2}, {Demand: resources.Vector{3, 1}}},
			o:      after, order: "AAABA", free: resources.Vector{2, 1},
		},
		"A counts double for memory alone, its dominant kind": {
			total:  resources.Vector{9, 18},
			takers: []allot.Taker{{Demand: resources.Vector{1, 4}, Weights: memoryTwice}, {Demand: resources.Vector{3, 1}}},
			order:  "ABAAA", free: resources.Vector{2, 1},
		},
		"B counts double for memory alone, of which it holds little": {
			total:  resources.Vector{9, 18},
			takers: []allot.Taker{{Demand: resources.Vector{1, 4}}, {Demand: resources.Vector{3, 1}, Weights: memoryTwice}},
			order:  "ABABA", free: resources.Vector{0, 4},
		},
		"one kind runs out, the others go on (P07)": {
			total:  resources.Vector{12, 12, 12},
			takers: []allot.Taker{{Demand: resources.Vector{3, 1}}, {Demand: resources.Vector{1, 0, 2}}, {Demand: resources.Vector{0, 1, 3}}},
			order:  "ABCBACBA", free: resources.Vector{0, 7, 0},
		},
		"one kind runs out, after the task (P07)": {
			total:  resources.Vector{12, 12, 12},
			takers: []allot.Taker{{Demand: resources.Vector{3, 1}}, {Demand: resources.Vector{1, 0, 2}}, {Demand: resources.Vector{0, 1, 3}}},
			o:      after, order: "BACBABCA", free: resources.Vector{0, 7, 0},
		},
		"demands that leave out a kind (P08a)": {
			total:  resources.Vector{12, 12},
			takers: []allot.Taker{{Demand: resources.Vector{1}}, {Demand: resources.Vector{0, 1}}, {Demand: resources.Vector{1, 1}}},
			order:  strings.Repeat("ABC", 6),
		},
		"a kind of which there is none (P08c)": {
			total:  resources.Vector{8},
			takers: []allot.Taker{{Demand: resources.Vector{1}}, {Demand: resources.Vector{2}}},
			order:  "ABAABA",
		},
		"a demand for an absent kind is passed over": {
			total:  resources.Vector{4},
			takers: []allot.Taker{{Demand: resources.Vector{1, 1}}, {Demand: resources.Vector{1}}},
			order:  "BBBB",
		},
		"a demand for an absent kind ends the filling": {
			total:  resources.Vector{4},
			takers: []allot.Taker{{Demand: resources.Vector{1}}, {Demand: resources.Vector{1, 1}}},
			o:      stop, order: "A", free: resources.Vector{3},
		},
		"large tasks and small ones (P09)": {
			total:  resources.Vector{100, 100},
			takers: []allot.Taker{{Demand: resources.Vector{40, 1}}, {Demand: resources.Vector{10, 1}}},
			order:  "ABBBBBB", free: resources.Vector{0, 93},
		},
		"large tasks and small ones, to the first that does not fit (P09)": {
			total:  resources.Vector{100, 100},
			takers: []allot.Taker{{Demand: resources.Vector{40, 1}}, {Demand: resources.Vector{10, 1}}},
			o:      stop, order: "ABBBB", free: resources.Vector{20, 95},
		},
		"large tasks and small ones, after the task (P09)": {
			total:  resources.Vector{100, 100},
			takers: []allot.Taker{{Demand: resources.Vector{40, 1}}, {Demand: resources.Vector{10, 1}}},
			o:      after, order: "BBBABBB", free: resources.Vector{0, 93},
		},
		"a user that wants less than its share (P10)": {
			total: resources.Vector{12, 12},
			takers: []allot.Taker{
				{Demand: resources.Vector{1, 1}, Tasks: 2},
				{Demand: resources.Vector{1, 2}},
				{Demand: resources.Vector{2, 1}},
			},
			order: "ABCABCBC", free: resources.Vector{1, 1},
		},
		"a taker with all of its tasks is not the poorest that ends the filling": {
			total:  resources.Vector{10},
			takers: []allot.Taker{{Demand: resources.Vector{1}, Tasks: 1}, {Demand: resources.Vector{4}}},
			o:      stop, order: "ABB", free: resources.Vector{1},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			order, free := sequence(t, test.total, test.takers, test.o)
			require.Equal(t, test.order, order)
			require.Equal(t, test.free, free)
		})
	}
}

// An internship report has this example with ⟨10, 10⟩ where ⟨1, 0⟩ is meant.
func TestFill_GoesOnWithTakersThatDoNotUseAnExhaustedKind(t *testing.T) {
	total := resources.Vector{10, 10}
	takers := []allot.Taker{{Demand: resources.Vector{1, 0}}, {Demand: resources.Vector{0, 1}}, {Demand: resources.Vector{0, 1}}}

	tasks, err := allot.Fill(total, takers, allot.FillOptions{})
	require.NoError(t, err)
	require.Equal(t, []int64{10, 5, 5}, tasks)

	tasks, err = allot.Fill(total, takers, allot.FillOptions{Stop: true})
	require.NoError(t, err)
	require.Equal(t, []int64{6, 5, 5}, tasks, "the poorest is B, and nothing is left of what it uses")

	fluid, err := allot.Divide(total, takers)
	require.NoError(t, err)
	require.Equal(t, []float64{10, 5, 5}, fluid)
}

// stepByStep is Fill by its definition, with fractions of big integers.
func stepByStep(total resources.Vector, takers []allot.Taker, o allot.FillOptions) []int64 {
	tasks, free := make([]int64, len(takers)), total
	for {
		next, least := -1, new(big.Rat)
		for i, t := range takers {
			if t.Tasks > 0 && tasks[i] == t.Tasks || !o.Stop && !t.Demand.Fits(free) {
				continue
			}
			n := tasks[i]
			if o.After {
				n++
			}
			if s := shareOf(total, t, n); next < 0 || s.Cmp(least) < 0 {
				next, least = i, s
			}
		}
		if next < 0 {
			return tasks
		}
		left, ok := free.Sub(takers[next].Demand)
		if !ok {
			return tasks
		}
		free = left
		tasks[next]++
	}
}

// shareOf returns the weighted dominant share of a taker with n tasks.
func shareOf(total resources.Vector, t allot.Taker, n int64) *big.Rat {
	share := new(big.Rat)
	for k, q := range t.Demand {
		if total[k] == 0 {
			continue
		}
		s := new(big.Rat).SetFrac64(q, total[k])
		s = times(s, n)
		s.Quo(s, new(big.Rat).SetFloat64(weightOf(t, k)))
		if s.Cmp(share) > 0 {
			share = s
		}
	}
	return share
}

func TestFill_EqualsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total, takers := drawTakers(t, instance{kinds: 3, users: 6, zeros: true, weights: true, finite: true, whole: true})
		o := allot.FillOptions{Stop: rapid.Bool().Draw(t, "stop"), After: rapid.Bool().Draw(t, "after")}
		tasks, err := allot.Fill(total, takers, o)
		require.NoError(t, err)
		require.Equal(t, stepByStep(total, takers, o), tasks)
	})
}

func TestFillOrder_BeginsAnewAndCanBeBrokenOff(t *testing.T) {
	takers := []allot.Taker{{Demand: resources.Vector{1}}, {Demand: resources.Vector{2}}}
	order, err := allot.FillOrder(resources.Vector{12}, takers, allot.FillOptions{})
	require.NoError(t, err)
	for i := range takers {
		takers[i] = allot.Taker{} // copied before
	}
	var broken []int
	for i := range order {
		broken = append(broken, i)
		if len(broken) == 3 {
			break
		}
	}
	whole := slices.Collect(order)
	require.Equal(t, []int{0, 1, 0, 0, 1, 0, 0, 1, 0}, whole)
	require.Equal(t, whole[:3], broken)
	require.Equal(t, whole, slices.Collect(order))
}

// A share of which a float64 shows only a part is still in order.
func TestFill_ComparesSharesBeyondFloatPrecision(t *testing.T) {
	const q = resources.MaxQuantity
	takers := []allot.Taker{{Demand: resources.Vector{q / 4}}, {Demand: resources.Vector{q/4 - 1}}}
	order, free := sequence(t, resources.Vector{q}, takers, allot.FillOptions{})
	require.Equal(t, "ABBA", order)
	require.Equal(t, resources.Vector{2}, free)
}

func TestFill_RefusesBadInput(t *testing.T) {
	good := allot.Taker{Demand: resources.Vector{1}}
	total := resources.Vector{4, 4}
	tests := map[string]struct {
		total resources.Vector
		taker allot.Taker
		cause error
		text  string
	}{
		"a total of nothing":      {resources.Vector{}, good, drf.ErrEmpty, "total"},
		"a negative total":        {resources.Vector{4, -1}, good, resources.ErrQuantity, "kind1=-1"},
		"a demand of nothing":     {total, allot.Taker{}, drf.ErrEmpty, "taker 1: amount 0,"},
		"a negative demand":       {total, allot.Taker{Demand: resources.Vector{1, -2}}, resources.ErrQuantity, "kind1=-2"},
		"a demand beyond 2^62":    {total, allot.Taker{Demand: resources.Vector{math.MaxInt64}}, resources.ErrQuantity, "taker 1"},
		"fewer than no tasks":     {total, allot.Taker{Demand: good.Demand, Tasks: -1}, resources.ErrQuantity, "taker 1: -1 tasks, want 0"},
		"a weight too small":      {total, allot.Taker{Demand: good.Demand, Weight: 1e-7}, drf.ErrWeight, "taker 1: weight 1e-07"},
		"a negative weight":       {total, allot.Taker{Demand: good.Demand, Weight: -1}, drf.ErrWeight, "taker 1: weight -1"},
		"a weight not a number":   {total, allot.Taker{Demand: good.Demand, Weight: math.NaN()}, drf.ErrWeight, "weight NaN"},
		"a weight without end":    {total, allot.Taker{Demand: good.Demand, Weight: math.Inf(1)}, drf.ErrWeight, "weight +Inf"},
		"a kind without a weight": {total, allot.Taker{Demand: good.Demand, Weights: &[resources.MaxKinds]float64{1, 1}}, drf.ErrWeight, "taker 1: weight 0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			takers := []allot.Taker{good, test.taker, good}
			_, err := allot.Fill(test.total, takers, allot.FillOptions{})
			require.ErrorIs(t, err, test.cause)
			require.ErrorContains(t, err, test.text)
			_, err = allot.FillOrder(test.total, takers, allot.FillOptions{Stop: true})
			require.ErrorIs(t, err, test.cause)
			_, err = allot.Divide(test.total, takers)
			require.ErrorIs(t, err, test.cause)
			require.ErrorContains(t, err, test.text)
		})
	}
}

func TestFill_WithoutTakersIsEmpty(t *testing.T) {
	tasks, err := allot.Fill(resources.Vector{1}, nil, allot.FillOptions{})
	require.NoError(t, err)
	require.Empty(t, tasks)
	fluid, err := allot.Divide(resources.Vector{1}, nil)
	require.NoError(t, err)
	require.Empty(t, fluid)
}

package allot_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf/allot"
	"github.com/cellsched/cellsched/resources"
)

// With tasks that are not divisible the properties hold up to one task, and are
// tested exactly: there are no numbers here but fractions of integers.

func fill(t require.TestingT, total resources.Vector, takers []allot.Taker, o allot.FillOptions) []int64 {
	tasks, err := allot.Fill(total, takers, o)
	require.NoError(t, err)
	return tasks
}

func drawOptions(t *rapid.T) allot.FillOptions {
	return allot.FillOptions{Stop: rapid.Bool().Draw(t, "stop"), After: rapid.Bool().Draw(t, "after")}
}

// wholeRuns returns how many tasks a taker can run with n of another's, or of its
// own as it was told.
func wholeRuns(t, of allot.Taker, n int64) int64 {
	most := int64(math.MaxInt64)
	if t.Tasks > 0 {
		most = t.Tasks
	}
	for k, q := range t.Demand {
		if q > 0 {
			all := new(big.Int).Mul(big.NewInt(n), big.NewInt(of.Demand[k]))
			if all.Quo(all, big.NewInt(q)); all.Cmp(big.NewInt(most)) < 0 {
				most = all.Int64()
			}
		}
	}
	return most
}

// A taker without all of its tasks has the share that its weight entitles it to, up
// to one task. That is the average one of all, or its own if shares are compared
// after the task.
func TestFill_SharingIncentiveUpToOneTask(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total, takers := drawTakers(t, instance{kinds: 3, users: 6, zeros: true, finite: true, scalar: true, whole: true})
		o := drawOptions(t)
		for i, n := range fill(t, total, takers, o) {
			if takers[i].Tasks == n {
				continue
			}
			all := new(big.Rat) // the most that it and others have of the kinds without room for it
			for _, x := range takers {
				one := shareOf(total, x, 1)
				if o.After {
					one = shareOf(total, takers[i], 1)
				}
				one.Add(one, shareOf(total, takers[i], n))
				all.Add(all, one.Mul(one, new(big.Rat).SetFloat64(weightOf(x, 0))))
			}
			require.Positive(t, all.Cmp(big.NewRat(1, 1)), "taker %d has %d tasks", i, n)
		}
	})
}

// With another's holdings less one of its tasks, no taker could run more tasks.
// With all of them it could run one more at most, if shares are compared after the
// task.
func TestFill_EnvyFreenessUpToOneTask(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total, takers := drawTakers(t, instance{kinds: 3, users: 6, zeros: true, finite: true, whole: true})
		o := drawOptions(t)
		tasks := fill(t, total, takers, o)
		for i, x := range takers {
			for j, other := range takers {
				envied := wholeRuns(x, other, tasks[j]-1)
				if o.After {
					envied = wholeRuns(x, other, tasks[j]) - 1
				}
				require.LessOrEqual(t, envied, tasks[i], "taker %d beside %d", i, j)
			}
		}
	})
}

// Nothing more fits, unless the filling stops before.
func TestFill_ParetoEfficiency(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total, takers := drawTakers(t, instance{kinds: 3, users: 6, zeros: true, finite: true, weights: true, whole: true})
		tasks := fill(t, total, takers, allot.FillOptions{After: rapid.Bool().Draw(t, "after")})
		free := total
		for i, n := range tasks {
			left, ok := free.Sub(takers[i].Demand.Scale(n))
			require.True(t, ok)
			free = left
		}
		for i, x := range takers {
			require.True(t, tasks[i] == x.Tasks || !x.Demand.Fits(free), "another task of taker %d fits in %v", i, free)
		}
	})
}

// A taker that misreports its demand or its number of tasks gains less than two
// shares: that of a task as reported, and one of another taker. For tasks of one
// size that is one task at most. Otherwise, with Algorithm 1, all others would have
// had another task at first.
func TestFill_StrategyProofnessUpToOneTask(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total, takers := drawTakers(t, instance{kinds: 3, users: 6, zeros: true, finite: true, weights: true, whole: true})
		o := allot.FillOptions{Stop: true}
		liar := rapid.IntRange(0, len(takers)-1).Draw(t, "liar")
		honest := fill(t, total, takers, o)[liar]

		largest := new(big.Rat) // of the others' tasks
		for i, x := range takers {
			if one := shareOf(total, x, 1); i != liar && one.Cmp(largest) > 0 {
				largest = one
			}
		}
		truth := takers[liar]
		takers[liar] = lie(t, total, truth)
		gets := wholeRuns(truth, takers[liar], fill(t, total, takers, o)[liar])

		bound := shareOf(total, truth, honest)
		bound.Add(bound, shareOf(total, takers[liar], 1)).Add(bound, largest)
		require.True(t, gets <= honest || shareOf(total, truth, gets).Cmp(bound) < 0,
			"%d tasks instead of %d by telling %v, %d tasks", gets, honest, takers[liar].Demand, takers[liar].Tasks)
	})
}

// If others go on when a task does not fit there is no such bound. A task reported
// so large that another's never fits leaves the liar alone.
func TestFill_StrategyProofnessIsThatOfAlgorithm1(t *testing.T) {
	total := resources.Vector{100}
	truth, other := allot.Taker{Demand: resources.Vector{1}}, allot.Taker{Demand: resources.Vector{60}}
	told := allot.Taker{Demand: resources.Vector{41}}
	require.Equal(t, []int64{40, 1}, fill(t, total, []allot.Taker{truth, other}, allot.FillOptions{}))
	require.Equal(t, int64(82), wholeRuns(truth, told, fill(t, total, []allot.Taker{told, other}, allot.FillOptions{})[0]))

	stop := allot.FillOptions{Stop: true}
	require.Equal(t, []int64{40, 1}, fill(t, total, []allot.Taker{truth, other}, stop))
	require.Equal(t, int64(41), wholeRuns(truth, told, fill(t, total, []allot.Taker{told, other}, stop)[0]))
}

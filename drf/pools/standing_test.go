package pools_test

import (
	"cmp"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf/pools"
	"github.com/cellsched/cellsched/resources"
)

const plenty int64 = 1 << 40 // more than there is

// sibling is a job among others, of one kind of resource.
type sibling struct {
	weight     float64 // 0 is 1
	low, high  int64   // high 0 is none
	held, more int64
	priority   int64
}

func (s sibling) config() pools.Config {
	config := pools.Config{Weight: s.weight, Min: resources.Vector{s.low}, Priority: s.priority}
	if s.high > 0 {
		config.Max = &resources.Vector{s.high}
	}
	return config
}

func (s sibling) wants() int64 {
	all := s.held + min(s.more, resources.MaxQuantity-s.held) // the sum of both may wrap
	if s.high == 0 || all < s.high {
		return all
	}
	return s.high
}

// standings returns how the siblings stand, in a tree of them and the root.
func standings(t require.TestingT, total int64, order pools.Order, siblings []sibling) []pools.Standing {
	tree, err := pools.New[int](resources.Vector{total}, order)
	require.NoError(t, err)
	for i, s := range siblings {
		job, err := tree.AddJob(tree.Root(), i, s.config())
		require.NoError(t, err)
		require.NoError(t, tree.Charge(job, resources.Vector{s.held}))
		want(t, tree, job, resources.Vector{s.more})
	}
	all := tree.Standings()
	require.Len(t, all, len(siblings)+1)
	return all[1:]
}

// want makes a job want more, beyond its usage.
func want[K comparable](t require.TestingT, tree *pools.Tree[K], job pools.Node, more resources.Vector) {
	task := more.Min(resources.Vector{1, 1, 1, 1, 1, 1, 1, 1})
	if task == (resources.Vector{}) {
		require.NoError(t, tree.Park(job))
		return
	}
	require.NoError(t, tree.Demand(job, task))
	require.NoError(t, tree.Backlog(job, more))
}

func fairOf(all []pools.Standing) (fair []int64) {
	for _, s := range all {
		fair = append(fair, s.Fair[0])
	}
	return fair
}

// Divisions of the Hadoop Fair Scheduler, by hand.
func TestStandings_DivideAsTheHadoopFairScheduler(t *testing.T) {
	tests := map[string]struct {
		total    int64
		siblings []sibling
		fair     []int64
	}{
		"by weight":                 {90, []sibling{{weight: 1, more: plenty}, {weight: 2, more: plenty}}, []int64{30, 60}},
		"a min share comes first":   {100, []sibling{{low: 60, more: plenty}, {more: plenty}, {more: plenty}}, []int64{60, 20, 20}},
		"it is no bonus":            {100, []sibling{{low: 20, more: plenty}, {more: plenty}}, []int64{50, 50}},
		"it counts usage":           {100, []sibling{{low: 60, held: 30, more: 20}, {more: plenty}}, []int64{50, 50}},
		"a child that wants little": {100, []sibling{{more: 10}, {more: plenty}, {more: plenty}}, []int64{10, 45, 45}},
		"an idle min share":         {100, []sibling{{low: 60}, {more: plenty}, {more: plenty}}, []int64{0, 50, 50}},
		"a part of a min share":     {100, []sibling{{low: 60, more: 20}, {more: plenty}, {more: plenty}}, []int64{20, 40, 40}},
		"a max share":               {100, []sibling{{weight: 8, high: 20, more: plenty}, {more: plenty}, {weight: 3, more: plenty}}, []int64{20, 20, 60}},
		"more than the max share":   {100, []sibling{{high: 20, held: 70}, {more: plenty}}, []int64{20, 80}},
		"enough for all":            {100, []sibling{{more: 30}, {weight: 9, held: 10, more: 5}}, []int64{30, 15}},
		"no child wants anything":   {100, []sibling{{}, {low: 50}}, []int64{0, 0}},
		"min shares above total":    {100, []sibling{{low: 150, more: plenty}, {low: 50, more: plenty}, {more: plenty}}, []int64{75, 25, 0}},
		"as far as they are used":   {100, []sibling{{low: 150, more: 30}, {low: 80, more: plenty}, {more: plenty}}, []int64{28, 72, 0}}, // 300/11, 800/11
		"one unit is left":          {100, []sibling{{more: plenty}, {more: plenty}, {more: plenty}}, []int64{34, 33, 33}},
		"two units are left":        {10, []sibling{{weight: 1, more: 9}, {weight: 2, more: 9}, {weight: 4, more: 9}}, []int64{2, 3, 5}}, // 10/7, 20/7, 40/7
		"whole shares get none":     {8, []sibling{{weight: 3, more: 9}, {weight: 2.5, more: 9}, {weight: 2.5, more: 9}}, []int64{3, 3, 2}},
		"vector DS-P8 of the facts": {100, []sibling{{low: 10, held: 12, more: 48}, {held: 76, more: 124}, {weight: 2, held: 12}}, []int64{44, 44, 12}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.fair, fairOf(standings(t, tc.total, nil, tc.siblings)))
			require.Equal(t, tc.fair, fairOf(standings(t, tc.total, pools.Fair(0), tc.siblings)), "Fair")
		})
	}
}

// drawSiblings draws siblings of sizes near and far from those of the total.
func drawSiblings(t *rapid.T, total int64) []sibling {
	amount := func(most int64) *rapid.Generator[int64] {
		return rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, min(most, 20)), rapid.Int64Range(0, min(most, 2*(total/3+1))), rapid.Int64Range(0, most))
	}
	n := rapid.IntRange(1, 7).Draw(t, "n")
	siblings := make([]sibling, n)
	for i := range siblings {
		s := &siblings[i]
		s.weight = rapid.OneOf(rapid.SampledFrom([]float64{1, 1, 2, 0.1, 1.0 / 3, 1e-6, 1e6}), rapid.Float64Range(1e-6, 1e6)).Draw(t, "weight")
		s.low = amount(resources.MaxQuantity/int64(n)).Draw(t, "low")
		if rapid.IntRange(0, 2).Draw(t, "limited") == 0 {
			s.high = max(1, s.low, amount(resources.MaxQuantity).Draw(t, "high"))
		}
		s.held = amount(resources.MaxQuantity/int64(n)).Draw(t, "held")
		s.more = amount(resources.MaxQuantity).Draw(t, "more")
	}
	return siblings
}

func drawTotal(t *rapid.T) int64 {
	return rapid.OneOf(rapid.Int64Range(1, 100), rapid.Int64Range(1, resources.MaxQuantity), rapid.Just(resources.MaxQuantity)).Draw(t, "total")
}

func ratOf(q int64) *big.Rat { return new(big.Rat).SetInt64(q) }

// portionAt is the share of a claim at a level, by definition.
func portionAt(level *big.Rat, s sibling, low *big.Rat) *big.Rat {
	share := new(big.Rat).SetFloat64(cmp.Or(s.weight, 1))
	if share.Mul(share, level); share.Cmp(low) < 0 {
		share.Set(low)
	}
	if high := ratOf(s.wants()); share.Cmp(high) > 0 {
		return high
	}
	return share
}

// exactShares is the definition in fractions. The level is searched among all
// levels where a child begins or ceases to grow, and between two of these by the
// rule of three.
func exactShares(total int64, siblings []sibling) (lows, shares []*big.Rat) {
	sum := new(big.Rat)
	for _, s := range siblings {
		low := ratOf(min(s.low, s.wants()))
		lows, sum = append(lows, low), sum.Add(sum, low)
	}
	if sum.Cmp(ratOf(total)) > 0 {
		part := new(big.Rat).Quo(ratOf(total), sum)
		for _, low := range lows {
			low.Mul(low, part)
		}
		return lows, lows
	}
	given := func(level *big.Rat) *big.Rat {
		sum := new(big.Rat)
		for i, s := range siblings {
			sum.Add(sum, portionAt(level, s, lows[i]))
		}
		return sum
	}
	below, above := new(big.Rat), (*big.Rat)(nil)
	for i, s := range siblings {
		for _, at := range []*big.Rat{lows[i], ratOf(s.wants())} {
			level := new(big.Rat).Quo(at, new(big.Rat).SetFloat64(cmp.Or(s.weight, 1)))
			if given(level).Cmp(ratOf(total)) <= 0 {
				if level.Cmp(below) > 0 {
					below = level
				}
			} else if above == nil || level.Cmp(above) < 0 {
				above = level
			}
		}
	}
	level := below
	if above != nil {
		x, y := given(below), given(above)
		rise := new(big.Rat).Sub(above, below)
		rise.Mul(rise, new(big.Rat).Sub(ratOf(total), x))
		level = new(big.Rat).Add(below, rise.Quo(rise, y.Sub(y, x)))
	}
	for i, s := range siblings {
		shares = append(shares, portionAt(level, s, lows[i]))
	}
	return lows, shares
}

// requireRounded is for a number that is the exact one, rounded down or up.
func requireRounded(t require.TestingT, want *big.Rat, got int64, msg string, args ...any) {
	off := new(big.Rat).Sub(ratOf(got), want)
	require.Negative(t, off.Abs(off).Cmp(ratOf(1)), append([]any{msg + ": want %v, got %v"}, append(args, want, got)...)...)
}

func TestStandings_AreWithinOneUnitOfTheExactShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := drawTotal(t)
		siblings := drawSiblings(t, total)
		lows, shares := exactShares(total, siblings)
		sum, wanted := new(big.Int), new(big.Int)
		for i, s := range standings(t, total, nil, siblings) {
			require.Equal(t, siblings[i].held, s.Usage[0])
			require.Equal(t, siblings[i].wants(), s.Wants[0])
			requireRounded(t, lows[i], s.Min[0], "min share of %d", i)
			requireRounded(t, shares[i], s.Fair[0], "fair share of %d", i)
			require.LessOrEqual(t, s.Min[0], s.Fair[0])
			require.LessOrEqual(t, s.Fair[0], s.Wants[0])
			sum.Add(sum, big.NewInt(s.Fair[0]))
			wanted.Add(wanted, big.NewInt(s.Wants[0]))
		}
		if wanted.Cmp(big.NewInt(total)) > 0 {
			wanted.SetInt64(total)
		}
		require.Zero(t, sum.Cmp(wanted), "%v given, want %v", sum, wanted)
	})
}

// With a larger total, a larger weight, or a sibling that wants less, no share
// becomes less, except for the unit that was left.
func TestStandings_AreMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int64Range(1, 1000).Draw(t, "total")
		siblings := drawSiblings(t, total)
		before := fairOf(standings(t, total, nil, siblings))
		of := rapid.IntRange(0, len(siblings)-1).Draw(t, "of")

		for i, fair := range fairOf(standings(t, total+rapid.Int64Range(1, 100).Draw(t, "rise"), nil, siblings)) {
			require.GreaterOrEqual(t, fair, before[i]-1, "share of %d of a larger total", i)
		}
		heavier := slices.Clone(siblings)
		heavier[of].weight = min(1e6, heavier[of].weight*rapid.Float64Range(1, 10).Draw(t, "factor"))
		require.GreaterOrEqual(t, fairOf(standings(t, total, nil, heavier))[of], before[of]-1, "share of the heavier %d", of)
		idle := slices.Clone(siblings)
		idle[of].held, idle[of].more = 0, 0
		for i, fair := range fairOf(standings(t, total, nil, idle)) {
			if i != of {
				require.GreaterOrEqual(t, fair, before[i]-1, "share of %d beside the idle %d", i, of)
			}
		}
	})
}

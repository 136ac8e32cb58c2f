package pools_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf/pools"
	"github.com/cellsched/cellsched/resources"
)

// noon is when the tests begin; seconds counts from there.
var noon = time.Date(2010, time.April, 13, 12, 0, 0, 0, time.UTC)

func seconds(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }

// standing returns the standings of two jobs below the root.
func standing(t require.TestingT) (s pools.Standing, another pools.Standing) {
	tree, err := pools.New[string](resources.Vector{100, 100}, nil)
	require.NoError(t, err)
	s.Node, s.Parent = addJob(t, tree, tree.Root(), "one", pools.Config{}), tree.Root()
	another.Node, another.Parent = addJob(t, tree, tree.Root(), "two", pools.Config{}), tree.Root()
	return s, another
}

func TestHunger_IsOfNodesBelowTheirShareThatWantMore(t *testing.T) {
	type vec = resources.Vector
	tests := map[string]struct {
		usage, wants, low, fair vec
		factor                  float64
		ofMin, ofFair           bool
	}{
		"nothing at all":               {usage: vec{0}, wants: vec{90}, low: vec{10}, fair: vec{40}, ofMin: true, ofFair: true},
		"one below half":               {usage: vec{19}, wants: vec{90}, fair: vec{40}, ofFair: true},
		"half":                         {usage: vec{20}, wants: vec{90}, fair: vec{40}},
		"below half of an odd share":   {usage: vec{20}, wants: vec{90}, fair: vec{41}, ofFair: true},
		"one below its min share":      {usage: vec{29}, wants: vec{90}, low: vec{30}, fair: vec{40}, ofMin: true},
		"its min share":                {usage: vec{30}, wants: vec{90}, low: vec{30}, fair: vec{40}},
		"one below all of it":          {usage: vec{39}, wants: vec{90}, fair: vec{40}, factor: 1, ofFair: true},
		"all of it":                    {usage: vec{40}, wants: vec{90}, fair: vec{40}, factor: 1},
		"a tenth":                      {usage: vec{3}, wants: vec{90}, fair: vec{30}, factor: 0.1},
		"wants nothing":                {low: vec{0}, fair: vec{0}},
		"has all it wants":             {usage: vec{10}, wants: vec{10}, low: vec{10}, fair: vec{10}},
		"more than it may have":        {usage: vec{10}, wants: vec{5}, low: vec{5}, fair: vec{5}},
		"nothing is due to it":         {usage: vec{0}, wants: vec{10}},
		"both kinds":                   {usage: vec{1, 2}, wants: vec{90, 90}, low: vec{5, 5}, fair: vec{40, 40}, ofMin: true, ofFair: true},
		"enough of one kind":           {usage: vec{1, 20}, wants: vec{90, 90}, low: vec{5, 5}, fair: vec{40, 40}},
		"more of one kind only":        {usage: vec{1, 20}, wants: vec{90, 20}, low: vec{5, 5}, fair: vec{40, 20}, ofMin: true, ofFair: true},
		"promised one kind only":       {usage: vec{1, 20}, wants: vec{90, 90}, low: vec{5, 0}, fair: vec{40, 40}, ofMin: true},
		"none of a kind for it":        {usage: vec{1, 0}, wants: vec{90, 90}, fair: vec{40, 0}},
		"vector DS-P8 of the facts, A": {usage: vec{12}, wants: vec{60}, low: vec{10}, fair: vec{44}, ofFair: true},
		"vector DS-P8 of the facts, B": {usage: vec{76}, wants: vec{200}, fair: vec{44}},
		"vector DS-P8 of the facts, C": {usage: vec{12}, wants: vec{12}, fair: vec{12}},
		"the largest there are":        {usage: vec{resources.MaxQuantity - 1}, wants: vec{resources.MaxQuantity}, low: vec{resources.MaxQuantity}, fair: vec{resources.MaxQuantity}, ofMin: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s, _ := standing(t)
			s.Usage, s.Wants, s.Min, s.Fair = tc.usage, tc.wants, tc.low, tc.fair
			hunger := pools.Hunger{Factor: tc.factor}
			require.NoError(t, hunger.Observe(noon, []pools.Standing{s}))
			var want []pools.Starving
			if tc.ofMin || tc.ofFair {
				want = []pools.Starving{{Node: s.Node}}
			}
			if tc.ofMin {
				want[0].OfMin = noon
			}
			if tc.ofFair {
				want[0].OfFair = noon
			}
			require.Equal(t, want, slices.Collect(hunger.Starved()))
		})
	}
}

func TestHunger_CountsFromWhenItBegan(t *testing.T) {
	s, other := standing(t)
	s.Wants, s.Min, s.Fair = resources.Vector{90}, resources.Vector{10}, resources.Vector{40}
	other.Wants, other.Fair = resources.Vector{60}, resources.Vector{60}
	var hunger pools.Hunger
	none := time.Time{}
	steps := []struct {
		at, usage     int
		ofMin, ofFair time.Time
	}{
		{0, 40, none, none},
		{5, 19, none, seconds(5)},
		{9, 15, none, seconds(5)}, // still
		{9, 9, seconds(9), seconds(5)},
		{20, 12, none, seconds(5)}, // out of the worst
		{30, 8, seconds(30), seconds(5)},
		{40, 20, none, none},
		{50, 0, seconds(50), seconds(50)}, // anew
	}
	for _, step := range steps {
		s.Usage, other.Usage = resources.Vector{int64(step.usage)}, resources.Vector{int64(100 - step.usage)}
		require.NoError(t, hunger.Observe(seconds(step.at), []pools.Standing{other, s}))
		var want []pools.Starving
		if !step.ofFair.IsZero() {
			want = []pools.Starving{{Node: s.Node, OfMin: step.ofMin, OfFair: step.ofFair}}
		}
		require.Equal(t, want, slices.Collect(hunger.Starved()), "at %d s", step.at)
	}
}

func TestHunger_ForgetsRemovedNodes(t *testing.T) {
	s, other := standing(t)
	s.Wants, s.Fair = resources.Vector{90}, resources.Vector{50}
	other.Wants, other.Fair = resources.Vector{90}, resources.Vector{50}
	var hunger pools.Hunger
	require.NoError(t, hunger.Observe(seconds(0), []pools.Standing{s, other}))
	require.Len(t, slices.Collect(hunger.Starved()), 2)
	require.NoError(t, hunger.Observe(seconds(1), []pools.Standing{other}))
	require.Equal(t, []pools.Starving{{Node: other.Node, OfFair: seconds(0)}}, slices.Collect(hunger.Starved()))
	require.NoError(t, hunger.Observe(seconds(2), []pools.Standing{s, other}))
	require.Equal(t, []pools.Starving{
		{Node: s.Node, OfFair: seconds(2)},
		{Node: other.Node, OfFair: seconds(0)},
	}, slices.Collect(hunger.Starved()))
	require.NoError(t, hunger.Observe(seconds(3), nil))
	require.Empty(t, slices.Collect(hunger.Starved()))
}

// The root has no other node to preempt.
func TestHunger_IsNotOfTheRoot(t *testing.T) {
	tree, err := pools.New[string](resources.Vector{100}, nil)
	require.NoError(t, err)
	job := addJob(t, tree, tree.Root(), "job", pools.Config{})
	want(t, tree, job, resources.Vector{plenty})
	var hunger pools.Hunger
	require.NoError(t, hunger.Observe(noon, tree.Standings()))
	require.Equal(t, []pools.Starving{{Node: job, OfFair: noon}}, slices.Collect(hunger.Starved()))
}

func TestHunger_RefusesBadInputAndKeepsItsState(t *testing.T) {
	s, other := standing(t)
	s.Wants, s.Fair = resources.Vector{90}, resources.Vector{50}
	other.Wants, other.Fair = resources.Vector{90}, resources.Vector{50}
	var hunger pools.Hunger
	require.ErrorIs(t, hunger.Observe(time.Time{}, nil), pools.ErrTime)
	require.NoError(t, hunger.Observe(seconds(10), []pools.Standing{s}))
	before := slices.Collect(hunger.Starved())

	err := hunger.Observe(seconds(9), []pools.Standing{other})
	require.ErrorIs(t, err, pools.ErrTime)
	require.ErrorContains(t, err, seconds(9).String())
	require.Equal(t, before, slices.Collect(hunger.Starved()))
	for _, factor := range []float64{-0.5, 1.5, math.NaN(), math.Inf(1), math.Inf(-1)} {
		hunger.Factor = factor
		require.ErrorIs(t, hunger.Observe(seconds(11), []pools.Standing{other}), pools.ErrFactor, "%v", factor)
		require.Equal(t, before, slices.Collect(hunger.Starved()))
	}
	hunger.Factor = 0
	require.NoError(t, hunger.Observe(seconds(10), []pools.Standing{s}), "the time of the last one that was good")
}

func TestHunger_ABodyMayObserve(t *testing.T) {
	s, other := standing(t)
	s.Wants, s.Fair = resources.Vector{90}, resources.Vector{50}
	other.Wants, other.Fair = resources.Vector{90}, resources.Vector{50}
	var hunger pools.Hunger
	require.NoError(t, hunger.Observe(noon, []pools.Standing{s, other}))
	var seen []pools.Node
	for starving := range hunger.Starved() {
		seen = append(seen, starving.Node)
		require.NoError(t, hunger.Observe(seconds(1), []pools.Standing{other, s}))
	}
	require.Equal(t, []pools.Node{s.Node, other.Node}, seen)
}

// During the life of a tree the starved nodes are those of the definition, since
// the first time in a row that it names them.
func TestHunger_AgreesWithTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := drawTree(t)
		var jobs []pools.Node
		for _, s := range tree.Standings() {
			if _, ok := tree.Wants(s.Node); ok {
				jobs = append(jobs, s.Node)
			}
		}
		factor := rapid.SampledFrom([]float64{0.5, 1, 0.25}).Draw(t, "factor")
		hunger := pools.Hunger{Factor: factor}
		since := make(map[pools.Node]pools.Starving)
		now := 1
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			now += rapid.IntRange(0, 5).Draw(t, "later")
			for _, job := range jobs {
				if held, ok := tree.Usage(job); ok && rapid.Bool().Draw(t, "changes") {
					require.NoError(t, tree.Credit(job, held))
					require.NoError(t, tree.Charge(job, resources.Vector{rapid.Int64Range(0, 50).Draw(t, "usage")}))
				}
			}
			all := tree.Standings()
			var want []pools.Starving
			for _, s := range all[1:] {
				var low, fair, lowOff, fairOff bool
				for k := range s.Usage {
					if more := s.Usage[k] < s.Wants[k]; more {
						low, lowOff = low || s.Min[k] > 0, lowOff || s.Min[k] > 0 && s.Usage[k] >= s.Min[k]
						fair, fairOff = true, fairOff || s.Usage[k]*4 >= s.Fair[k]*int64(4*factor)
					}
				}
				was, is := since[s.Node], pools.Starving{Node: s.Node}
				if low && !lowOff {
					if is.OfMin = was.OfMin; is.OfMin.IsZero() {
						is.OfMin = seconds(now)
					}
				}
				if fair && !fairOff {
					if is.OfFair = was.OfFair; is.OfFair.IsZero() {
						is.OfFair = seconds(now)
					}
				}
				since[s.Node] = is
				if low && !lowOff || fair && !fairOff {
					want = append(want, is)
				}
			}
			require.NoError(t, hunger.Observe(seconds(now), all))
			require.Equal(t, want, slices.Collect(hunger.Starved()))
		}
	})
}

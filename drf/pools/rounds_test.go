package pools_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf/pools"
)

func TestStandings_DivideInTheOrderOfAPool(t *testing.T) {
	byPriorityThenShare := func(a, b pools.Child) int {
		return cmp.Or(cmp.Compare(b.Priority(), a.Priority()), cmp.Compare(a.Share(), b.Share()))
	}
	byShareThenAge := func(a, b pools.Child) int {
		return cmp.Or(cmp.Compare(a.Share(), b.Share()), cmp.Compare(a.Seq(), b.Seq()))
	}
	lifo := func(a, b pools.Child) int { return cmp.Compare(b.Seq(), a.Seq()) }
	heaviest := func(a, b pools.Child) int { return cmp.Compare(b.Weight(), a.Weight()) }
	mostFirst := func(a, b pools.Child) int { return cmp.Compare(b.Usage()[0], a.Usage()[0]) }
	// Together they want more than the 100 there are.
	four := []sibling{
		{held: 5, more: 35, priority: 1},
		{held: 5, more: 45, priority: 2},
		{held: 30, more: plenty, priority: 1, weight: 2},
		{more: 30, priority: 2},
	}
	promised := slices.Clone(four)
	promised[3].low = 20
	tests := map[string]struct {
		order    pools.Order
		siblings []sibling
		fair     []int64
	}{
		"first come":                   {pools.FIFO, four, []int64{40, 50, 10, 0}},
		"min shares before that":       {pools.FIFO, promised, []int64{40, 40, 0, 20}},
		"priority, then first come":    {pools.Priority, four, []int64{20, 50, 0, 30}},
		"priority, then share":         {byPriorityThenShare, four, []int64{7, 50, 13, 30}}, // 20 as 1:2
		"priority, then share, of all": {byPriorityThenShare, []sibling{{more: plenty}, {more: 30, priority: 1}, {more: plenty, priority: 1}}, []int64{0, 30, 70}},
		"share, then first come":       {byShareThenAge, four, []int64{20, 20, 40, 20}},
		"last come":                    {lifo, four, []int64{0, 0, 70, 30}},
		"the heaviest first":           {heaviest, four, []int64{0, 0, 100, 0}},
		"the largest usage first":      {mostFirst, four, []int64{40, 50, 10, 0}}, // with none ahead, the first
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.fair, fairOf(standings(t, 100, tc.order, tc.siblings)))
		})
	}
}

// Under an Order that does not share, each child has its min share and as much of
// the rest as it wants.
func TestStandings_InRoundsEachGetsTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := drawTotal(t)
		siblings := drawSiblings(t, total)
		turns := make([]int, len(siblings))
		for i := range siblings {
			turns[i] = i
			siblings[i].priority = rapid.Int64Range(-1, 1).Draw(t, "priority")
		}
		order := pools.FIFO
		if rapid.Bool().Draw(t, "by priority") {
			order = pools.Priority
			slices.SortStableFunc(turns, func(a, b int) int { return cmp.Compare(siblings[b].priority, siblings[a].priority) })
		}
		all := standings(t, total, order, siblings)
		lows, _ := exactShares(total, siblings)
		left := total
		for i, s := range all {
			requireRounded(t, lows[i], s.Min[0], "min share of %d", i)
			left -= s.Min[0]
		}
		for _, i := range turns {
			more := min(left, all[i].Wants[0]-all[i].Min[0])
			require.Equal(t, all[i].Min[0]+more, all[i].Fair[0], "fair share of %d", i)
			left -= more
		}
	})
}

package locality_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
)

// Vector ME-P1, of Megha's matching: constraints and free CPU of a partition.
func TestConstraints_MeghaMatch(t *testing.T) {
	var attributes locality.Attributes
	cs := make([]locality.Constraint, 3)
	for i, bits := range []string{"11110000", "01011010", "00011111"} {
		name := fmt.Sprint("c", i+1)
		var err error
		cs[i], err = attributes.Register(locality.Exists(name))
		require.NoError(t, err)
		for n, b := range bits {
			if i == 0 {
				require.NoError(t, attributes.Describe(locality.Node(n), nil))
			}
			if b == '1' {
				require.NoError(t, attributes.Set(locality.Node(n), name, locality.Number(1)))
			}
		}
	}
	free := []int{4, 4, 4, 1, 4, 4, 4, 4}
	tests := map[string]struct {
		constraints []locality.Constraint
		cpu         int
		candidates  []locality.Node
		want        int // -1 for none
	}{
		"two, 1 cpu":   {cs[:2], 1, []locality.Node{1, 3}, 1},
		"two, 2 cpu":   {cs[:2], 2, []locality.Node{1, 3}, 1},
		"three, 2 cpu": {cs, 2, []locality.Node{3}, -1},
		"three, 1 cpu": {cs, 1, []locality.Node{3}, 3},
		"none, 4 cpu":  {nil, 4, []locality.Node{0, 1, 2, 3, 4, 5, 6, 7}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := attributes.Require(tt.constraints...)
			require.NoError(t, err)
			require.Equal(t, tt.candidates, slices.Collect(c.From(0)))
			got := -1
			for n := range c.From(0) {
				if free[n] >= tt.cpu {
					got = int(n)
					break
				}
			}
			require.Equal(t, tt.want, got)
		})
	}
}

// A machine is described in turn as one thing and as another, in eight respects. No
// reader ever finds a mixture. The goroutine that described it finds it as
// described, whether or not the sets are cached at the time.
func TestConstraints_AMachineIsSeenAsOfOneMoment(t *testing.T) {
	const nodes, respects, rounds = 700, 8, 20_000
	var attributes locality.Attributes
	var cs [2][]locality.Constraint
	var as [2]map[string]locality.Value
	var always []locality.Constraint // between the others, so that a reader takes its time
	for j, s := range []string{"left", "right"} {
		as[j] = map[string]locality.Value{}
		if j == 1 {
			for i := range respects {
				c, err := attributes.Register(locality.Exists(fmt.Sprint("a", i)))
				require.NoError(t, err)
				always = append(always, c)
			}
		}
		for i := range respects {
			name := fmt.Sprint("a", i)
			c, err := attributes.Register(locality.Equal(name, locality.Text(s)))
			require.NoError(t, err)
			cs[j] = append(cs[j], c)
			as[j][name] = locality.Text(s)
		}
	}
	for n := range locality.Node(nodes) {
		require.NoError(t, attributes.Describe(n, as[1]))
	}
	var is [2]*locality.Constraints
	mixed := make([]*locality.Constraints, respects)
	for j := range is {
		var err error
		is[j], err = attributes.Require(cs[j]...)
		require.NoError(t, err)
	}
	for i := range mixed {
		var err error
		// Left in one respect and right in another.
		mixed[i], err = attributes.Require(append([]locality.Constraint{cs[0][i], cs[1][(i+3)%respects]}, always...)...)
		require.NoError(t, err)
	}

	var writer, readers sync.WaitGroup
	stop := make(chan struct{})
	writer.Go(func() {
		for round := range rounds {
			if round%50 == 0 { // all of them, some or none
				for _, set := range cs {
					if _, err := attributes.Require(set...); err != nil {
						t.Errorf("require: %v", err)
					}
				}
				attributes.Cache(round / 50 % 4 * 4)
			}
			n, now := locality.Node(round%3), round/3%2
			if err := attributes.Describe(n, as[now]); err != nil {
				t.Errorf("describe: %v", err)
				return
			}
			first, _ := is[now].First(n)
			if first != n || !is[now].Has(n) || is[1-now].Has(n) {
				t.Errorf("round %d: node %d is not found as it was just described", round, n)
				return
			}
		}
	})
	for r := range 2 {
		readers.Go(func() {
			for i := r; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				never := mixed[i%respects]
				for n := range never.From(70) {
					t.Errorf("node %d is left in one respect and right in another", n)
					return
				}
				if k := never.Count(); k > 0 {
					t.Errorf("%d nodes are left in one respect and right in another", k)
					return
				}
				if n, ok := never.First(2); ok {
					t.Errorf("node %d is left in one respect and right in another", n)
					return
				}
				is[i/2%2].Count() // so that it is kept, if cached
			}
		})
	}
	writer.Wait()
	close(stop)
	readers.Wait()
	require.Equal(t, nodes, is[0].Count()+is[1].Count())
}

func TestCache_KeepsTheSetsRequiredMost(t *testing.T) {
	var attributes locality.Attributes
	var cs []locality.Constraint
	for i := range 4 {
		c, err := attributes.Register(locality.Greater("x", int64(i)))
		require.NoError(t, err)
		cs = append(cs, c)
	}
	want := func(times int, members ...locality.Constraint) {
		for range times {
			_, err := attributes.Require(members...)
			require.NoError(t, err)
		}
	}
	require.Zero(t, attributes.Cache(9), "nothing was required")
	want(9, cs[0])
	want(9)
	require.Zero(t, attributes.Cache(9), "one constraint, or none, is no intersection")
	want(2, cs[0], cs[1])
	want(8, cs[1], cs[2])
	want(1, cs[3], cs[2], cs[1])
	require.Equal(t, 2, attributes.Cache(2))
	require.Equal(t, 2, attributes.Cache(9), "a set that was required once is forgotten")
	require.Equal(t, 1, attributes.Cache(9), "and a set that was required twice, later")
	require.Equal(t, 1, attributes.Cache(9))
	require.Zero(t, attributes.Cache(9))
	want(1, cs[1], cs[2])
	require.Equal(t, 1, attributes.Cache(1))
	require.Zero(t, attributes.Cache(0))
	require.Zero(t, attributes.Cache(-1))
}

func TestConstraints_AreReadAndChangedWithoutAllocating(t *testing.T) {
	attributes, sets := fleet(t, 5000, 2)
	need, err := attributes.Require(sets[0]...)
	require.NoError(t, err)
	words := need.Words(nil)
	ranking, err := need.Prefer(locality.Preference{Constraint: 3, Worth: 2}, locality.Preference{Constraint: 4, Worth: 1})
	require.NoError(t, err)
	i := int64(0)
	for cached := range 2 {
		require.Equal(t, cached, attributes.Cache(cached))
		require.Zero(t, testing.AllocsPerRun(100, func() {
			need.First(4000)
			need.Has(17)
			need.Count()
			words = need.Words(words)
			for n := range need.From(77) {
				if n > 1000 {
					break
				}
			}
			for range ranking.From(77) {
				break
			}
			_, _ = attributes.Require(sets[0]...)
			i++
			_ = attributes.Set(17, "a0", locality.Number(i%100))
		}))
	}
}

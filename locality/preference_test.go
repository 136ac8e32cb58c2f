package locality_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
)

// The order by its definition: sort by worth, and among equals by how far after
// the start.
func TestRanking_IsByWorthAndThenFromTheStart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var attributes locality.Attributes
		const kinds = locality.MaxPreferences + 1
		cs := make([]locality.Constraint, kinds)
		for k := range cs {
			var err error
			cs[k], err = attributes.Register(locality.Exists(fmt.Sprint("a", k)))
			require.NoError(t, err)
		}
		nodes := rapid.IntRange(0, 150).Draw(t, "nodes")
		has := make([]uint8, nodes)
		for n := range has {
			values := map[string]locality.Value{}
			has[n] = rapid.Uint8().Draw(t, "has")
			for k := range cs {
				if has[n]>>k&1 == 1 {
					values[fmt.Sprint("a", k)] = locality.Number(0)
				}
			}
			require.NoError(t, attributes.Describe(locality.Node(n), values))
		}
		// The last is what is required, of the others some are preferred, one
		// perhaps several times.
		need, err := attributes.Require(cs[kinds-1])
		require.NoError(t, err)
		var preferences []locality.Preference
		for range rapid.IntRange(0, locality.MaxPreferences).Draw(t, "preferences") {
			preferences = append(preferences, locality.Preference{
				Constraint: rapid.SampledFrom(cs[:kinds-1]).Draw(t, "constraint"),
				Worth:      rapid.Int64Range(-3, 3).Draw(t, "worth"),
			})
		}
		ranking, err := need.Prefer(preferences...)
		require.NoError(t, err)

		start := rapid.IntRange(0, nodes+70).Draw(t, "start")
		worth := func(n locality.Node) (sum int64) {
			for _, p := range preferences {
				if has[n]>>p.Constraint&1 == 1 {
					sum += p.Worth
				}
			}
			return sum
		}
		var want []locality.Node
		for i := range nodes {
			if n := (min(start, nodes) + i) % nodes; has[n]>>(kinds-1)&1 == 1 {
				want = append(want, locality.Node(n))
			}
		}
		slices.SortStableFunc(want, func(a, b locality.Node) int { return int(worth(b) - worth(a)) })
		require.Equal(t, want, slices.Collect(ranking.From(locality.Node(start))))
		for n := range locality.Node(nodes) {
			got, ok := ranking.Worth(n)
			require.Equal(t, slices.Contains(want, n), ok)
			if ok {
				require.Equal(t, worth(n), got)
			}
		}
	})
}

func TestPrefer_NamesTheCulprit(t *testing.T) {
	var attributes locality.Attributes
	need, err := attributes.Require()
	require.NoError(t, err)
	_, err = attributes.Register(locality.Exists("ssd"))
	require.NoError(t, err)
	tests := map[string]struct {
		preferences []locality.Preference
		text        string
	}{
		"too many":           {make([]locality.Preference, 7), "locality: 7 preferences, want at most 6"},
		"unknown constraint": {[]locality.Preference{{0, 1}, {4, 1}}, "locality: prefer constraint 4, want less than 1: no such constraint"},
		"worth too much":     {[]locality.Preference{{0, 1<<40 + 1}}, "locality: preference of constraint 0 is worth 1099511627777, want -1099511627776 to 1099511627776"},
		"worth too little":   {[]locality.Preference{{0, math.MinInt64}}, "worth -9223372036854775808"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := need.Prefer(tt.preferences...)
			require.ErrorContains(t, err, tt.text)
		})
	}
	_, err = need.Prefer(locality.Preference{Constraint: 1})
	require.ErrorIs(t, err, locality.ErrConstraint)
}

// The zero Constraints were made by no Attributes, so no machine meets them.
func TestConstraints_ZeroIsMetByNone(t *testing.T) {
	var need locality.Constraints
	require.False(t, need.Has(0))
	require.Zero(t, need.Count())
	require.Empty(t, need.Words(nil))
	require.Empty(t, slices.Collect(need.From(7)))
	_, ok := need.First(7)
	require.False(t, ok)

	_, err := need.Prefer(locality.Preference{})
	require.EqualError(t, err, "locality: prefer constraint 0, want less than 0: no such constraint")
	made, err := need.Prefer()
	require.NoError(t, err)
	for _, ranking := range []*locality.Ranking{new(locality.Ranking), made} {
		require.Empty(t, slices.Collect(ranking.From(7)))
		_, ok := ranking.Worth(0)
		require.False(t, ok)
	}
}

func BenchmarkRanking(b *testing.B) {
	const nodes = 50_000
	attributes, sets := fleet(b, nodes, 2)
	need, err := attributes.Require(sets[0]...)
	require.NoError(b, err)
	for _, k := range []int{1, 3, locality.MaxPreferences} {
		var preferences []locality.Preference
		for i := range k {
			preferences = append(preferences, locality.Preference{Constraint: locality.Constraint(i), Worth: 1 << i})
		}
		ranking, err := need.Prefer(preferences...)
		require.NoError(b, err)
		b.Run(fmt.Sprintf("op=best/machines=%d/preferences=%d", nodes, k), func(b *testing.B) {
			b.ReportAllocs()
			start := locality.Node(0)
			for b.Loop() {
				start = (start + 7919) % nodes
				for range ranking.From(start) {
					break
				}
			}
		})
		b.Run(fmt.Sprintf("op=all/machines=%d/preferences=%d", nodes, k), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for range ranking.From(0) {
				}
			}
		})
	}
}

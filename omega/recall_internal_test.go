package omega

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/resources"
)

// Whatever a scheduler claims, it gets the record of just that.
func TestRecall_RecordIsOfTheClaim(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r recall
		tallies := []*tally{{}, {}, {account: 1}, {account: 1, precedence: -3}}
		grantees := []uint64{0, 0, 1, 2}
		quantity := rapid.OneOf(rapid.Int64Range(0, 2), rapid.Int64Range(0, resources.MaxQuantity))
		for range rapid.IntRange(1, 500).Draw(t, "claims") {
			var need resources.Vector
			for k := range need {
				need[k] = quantity.Draw(t, "quantity")
			}
			of := rapid.SampledFrom(tallies).Draw(t, "tally")
			grantee := rapid.SampledFrom(grantees).Draw(t, "grantee")
			rec := r.record(&need, of, grantee)
			require.Equal(t, need, rec.need)
			require.Same(t, of, rec.tally)
			require.Equal(t, grantee, rec.grantee)
			require.Same(t, rec, r.record(&need, of, grantee), "what was made last is found")
		}
	})
}

// Needs that come again and again come to share records, also in the order that
// is worst for a table of pairs, and the table does not grow for a few.
func TestRecall_GrowsWithTheNeeds(t *testing.T) {
	for _, test := range []struct{ needs, most, percent int }{
		{20, recallFirst, 95}, {1000, 2048, 90}, {10_000, recallMost, 60}, {100_000, recallMost, 0},
	} {
		var r recall
		tallies := [5]tally{} // that a few accounts share the needs makes no difference
		for i := range tallies {
			tallies[i].account = Account(i)
		}
		again := 0
		seen := make(map[*record]bool)
		for round := range 20 {
			for i := range test.needs {
				rec := r.record(&resources.Vector{int64(100 * i % 4000), int64(i / 40), 1}, &tallies[i%5], 0)
				if round == 19 && seen[rec] {
					again++
				}
				seen[rec] = true
			}
		}
		require.LessOrEqual(t, len(r.pairs), test.most, "%d needs", test.needs)
		require.GreaterOrEqual(t, again, test.needs*test.percent/100, "%d needs", test.needs)
	}
}

// Now and then a claim that is like no other is no reason to grow.
func TestRecall_StaysShortForFew(t *testing.T) {
	var r recall
	of := [3]tally{{account: 1}, {account: 2}, {account: 3}}
	for i := range 200_000 {
		need := resources.Vector{int64(i % 10)}
		if i%100 == 0 {
			need[1] = int64(i)
		}
		r.record(&need, &of[i%3], 0)
	}
	require.Len(t, r.pairs, recallFirst)
}

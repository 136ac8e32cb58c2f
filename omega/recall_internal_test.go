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
		tallies := []*tally{{}, {}}
		quantity := rapid.OneOf(rapid.Int64Range(0, 2), rapid.Int64Range(0, int64(resources.MaxQuantity)))
		for range rapid.IntRange(1, 500).Draw(t, "claims") {
			var need resources.Vector
			for k := range need {
				need[k] = quantity.Draw(t, "quantity")
			}
			of := rapid.SampledFrom(tallies).Draw(t, "tally")
			rec := r.record(&need, of)
			require.Equal(t, need, rec.need)
			require.Same(t, of, rec.tally)
			require.Same(t, rec, r.record(&need, of), "what was made last is found")
		}
	})
}

// Needs that come again and again come to share records, if they are not many
// more than the table may hold, and the table does not grow for a few.
func TestRecall_GrowsWithTheNeeds(t *testing.T) {
	for _, test := range []struct{ needs, most int }{{20, recallFirst}, {1000, 2048}, {10_000, recallMost}, {100_000, recallMost}} {
		var r recall
		var of tally
		again := 0
		seen := make(map[*record]bool)
		for round := range 20 {
			for i := range test.needs {
				rec := r.record(&resources.Vector{int64(100 * i % 4000), int64(i / 40), 1}, &of)
				if round == 19 && seen[rec] {
					again++
				}
				seen[rec] = true
			}
		}
		require.LessOrEqual(t, len(r.pairs), test.most, "%d needs", test.needs)
		if test.needs <= recallMost*3/2 {
			require.Greater(t, again, test.needs*9/10, "%d needs", test.needs)
		}
	}
}

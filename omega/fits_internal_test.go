package omega

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// A search and a commit agree on the fit of a need, for all amounts, invalid ones
// included, in each kind.
func TestIndex_FitsAsACommitDoes(t *testing.T) {
	edges := []int64{
		math.MinInt64, math.MinInt64 + 1, -1, 0, 1, 2,
		resources.MaxQuantity - 1, resources.MaxQuantity, resources.MaxQuantity + 1, math.MaxInt64 - 1, math.MaxInt64,
	}
	backgrounds := map[string]struct{ need, free resources.Vector }{
		"none":   {resources.Vector{}, resources.Vector{}},
		"some":   {resources.Uniform(1), resources.Uniform(2)},
		"closed": {resources.Vector{}, closed},
	}
	for name, back := range backgrounds {
		for k := range resources.MaxKinds {
			for _, n := range edges {
				for _, f := range edges {
					need, free := back.need, back.free
					need[k], free[k] = n, f
					want := resources.Fits(&need, &free)
					_, commits := free.Sub(need)
					require.Equal(t, want, commits, "%s: kind %d: %d in %d", name, k, n, f)

					sparse := makeSparse(&need)
					require.Equal(t, want, sparse.fits(&free), "%s: kind %d: %d in %d", name, k, n, f)
					var x index
					x.grow(1)
					x.raise(0, &free)
					require.Equal(t, want, x.next([]resources.Vector{free}, &sparse, 0, 1) == 0, "%s: kind %d: %d in %d", name, k, n, f)
				}
			}
		}
	}
}

package omega

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/resources"
)

// After any changes, in any kinds, the index finds the same first machine as a scan of
// all, from any machine and up to any other.
func TestIndex_PassesByNoRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4*indexBlock).Draw(t, "machines")
		var x index
		x.grow(n)
		free := make([]resources.Vector, n)
		for i := range free {
			free[i] = closed
		}
		vector := func(t *rapid.T, most int64) (v resources.Vector) {
			for _, k := range []int{0, 2, 3, 7} {
				if rapid.Bool().Draw(t, "has") {
					v[k] = rapid.Int64Range(0, most).Draw(t, "amount")
				}
			}
			return v
		}
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				i := rapid.IntRange(0, n-1).Draw(t, "machine")
				if free[i] = vector(t, 1000); rapid.IntRange(0, 4).Draw(t, "state") == 0 {
					free[i] = closed
				}
				x.raise(i, &free[i])
			},
			"take": func(t *rapid.T) {
				i := rapid.IntRange(0, n-1).Draw(t, "machine")
				if need := vector(t, 100); resources.Fits(&need, &free[i]) {
					sub(&free[i], &need)
					x.lower(i)
				}
			},
			"": func(t *rapid.T) {
				v := vector(t, 1000)
				need := makeSparse(&v)
				from := rapid.IntRange(0, n).Draw(t, "from")
				end := rapid.IntRange(from, n).Draw(t, "end")
				want := from
				for want < end && !resources.Fits(&v, &free[want]) {
					want++
				}
				require.Equal(t, want, x.next(free, &need, from, end))
			},
		})
	})
}

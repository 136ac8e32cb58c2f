package quincy

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// It is a map, whatever the numbers are, and takes no more room than promised.
func TestNumbered_IsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m numbered[Rack, int32]
		model, most := map[Rack]int32{}, 0
		number := rapid.OneOf(rapid.Uint32Range(0, 200), rapid.Uint32())
		for range rapid.IntRange(0, 60).Draw(t, "sets") {
			k, v := Rack(number.Draw(t, "number")), rapid.Int32Range(0, 3).Draw(t, "value")
			m.set(k, v)
			if model[k] = v; v == 0 {
				delete(model, k)
			}
			most = max(most, len(model))
			require.Equal(t, len(model), m.n)
			require.LessOrEqual(t, len(m.near), 8*most+64)
			for k, v := range model {
				require.Equal(t, v, m.get(k))
			}
			require.Zero(t, m.get(Rack(number.Filter(func(n uint32) bool { return model[Rack(n)] == 0 }).Draw(t, "other"))))
		}
	})
}

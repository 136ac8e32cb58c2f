package keys_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/keys"
)

func TestFindable_RefusesUnusableMapKeys(t *testing.T) {
	type pair struct {
		name string
		more any
	}
	require.True(t, keys.Findable(1))
	require.True(t, keys.Findable(""))
	require.True(t, keys.Findable(math.Inf(1)))
	require.True(t, keys.Findable([2]int{1, 2}))
	require.False(t, keys.Findable(math.NaN()))
	require.False(t, keys.Findable([2]float64{1, math.NaN()}))
	for _, key := range []any{nil, 1, "a", pair{"a", 1}, pair{}, &pair{}, (*pair)(nil), make(chan int)} {
		require.True(t, keys.Findable(key), "%T", key)
	}
	for _, key := range []any{[]int{}, []int(nil), map[int]int{}, func() {}, math.NaN(), pair{"a", []int{}}, [1]any{math.NaN()}} {
		require.False(t, keys.Findable(key), "%T", key)
	}
	require.False(t, keys.Findable(pair{"a", func() {}}))

	require.Zero(t, testing.AllocsPerRun(100, func() { keys.Findable(uint64(7)) }))
	require.Zero(t, testing.AllocsPerRun(100, func() { keys.Findable("a") }))
}

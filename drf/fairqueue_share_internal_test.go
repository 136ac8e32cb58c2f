package drf

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/resources"
)

// A share is the need by the total, rounded up, exactly.
func TestFairQueue_SharesAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := func(name string) int64 { return int64(1) << rapid.IntRange(0, 62).Draw(t, name) }
		total := rapid.Int64Range(1, bits("total bits")).Draw(t, "total")
		need := rapid.Int64Range(0, min(total, bits("need bits"))).Draw(t, "need")
		if rapid.Bool().Draw(t, "even part") { // quotients that are whole, or nearly
			parts := int64(1) << rapid.IntRange(0, 32).Draw(t, "parts")
			need = min(total, max(0, total/parts*rapid.Int64Range(0, parts).Draw(t, "of them")+rapid.Int64Range(-1, 1).Draw(t, "off")))
		}
		q, err := NewFairQueue(resources.Vector{1: total})
		require.NoError(t, err)
		want := new(big.Int).Lsh(big.NewInt(need), shareBits)
		want.Add(want, big.NewInt(total-1))
		want.Div(want, big.NewInt(total))
		require.Equal(t, want.Int64(), q.share(1, need))
	})
}

package load_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/peers/internal/load"
)

func seeded() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func TestMixed_RepeatsWithTheSeedAndStaysInItsRanges(t *testing.T) {
	needs := load.Mixed(seeded(), 1000)
	require.Equal(t, needs, load.Mixed(seeded(), 1000))
	gpus := 0
	for _, n := range needs {
		require.True(t, 100 <= n[0] && n[0] <= 4_000 && 128 <= n[1] && n[1] <= 8_192, "%v", n)
		require.True(t, 0 <= n[2] && n[2] <= 400, "%v", n)
		if n[2] > 0 {
			gpus++
		}
	}
	require.InDelta(t, 250, gpus, 50)
}

func TestCapacity_IsFilledToTheShare(t *testing.T) {
	const machines = 10
	needs := load.Tailed(seeded(), 10_000)
	var sum load.Need
	for _, n := range needs {
		for k, q := range n {
			sum[k] += q
		}
	}
	capacity := load.Capacity(needs, machines, 0.85)
	require.InEpsilon(t, 0.85, float64(sum[0])/float64(machines*capacity[0]), 0.001)
	require.InEpsilon(t, 0.85, float64(sum[1])/float64(machines*capacity[1]), 0.001)
	require.InEpsilon(t, 0.85*0.7, float64(sum[2])/float64(machines*capacity[2]), 0.001)
}

package drf_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// Of two seats that call Hold at the same moment one holds, whether or not a dead
// seat held before.
func TestGate_OneOfTwoHolds(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	const rounds = 200_000
	_, seats := newGate(t, resources.Vector{100}, 3)
	dead := seats[2]
	require.True(t, ask(t, dead, resources.Vector{1}, clock(0)))
	for _, s := range seats[:2] {
		require.True(t, ask(t, s, resources.Vector{1}, clock(5000)))
	}
	var arrived [2]atomic.Int64
	var holds [2][]bool
	var wg sync.WaitGroup
	for i := range holds {
		holds[i] = make([]bool, rounds)
		wg.Go(func() {
			mine, other := &arrived[i], &arrived[1-i]
			meet := func() {
				n := mine.Add(1)
				for spins := 0; other.Load() < n; spins++ {
					if spins > 50 {
						runtime.Gosched()
					}
				}
			}
			for round := range rounds {
				if i == 0 && round%2 == 0 {
					dead.Hold(9, clock(0))
				}
				meet()
				holds[i][round] = seats[i].Hold(uint32(i), clock(5000))
				meet()
				seats[i].LetGo()
				meet()
			}
		})
	}
	wg.Wait()
	for round := range rounds {
		require.NotEqual(t, holds[0][round], holds[1][round], "round %d", round)
	}
}

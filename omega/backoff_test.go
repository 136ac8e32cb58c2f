package omega_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega"
)

// A wait doubles with each failure in a row, within its bounds, also where twice as much
// would overflow.
func TestBackoff_DoublesUpToItsMost(t *testing.T) {
	b := omega.Backoff{Min: time.Second, Max: 10 * time.Second}
	for failures, want := range []time.Duration{1, 1, 2, 4, 8, 10, 10} {
		require.Equal(t, want*time.Second, b.After(failures), failures)
	}
	b = omega.Backoff{Min: 3, Max: math.MaxInt64}
	require.Equal(t, time.Duration(math.MaxInt64), b.After(1000))
	require.Zero(t, (&omega.Backoff{}).After(5))
	require.Zero(t, (*omega.Backoff)(nil).After(5))
}

// With a source of randomness the wait is at least half of the wait without one, and no
// longer than it.
func TestBackoff_JittersWithinHalf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		least := time.Duration(rapid.Int64Range(0, 1<<40).Draw(t, "min"))
		b := omega.Backoff{Min: least, Max: least + time.Duration(rapid.Int64Range(0, 1<<50).Draw(t, "more"))}
		n := rapid.IntRange(0, 70).Draw(t, "failures")
		whole := b.After(n)
		b.Rand = rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed")))
		got := b.After(n)
		require.LessOrEqual(t, got, whole)
		require.GreaterOrEqual(t, got, whole/2)
	})
}

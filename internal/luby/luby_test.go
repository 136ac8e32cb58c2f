package luby_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/luby"
)

// The sequence is that of section 3 of the paper.
func TestLength_IsThatOfThePaper(t *testing.T) {
	want := []time.Duration{1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8, 1, 1, 2}
	for i, units := range want {
		require.Equal(t, units*time.Second, luby.Length(time.Second, i), i)
	}
}

// The first trial of 2^k units, and what all up to it take.
func TestLength_IsLongEnoughInTime(t *testing.T) {
	sum, k := time.Duration(0), 0
	for i := range 1<<12 - 1 {
		length := luby.Length(1, i)
		if sum += length; length == 1<<k {
			require.Equal(t, 1<<(k+1)-1, i+1)
			require.Equal(t, time.Duration(k+1)<<k, sum)
			k++
		}
		require.Less(t, length, time.Duration(1<<k), "none is skipped")
	}
	require.Equal(t, 12, k)
}

func TestLength_IsBounded(t *testing.T) {
	require.Equal(t, luby.Longest, luby.Length(math.MaxInt64, 0))
	require.Equal(t, luby.Longest, luby.Length(luby.Longest/3, 6))
	require.Equal(t, luby.Longest, luby.Length(luby.Longest, 0))
}

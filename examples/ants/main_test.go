package main

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// The clock is that of the bubble. Without turns the small tenants are done last, with
// turns long before the large one.
func TestRun_EndsTheSmallTenantsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alone, err := run(t.Context(), nil, 0)
		require.NoError(t, err)
		turns, err := run(t.Context(), nil, 6)
		require.NoError(t, err)
		for _, small := range []string{"web", "mail"} {
			require.GreaterOrEqual(t, alone[small], alone["bulk"])
			require.Less(t, turns[small], turns["bulk"]/2)
		}
	})
}

func TestRun_EndsAllTasksOfEachTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, limit := range []int64{0, 1, 6} {
			done, err := run(t.Context(), nil, limit)
			require.NoError(t, err)
			require.Len(t, done, len(tenants))
		}
	})
}

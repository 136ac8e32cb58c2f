package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun_EndsAllTasksOfEachTenant(t *testing.T) {
	for _, limit := range []int64{0, 1, 6} {
		done, err := run(t.Context(), nil, limit)
		require.NoError(t, err)
		require.Len(t, done, len(tenants))
	}
}

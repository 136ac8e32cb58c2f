package main

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestLoad_RunsMoreTasksWhereLeasesShrink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, few, some, err := load(t.Context(), nil, false)
		require.NoError(t, err)
		require.Equal(t, int64(room/largest), few)
		fast, many, more, err := load(t.Context(), nil, true)
		require.NoError(t, err)
		require.Greater(t, many, few)
		require.Greater(t, more, some)
		require.LessOrEqual(t, more, int64(room))
		require.Less(t, fast, slow)
	})
}

package resources_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

func TestHost_ReturnsTheLimitsOfThisProcess(t *testing.T) {
	host, err := resources.Host()
	require.NotNil(t, host.Space)
	require.Equal(t, 2, host.Space.Kinds())
	cpu, ok := host.Space.Kind("cpu")
	require.True(t, ok)
	memory, ok := host.Space.Kind("memory")
	require.True(t, ok)
	require.Equal(t, int64(runtime.GOMAXPROCS(0))*1000, host.Vector[cpu], "filled in with or without an error")
	require.NoError(t, host.Vector.Check())

	if errors.Is(err, errors.ErrUnsupported) {
		require.Zero(t, host.Vector[memory])
		return
	}
	require.NoError(t, err)
	require.Positive(t, host.Vector[memory])

	again, err := resources.Host()
	require.NoError(t, err)
	require.Same(t, host.Space, again.Space)
}

func TestHost_FollowsGOMAXPROCS(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))

	host, err := resources.Host()
	if !errors.Is(err, errors.ErrUnsupported) {
		require.NoError(t, err)
	}
	require.Equal(t, int64(3000), host.Vector[0])
}

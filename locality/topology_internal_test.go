package locality

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// After 2^31 groups have come, numbers are used again, those that groups have
// left out.
func TestTopology_NumbersOfGroupsComeRound(t *testing.T) {
	topology, err := New(Config{Nodes: []string{"a", "b"}})
	require.NoError(t, err)
	require.NoError(t, topology.Add(2, "gone"))
	require.NoError(t, topology.Remove(2))
	topology.last = maxGroup - 1
	var numbers []uint32
	for i, name := range []string{"last", "next", "after"} {
		n := Node(2 + i)
		require.NoError(t, topology.Add(n, name))
		numbers = append(numbers, topology.Group(n, RackLocal))
	}
	require.Equal(t, []uint32{maxGroup - 1, 2, 3}, numbers)
	require.Equal(t, []uint32{0, 1}, []uint32{topology.Group(0, RackLocal), topology.Group(1, RackLocal)})
}

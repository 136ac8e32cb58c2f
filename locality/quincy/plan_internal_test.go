package quincy

import (
	"testing"

	"github.com/stretchr/testify/require"

	net "github.com/cellsched/cellsched/internal/slots"
)

// odd is a planner with a running task. Its net holds two options that lead to the
// same machine, which no call of the planner makes.
func odd(t *testing.T, verify bool) *Planner[string, int] {
	t.Helper()
	p, err := New[string](Config[int]{Verify: verify, Arcs: func(arcs []Arc, _ int, _ State, _ int64) []Arc {
		return append(arcs, Arc{To: OnMachine(1), Cost: 1})
	}})
	require.NoError(t, err)
	require.NoError(t, p.AddMachine(Machine{Node: 1, Slots: 2}))
	require.NoError(t, p.AddJob("j", 0, 2))
	require.NoError(t, p.AddTask(0, "j", 0))
	_, err = p.Plan(t.Context(), 0)
	require.NoError(t, err)
	at := p.machineAt.get(1)
	p.net.SetOptions(p.numbers[0], []net.Option{{Base: 1, At: at}, {Base: 2, At: at}})
	return p
}

func TestPlan_IsProvedIfConfigured(t *testing.T) {
	_, err := odd(t, false).Plan(t.Context(), 0)
	require.NoError(t, err)
	_, err = odd(t, true).Plan(t.Context(), 0)
	require.ErrorIs(t, err, ErrNotOptimal)
}

// A task that a plan has followed is not looked at by the next one.
func TestPlan_ForgetsFollowedTasks(t *testing.T) {
	p := odd(t, false)
	require.Empty(t, p.net.Touched())
	require.NoError(t, p.AddTask(1, "j", 0))
	_, err := p.Plan(t.Context(), 0)
	require.NoError(t, err)
	require.Empty(t, p.net.Touched())
}

// Racks that come and go leave nothing behind.
func TestRacks_AreForgotten(t *testing.T) {
	p, err := New[string](Config[int]{Arcs: func(arcs []Arc, _ int, _ State, _ int64) []Arc { return arcs }})
	require.NoError(t, err)
	for rack := range Rack(1000) {
		require.NoError(t, p.AddMachine(Machine{Node: 3, Rack: rack << 20, Slots: 1}))
		require.NoError(t, p.RemoveMachine(3, 0))
	}
	require.Equal(t, 2, p.net.Len(), "the sink and the cluster")
	require.Len(t, p.racks.all, 1)
	require.Len(t, p.targets, 4)
	require.Empty(t, p.rackAt.far)
	require.Empty(t, p.racks.at.far)
}

package quincy_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

func TestTarget_NamesItsKind(t *testing.T) {
	tests := map[string]struct {
		target        quincy.Target
		machine, rack bool
	}{
		"cluster":     {quincy.Cluster(), false, false},
		"unscheduled": {quincy.Unscheduled(), false, false},
		"machine":     {quincy.OnMachine(7), true, false},
		"rack":        {quincy.InRack(7), false, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			n, ok := tt.target.Machine()
			require.Equal(t, tt.machine, ok)
			require.True(t, !ok || n == 7)
			rack, ok := tt.target.Rack()
			require.Equal(t, tt.rack, ok)
			require.True(t, !ok || rack == 7)
		})
	}
}

// A machine without a slot keeps no task, and is there again when it has one.
func TestSetSlots_ToNoneForAWhile(t *testing.T) {
	p, err := quincy.New[string](quincy.Config[int]{Verify: true, Arcs: func(arcs []quincy.Arc, _ int, _ quincy.State, _ int64) []quincy.Arc {
		return append(arcs, quincy.Arc{To: quincy.OnMachine(4)}, quincy.Arc{To: quincy.Unscheduled(), Cost: 9})
	}})
	require.NoError(t, err)
	require.NoError(t, p.AddMachine(quincy.Machine{Node: 4, Slots: 2}))
	require.NoError(t, p.AddJob("j", 0, 9))
	require.NoError(t, p.AddTask(1, "j", 0))
	for now, slots := range []int{2, 0, 1} {
		require.NoError(t, p.SetSlots(4, slots))
		plan, err := p.Plan(context.Background(), int64(now))
		require.NoError(t, err)
		require.Len(t, plan.Changes, 1)
		n, ok := p.Placed(1)
		require.Equal(t, slots > 0, ok)
		require.True(t, !ok || n == locality.Node(4))
	}
}

package quincy_test

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// Three tasks have to run and one slot is left: the plan before stays.
func TestPlan_ThatCannotBeLeavesTheLastOne(t *testing.T) {
	b := newBench(t, quincy.DataCosts{Core: 1, Rack: 1, Wait: 1, Unscheduled: 10})
	b.addMachine(t, 0, 2)
	b.addMachine(t, 1, 1)
	require.NoError(t, b.p.AddJob("j", 3, 3))
	b.shares["j"] = [2]int{3, 3}
	for range 3 {
		b.addTask(t, "j", nil)
	}
	b.plan(t)
	require.Len(t, b.placed, 3)
	require.NoError(t, b.p.SetSlots(0, 1))
	_, err := b.p.Plan(t.Context(), 1)
	require.ErrorIs(t, err, quincy.ErrInfeasible)
	for task, n := range b.placed {
		on, ok := b.p.Placed(task)
		require.True(t, ok)
		require.Equal(t, n, on)
	}
	require.NoError(t, b.p.SetSlots(0, 2))
	b.now = 2
	b.plan(t)
	require.Len(t, b.placed, 3)
}

// A machine is not removed if its tasks could have no arcs without it.
func TestRemoveMachine_ThatIsNeededStays(t *testing.T) {
	p, err := quincy.New[string](quincy.Config[int]{Arcs: func(arcs []quincy.Arc, _ int, _ quincy.State, _ int64) []quincy.Arc {
		return append(arcs, quincy.Arc{To: quincy.OnMachine(4)})
	}})
	require.NoError(t, err)
	require.NoError(t, p.AddMachine(quincy.Machine{Node: 4, Slots: 1}))
	require.NoError(t, p.AddJob("j", 0, 1))
	require.NoError(t, p.AddTask(0, "j", 0))
	_, err = p.Plan(t.Context(), 0)
	require.NoError(t, err)
	require.ErrorIs(t, p.RemoveMachine(4, 1), quincy.ErrUnknown)
	on, ok := p.Placed(0)
	require.True(t, ok)
	require.Equal(t, locality.Node(4), on)
}

// A plan that is cancelled leaves everything where it was, and the next one says
// all that has changed since the last that was not.
func TestPlan_ThatIsCancelledChangesNothing(t *testing.T) {
	b := newBench(t, quincy.DataCosts{Core: 1, Rack: 1, Unscheduled: 10})
	b.addMachine(t, 0, 2)
	b.addMachine(t, 1, 2)
	require.NoError(t, b.p.AddJob("j", 0, 9))
	b.addTask(t, "j", nil)
	b.addTask(t, "j", nil)
	b.plan(t)
	before := maps.Clone(b.placed)

	cause := errors.New("too late")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	for range 3 {
		b.addTask(t, "j", nil)
		_, err := b.p.Plan(ctx, b.now)
		require.ErrorIs(t, err, cause)
		for task := range b.tasks {
			on, ok := b.p.Placed(task)
			was, ran := before[task]
			require.Equal(t, ran, ok)
			require.Equal(t, was, on)
		}
	}
	b.plan(t)
	require.Len(t, b.placed, 4)
}

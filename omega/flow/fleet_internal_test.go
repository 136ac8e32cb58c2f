package flow

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// newFleet returns machines of these capacities, all free, and slots of one unit.
func newFleet(sizes ...int64) *fleet[int, int] {
	f := &fleet[int, int]{
		cfg:  &Config[int]{Slot: resources.Vector{1}},
		fits: map[resources.Vector]*fits[int, int]{}, couldFitOf: map[resources.Vector]bool{},
	}
	for i, size := range sizes {
		all := resources.Vector{size}
		f.machines = append(f.machines, &machine[int, int]{node: 0, all: all, free: all, cond: omega.Ready, slots: i})
	}
	f.machines = append(f.machines, nil) // one that is gone
	return f
}

func TestFleet_KeepsWhatItFoundUntilMachinesChange(t *testing.T) {
	f := newFleet(4, 2)
	two, four := resources.Vector{2}, resources.Vector{4}
	require.True(t, f.couldFit(&four))
	require.Len(t, f.fitting(&two).all[0], 2)

	f.machines[0].all, f.machines[0].free = resources.Vector{1}, resources.Vector{1}
	require.True(t, f.couldFit(&four), "of the round before")
	require.Len(t, f.fitting(&two).all[0], 2)
	f.forgetRoom()
	require.False(t, f.couldFit(&four))
	require.Len(t, f.fitting(&two).all[0], 1)
}

// A machine that is kept, barred, draining or promised has no room for others. One with
// less than a slot free comes behind.
func TestFleet_FindsRoomThatIsPromisedToNoTask(t *testing.T) {
	f := newFleet(4, 4, 4, 4, 4, 4)
	f.machines[0].reserved = true
	f.machines[1].forbidden = true
	f.machines[2].cond = omega.Draining
	f.machines[3].promised = []*task[int, int]{{want: Task[int]{Need: resources.Vector{3}}}}
	f.machines[4].smalls = 4 // each has a slot, and they need none of it
	need := resources.Vector{2}
	got := f.fitting(&need)
	require.Equal(t, []*machine[int, int]{f.machines[5]}, got.all[0])
	require.Equal(t, []*machine[int, int]{f.machines[4]}, got.all[1])
}

func TestFleet_TouchesAMachineOnce(t *testing.T) {
	f := newFleet(1)
	f.markDirty(f.machines[0])
	f.markDirty(f.machines[0])
	require.Len(t, f.dirty, 1)
}

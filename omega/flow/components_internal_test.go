package flow

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// newSeen returns a scheduler that has looked at a cell of these machines, and has one
// job with a waiting task for each need.
func newSeen(t *testing.T, sizes, needs []int64) *Scheduler[string, int] {
	t.Helper()
	cell, err := omega.NewCell(omega.Config{})
	require.NoError(t, err)
	for i, size := range sizes {
		_, err := cell.Add(omega.Machine{Name: fmt.Sprint("m", i), Capacity: resources.Vector{size}})
		require.NoError(t, err)
	}
	ours, err := cell.Register("flow", omega.Limits{})
	require.NoError(t, err)
	s, err := New[string](Config[int]{
		Cell: cell, Scheduler: ours, Slot: resources.Vector{1},
		Arcs: func(arcs []quincy.Arc, task int, state quincy.State, _ int64) []quincy.Arc {
			if state.Running {
				arcs = append(arcs, quincy.Arc{To: quincy.OnMachine(state.On)})
			}
			return append(arcs, quincy.Arc{To: quincy.Unscheduled(), Cost: 10 * int64(1+task)}, quincy.Arc{To: quincy.Cluster()})
		},
	})
	require.NoError(t, err)
	now := time.Unix(0, 0)
	require.NoError(t, s.AddJob("job", 0, len(needs)))
	for i, need := range needs {
		require.NoError(t, s.Add(i, Task[string]{Job: "job", Need: resources.Vector{need}}, now))
	}
	s.mu.Lock() // as Round does
	defer s.mu.Unlock()
	require.True(t, s.watch.look(t.Context(), now).fresh)
	return s
}

// promised puts tasks on a machine as a plan would.
func (s *Scheduler[J, T]) promised(m *machine[J, T], tasks ...T) {
	for _, t := range tasks {
		tk := s.book.tasks[t]
		s.book.plan(tk, m)
		s.book.replan(tk)
		s.promises.promise(m, tk)
	}
}

// First come, first served: what is behind a task without room may still fit.
func TestPromises_AreTakenBackWhereThereIsNoRoom(t *testing.T) {
	s := newSeen(t, []int64{4}, []int64{3, 2, 1})
	m := s.fleet.machines[0]
	s.promised(m, 0, 1, 2)
	s.promises.check(m, true)
	require.Equal(t, []*task[string, int]{s.book.tasks[0], s.book.tasks[2]}, m.promised)
	require.Equal(t, 1, s.round.report.Unfit)
	refused := s.book.tasks[1]
	require.Nil(t, refused.at)
	require.ErrorIs(t, refused.refused, omega.ErrNoRoom)
	require.True(t, refused.exact, "the plan is not to send it where it does not fit")
	require.Equal(t, 2, refused.job.planned)
	require.Empty(t, s.round.errs)
}

func TestPromises_KeepWhatChangedMachinesStillHave(t *testing.T) {
	s := newSeen(t, []int64{4, 4}, []int64{3, 3})
	s.book.count() // no machine is left to be looked at
	s.promised(s.fleet.machines[0], 0)
	s.promised(s.fleet.machines[1], 1)
	s.fleet.dirty = s.fleet.dirty[:0]
	for _, m := range s.fleet.machines {
		m.dirty = false
		m.free = resources.Vector{1}
	}
	s.fleet.forgetRoom()
	s.fleet.markDirty(s.fleet.machines[0])
	s.promises.recheckDirty()
	require.Nil(t, s.book.tasks[0].at)
	require.NotNil(t, s.book.tasks[1].at, "its machine has not changed")
}

// The task that gains most is first, then the one that has waited for longest.
func TestAdmission_RanksByGain(t *testing.T) {
	s := newSeen(t, []int64{9}, []int64{1, 1, 1})
	for _, tk := range s.book.list {
		require.Equal(t, int64(10*(1+tk.key)), s.admission.gains(tk))
	}
	waiting := slices.Clone(s.book.list)
	s.admission.rank(waiting, endless)
	require.Equal(t, []int{2, 1, 0}, keysOf(waiting))

	for _, tk := range waiting {
		tk.gain = gain{}
	}
	s.book.tasks[1].since = -1
	s.admission.rank(waiting, endless)
	require.Equal(t, []int{1, 0, 2}, keysOf(waiting))
}

// Tasks have arcs to machines for as long as limits leave room for them.
func TestAdmission_OpensAsManyTasksAsLimitsLeaveRoomFor(t *testing.T) {
	s := newSeen(t, []int64{9}, []int64{2, 2, 2})
	s.admission.admit(resources.Vector{4})
	require.True(t, s.admission.limited)
	require.Equal(t, 1, s.round.report.Limited)
	over := func() (keys []int) {
		for _, tk := range s.book.list {
			if tk.limited {
				keys = append(keys, tk.key)
			}
		}
		return keys
	}
	require.Equal(t, []int{0}, over(), "it gains least")
	require.ErrorIs(t, s.book.tasks[0].refused, omega.ErrLimit)
	s.admission.admit(resources.Vector{6})
	require.False(t, s.admission.limited)
	require.Empty(t, over())
}

// A task larger than a slot has arcs to machines with room for it, none to the cluster.
func TestArcs_OfALargeTaskLeadToMachinesWhereItFits(t *testing.T) {
	s := newSeen(t, []int64{1, 3, 5}, []int64{3})
	var racks quincy.Racks
	arcs := s.arcs.arcsOf(nil, 0, quincy.State{Racks: &racks}, 0)
	require.Equal(t, []quincy.Arc{
		{To: quincy.Unscheduled(), Cost: 10},
		{To: quincy.OnMachine(1)},
		{To: quincy.OnMachine(2)},
	}, arcs)
	require.False(t, s.book.tasks[0].stuck)
	s.fleet.machines[1].reserved, s.fleet.machines[2].reserved = true, true
	s.fleet.forgetRoom()
	require.Len(t, s.arcs.arcsOf(nil, 0, quincy.State{Racks: &racks}, 0), 1)
	require.True(t, s.book.tasks[0].stuck)
}

func keysOf(tasks []*task[string, int]) (keys []int) {
	for _, tk := range tasks {
		keys = append(keys, tk.key)
	}
	return keys
}

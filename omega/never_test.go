package omega_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// sized returns a cell with a machine of each capacity, in which cpu and memory have
// names.
func sized(t *testing.T, capacities ...resources.Vector) (*omega.Cell, []omega.MachineID) {
	t.Helper()
	space, err := resources.NewSpace(resources.Dimension{Name: "cpu"}, resources.Dimension{Name: "memory"})
	require.NoError(t, err)
	cell, err := omega.NewCell(omega.Config{Space: space})
	require.NoError(t, err)
	var ids []omega.MachineID
	for i, c := range capacities {
		m, err := cell.Add(omega.Machine{Name: string(rune('a' + i)), Capacity: c})
		require.NoError(t, err)
		ids = append(ids, m)
	}
	return cell, ids
}

func TestWait_RefusesWhatNoMachineCouldHold(t *testing.T) {
	tests := map[string]struct {
		machines, needs []resources.Vector
		want            omega.RefusalError
		text            string
	}{
		"no machine": {
			nil,
			[]resources.Vector{{1}},
			omega.RefusalError{Need: resources.Vector{1}, Tasks: 1},
			"need cpu=1, no machine to claim",
		},
		"a kind that is missing": {
			[]resources.Vector{{4, 9}, {6, 2}},
			[]resources.Vector{{8, 3}},
			omega.RefusalError{Need: resources.Vector{8, 3}, Tasks: 1, Capacity: resources.Vector{6, 9}},
			"need cpu=8,memory=3, largest of 2 machines cpu=6,memory=9, missing cpu=2",
		},
		"a kind on each machine": {
			[]resources.Vector{{4, 1}, {1, 4}},
			[]resources.Vector{{3, 3}},
			omega.RefusalError{Need: resources.Vector{3, 3}, Tasks: 1, Capacity: resources.Vector{4, 4}},
			"need cpu=3,memory=3, none of 2 machines has all of it, at most cpu=4,memory=4",
		},
		"one of a gang": {
			[]resources.Vector{{4}, {4}},
			[]resources.Vector{{1}, {5}, {2}},
			omega.RefusalError{Need: resources.Vector{5}, Tasks: 1, Capacity: resources.Vector{4}},
			"need cpu=5, largest of 2 machines cpu=4, missing cpu=1",
		},
		"two of a gang": {
			[]resources.Vector{{4}, {4}},
			[]resources.Vector{{1}, {5}, {7}},
			omega.RefusalError{Need: resources.Vector{5}, Tasks: 1, Capacity: resources.Vector{4}},
			"need cpu=5, largest of 2 machines cpu=4, missing cpu=1",
		},
		"a gang in all": {
			[]resources.Vector{{4}, {4}},
			[]resources.Vector{{3}, {3}, {3}},
			omega.RefusalError{Need: resources.Vector{9}, Tasks: 3, Capacity: resources.Vector{8}},
			"gang of 3 needs cpu=9, capacity of 2 machines cpu=8, missing cpu=1",
		},
		"a gang by its pieces": {
			[]resources.Vector{{4}, {4}},
			[]resources.Vector{{3}, {3}, {2}},
			omega.RefusalError{Need: resources.Vector{8}, Tasks: 3, Capacity: resources.Vector{8}},
			"gang of 3 needs cpu=8, capacity of 2 machines cpu=8, in parts that are too small",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cell, _ := sized(t, tt.machines...)
			s := register(t, cell, "s")
			err := s.Wait(t.Context(), tt.needs...)
			require.ErrorIs(t, err, omega.ErrNeverFits)
			var never *omega.RefusalError
			require.ErrorAs(t, err, &never)
			require.Equal(t, `omega: scheduler "s": `+tt.text+": need can never fit", err.Error())
			require.Equal(t, "s", never.Scheduler)
			require.Equal(t, tt.want.Need, never.Need)
			require.Equal(t, tt.want.Tasks, never.Tasks)
			require.Equal(t, len(tt.machines), never.Why.Machines)
			require.Equal(t, tt.want.Capacity, never.Capacity)
		})
	}
}

// What counts is capacity, of machines that the scheduler may claim, draining or
// not.
func TestWait_KnowsWhatMachinesCouldHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, ids := sized(t, resources.Vector{2}, resources.Vector{8}, resources.Vector{4})
		holder := register(t, cell, "holder")
		held(t, holder, ids[2], 0, resources.Vector{4})
		require.NoError(t, cell.Drain(ids[1]))
		asleep(t, "it may be resumed", wait(t.Context(), register(t, cell, "one"), 8))
		two := register(t, cell, "two")
		require.NoError(t, two.Restrict(t.Context(), omega.NewMask(amongst([]locality.Node{0, 2}))))
		require.ErrorIs(t, two.Wait(t.Context(), resources.Vector{8}), omega.ErrNeverFits)
		asleep(t, "that is allocated", wait(t.Context(), two, 4))
	})
}

func TestWait_EndsWhenTheNeedHasBecomeImpossible(t *testing.T) {
	type stage struct {
		cell  *omega.Cell
		large omega.MachineID
		s     *omega.Scheduler
	}
	tests := map[string]struct {
		change   func(st stage) error
		machines string
		gangEnds bool
	}{
		"its machine is removed": {func(st stage) error {
			_, err := st.cell.Remove(st.large)
			return err
		}, "1 machines", true},
		"its machine has shrunk": {func(st stage) error {
			return st.cell.SetCapacity(st.large, resources.Vector{3})
		}, "2 machines", false},
		"its mask is another": {func(st stage) error {
			require.NoError(t, st.s.Restrict(t.Context(), omega.NewMask(amongst([]locality.Node{1}))))
			return nil
		}, "1 machines", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cell, ids := sized(t, resources.Vector{4}, resources.Vector{3})
				holder := register(t, cell, "holder")
				held(t, holder, ids[0], 0, resources.Vector{1})
				taken := held(t, holder, ids[1], 0, resources.Vector{3})[0]
				w := wait(t.Context(), register(t, cell, "large"), 4)
				gang := waitAll(t.Context(), register(t, cell, "gang"), tasks(6, 1)...)
				small := register(t, cell, "small")
				held(t, holder, ids[0], 0, resources.Vector{1})
				other := wait(t.Context(), small, 3)
				asleep(t, "all could be", w, gang, other)

				require.NoError(t, tt.change(stage{cell, ids[0], w.s}))
				synctest.Wait()
				require.ErrorIs(t, w.err, omega.ErrNeverFits)
				require.ErrorContains(t, w.err, "need cpu=4, largest of "+tt.machines+" cpu=3, missing cpu=1")
				if tt.gangEnds {
					require.ErrorIs(t, gang.err, omega.ErrNeverFits)
					require.ErrorContains(t, gang.err, "gang of 6 needs cpu=6, capacity of 1 machines cpu=3, missing cpu=3")
				} else {
					asleep(t, "six in all may be free once", gang)
				}
				asleep(t, "it still fits on the other", other)
				require.NoError(t, holder.Release(taken))
				awake(t, "and is woken for that", other)
			})
		})
	}
}

// The error is about the machines that there are.
func TestWait_CountsMachinesThatComeLater(t *testing.T) {
	cell, _ := sized(t)
	s := register(t, cell, "s")
	require.ErrorIs(t, s.Wait(t.Context(), resources.Vector{1}), omega.ErrNeverFits)
	_, err := cell.Add(omega.Machine{Name: "a", Capacity: resources.Vector{1}})
	require.NoError(t, err)
	require.NoError(t, s.Wait(t.Context(), resources.Vector{1}))
	require.ErrorIs(t, s.Wait(t.Context(), tasks(2, 1)...), omega.ErrNeverFits)
	_, err = cell.Add(omega.Machine{Name: "b", Capacity: resources.Vector{1}})
	require.NoError(t, err)
	require.NoError(t, s.Wait(t.Context(), tasks(2, 1)...))
}

// A machine that changes while a gang looks at the cell is not missed: the gang looks
// once it can be woken again.
func TestWait_AManyTimesWokenGangStillEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, ids, holder, live := packedCell(t, 3, 1)
		gang := waitAll(t.Context(), register(t, cell, "gang"), tasks(3, 1)...)
		require.NoError(t, holder.Release(live[0][0]))
		require.NoError(t, holder.Release(live[1][0]))
		asleep(t, "a machine is full", gang)
		_, err := cell.Remove(ids[2])
		require.NoError(t, err)
		synctest.Wait()
		require.ErrorIs(t, gang.err, omega.ErrNeverFits)
	})
}

// What limits forbid, and needs that are none, are not waited for either.
func TestWait_RefusesWhatTheSchedulerMayNotClaim(t *testing.T) {
	cell, _ := sized(t, resources.Vector{8})
	s, err := cell.Register("s", omega.Limits{Held: &resources.Vector{4}, Gang: 2})
	require.NoError(t, err)
	for text, needs := range map[string][]resources.Vector{
		"need cpu=5, ":      {{5}},
		"gang of 3 claims":  tasks(3, 1),
		"need cpu=6, ":      tasks(2, 3),
		"need memory=1, ":   {{0, 1}},
		"waits for no need": {},
		"waits for need 1: invalid quantity: need is 0 of every kind": {{1}, {}},
		"cpu=-1": {{-1}},
	} {
		err := s.Wait(t.Context(), needs...)
		require.ErrorContains(t, err, text)
		require.ErrorContains(t, err, `scheduler "s"`)
		require.Equal(t, 1, strings.Count(err.Error(), "omega: "), err.Error())
		want := omega.ErrLimit
		if len(needs) == 0 || needs[len(needs)-1][0] < 1 && needs[0][1] == 0 {
			want = resources.ErrQuantity
		}
		require.ErrorIs(t, err, want, text)
	}
}

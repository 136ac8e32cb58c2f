package omega_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Whatever is taken, drained and removed, and whatever the mask, Allow and Among are: the
// walk yields the machines of the definition, in their order, with their free room.
func TestFitting_AgreesWithTheDefinition(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const machines = 80 // more than a block of the index
		cell, err := omega.NewCell(omega.Config{})
		require.NoError(rt, err)
		var ids []omega.MachineID
		for i := range machines {
			id, err := cell.Add(omega.Machine{Name: fmt.Sprint("m", i), Capacity: resources.Vector{4, 4}})
			require.NoError(rt, err)
			ids = append(ids, id)
		}
		limits := omega.Limits{}
		if rapid.Bool().Draw(rt, "masked") {
			limits.Machines = omega.Mask{rapid.Uint64().Draw(rt, "low"), rapid.Uint64().Draw(rt, "high")}
		}
		s, err := cell.Register("s", limits)
		require.NoError(rt, err)
		other, err := cell.Register("other", omega.Limits{})
		require.NoError(rt, err)
		snap := s.Snapshot()
		for range rapid.IntRange(0, 60).Draw(rt, "changes") {
			id := rapid.SampledFrom(ids).Draw(rt, "machine")
			switch rapid.IntRange(0, 5).Draw(rt, "change") {
			case 0:
				_ = cell.Drain(id)
			case 1:
				snap.Take(id, resources.Vector{1, 0})
			default:
				a := omega.Attempt{Store: omega.Local{Scheduler: other}}
				a.Txn.Claim(omega.Claim{Machine: id, Need: resources.Vector{
					rapid.Int64Range(0, 3).Draw(rt, "cpu"), rapid.Int64Range(1, 3).Draw(rt, "memory"),
				}})
				_, err := a.Commit(rt.Context(), time.Time{})
				require.NoError(rt, err)
			}
			if rapid.IntRange(0, 9).Draw(rt, "refresh") == 0 {
				snap.Refresh(time.Time{})
			}
		}
		q := omega.Query{Need: resources.Vector{rapid.Int64Range(0, 4).Draw(rt, "need 0"), rapid.Int64Range(0, 4).Draw(rt, "need 1")}}
		if rapid.Bool().Draw(rt, "allow") {
			q.Allow = func(n locality.Node) bool { return n%3 != 0 }
		}
		walk := make([]locality.Node, machines)
		for i := range walk {
			walk[i] = locality.Node(i)
		}
		if rapid.Bool().Draw(rt, "among") {
			walk = rapid.SliceOfN(rapid.Map(rapid.IntRange(0, machines+5), func(n int) locality.Node { return locality.Node(n) }), 0, 40).Draw(rt, "walk")
			q.Among = slices.Values(walk)
		}
		type fit struct {
			id   omega.MachineID
			free resources.Vector
		}
		var want, got []fit
		free := map[locality.Node]omega.MachineState{}
		for m := range snap.Machines() {
			free[m.ID.Node()] = m
		}
		for i, n := range walk {
			m, ok := free[n]
			if !ok || slices.Contains(walk[:i], n) || m.Condition != omega.Ready || !q.Need.Fits(m.Free) ||
				q.Allow != nil && !q.Allow(n) || limits.Machines != nil && !limits.Machines.Has(n) {
				continue
			}
			want = append(want, fit{m.ID, m.Free})
		}
		for id, room := range snap.Fitting(q) {
			got = append(got, fit{id, room})
		}
		require.Equal(rt, want, got)
		for id, room := range snap.Fitting(q) {
			require.Equal(rt, fit{id, room}, got[0])
			break
		}
	})
}

// A machine is not yielded after the loop body has taken its room.
func TestFitting_TheLoopBodyMayTakeRoom(t *testing.T) {
	ids, s, _ := attemptCell(t, 3, omega.Limits{})
	var got []omega.MachineID
	for id := range s.Snapshot().Fitting(omega.Query{Need: resources.Vector{3}}) {
		got = append(got, id)
		require.True(t, s.Snapshot().Take(ids[1], resources.Vector{1}) || len(got) > 1)
		require.True(t, s.Snapshot().Take(ids[1], resources.Vector{1}) || len(got) > 1)
	}
	require.Equal(t, []omega.MachineID{ids[0], ids[2]}, got)
	for range (*omega.Snapshot)(nil).Fitting(omega.Query{}) {
		require.Fail(t, "a nil snapshot has no machine")
	}
}

// A search of the program's own: in each rack of two machines, the most that a machine has
// free of those that fit.
func ExampleSnapshot_Fitting() {
	cell, _ := omega.NewCell(omega.Config{})
	for i, cpu := range []int64{4, 8, 2, 6} {
		_, _ = cell.Add(omega.Machine{Name: fmt.Sprint("node-", i), Capacity: resources.Vector{cpu}})
	}
	s, _ := cell.Register("s", omega.Limits{})
	roomiest := map[locality.Node]int64{}
	for m, free := range s.Snapshot().Fitting(omega.Query{Need: resources.Vector{3}}) {
		rack := m.Node() / 2
		roomiest[rack] = max(roomiest[rack], free[0])
	}
	fmt.Println(roomiest)
	// Output:
	// map[0:8 1:6]
}

package omega_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

func TestSnapshot_RefreshCopiesOnlyWhatChanged(t *testing.T) {
	cell, ids := newCell(t, 100, resources.Vector{10})
	s, other := register(t, cell, "s"), register(t, cell, "other")
	snap := s.Snapshot()
	require.Equal(t, 100, snap.Len())
	require.Zero(t, snap.Refresh(time.Time{}))

	commit(t, other, &omega.Txn{}, claim(ids[3], 1), claim(ids[7], 2))
	room, _ := snap.Free(ids[7])
	require.EqualValues(t, 10, room[0], "private until refreshed")
	require.Equal(t, 2, snap.Refresh(time.Time{}))
	room, _ = snap.Free(ids[7])
	require.EqualValues(t, 8, room[0])

	commit(t, s, &omega.Txn{}, claim(ids[7], 1))
	room, _ = snap.Free(ids[7])
	require.EqualValues(t, 7, room[0], "an own commit is seen at once")
	require.Zero(t, snap.Refresh(time.Time{}))

	_, err := cell.Add(omega.Machine{Name: "new", Capacity: resources.Vector{10}})
	require.NoError(t, err)
	require.NoError(t, cell.Drain(ids[0]))
	_, err = cell.Remove(ids[1])
	require.NoError(t, err)
	require.Equal(t, 3, snap.Refresh(time.Time{}))
	_, ok := snap.Free(ids[0])
	require.False(t, ok, "a draining machine has no room to give")
	require.Len(t, slices.Collect(snap.Machines()), 100)
	for m := range snap.Machines() {
		state, _ := cell.State(m.ID)
		require.Equal(t, state, m)
	}
}

func TestSnapshot_RefreshEachVisitsWhatOthersChanged(t *testing.T) {
	cell, ids := newCell(t, 10, resources.Vector{10})
	s, other := register(t, cell, "s"), register(t, cell, "other")
	snap := s.Snapshot()
	commit(t, other, &omega.Txn{}, claim(ids[3], 1), claim(ids[7], 2))
	commit(t, s, &omega.Txn{}, claim(ids[5], 1))
	_, err := cell.Remove(ids[1])
	require.NoError(t, err)

	var visited []omega.MachineState
	now := time.Unix(100, 0)
	require.Equal(t, 3, snap.RefreshEach(now, func(m omega.MachineState) { visited = append(visited, m) }))
	require.Zero(t, snap.Age(now))
	require.Len(t, visited, 3)
	require.Equal(t, omega.Removed, visited[0].Condition)
	for i, m := range visited {
		require.Equal(t, ids[[]int{1, 3, 7}[i]], m.ID)
		state, _ := cell.State(m.ID)
		require.Equal(t, state, m)
	}
	require.Zero(t, snap.RefreshEach(now, func(omega.MachineState) { require.Fail(t, "nothing has changed") }))

	// An own commit brings the copy up to date, also where it is refused or changes
	// nothing: what others had changed before is told of nevertheless, once.
	for name, own := range map[string]func(){
		"granted": func() { commit(t, s, &omega.Txn{}, claim(ids[3], 1)) },
		"refused": func() { commit(t, s, &omega.Txn{}, claim(ids[3], 9)) },
		"granted, then once more": func() {
			commit(t, s, &omega.Txn{}, claim(ids[3], 1))
			commit(t, s, &omega.Txn{}, claim(ids[3], 1))
		},
		"gang": func() { commit(t, s, &omega.Txn{Gang: true}, claim(ids[3], 1), claim(ids[4], 1)) },
	} {
		commit(t, other, &omega.Txn{}, claim(ids[3], 1))
		require.NoError(t, cell.SetAttributes(ids[3], map[string]string{"changed": name}))
		own()
		visited = nil
		snap.RefreshEach(now, func(m omega.MachineState) { visited = append(visited, m) })
		require.Len(t, visited, 1, name)
		require.Equal(t, ids[3], visited[0].ID, name)
		require.Equal(t, name, visited[0].Attributes["changed"], name)
		require.Zero(t, snap.RefreshEach(now, func(omega.MachineState) { require.Fail(t, "nothing has changed", name) }))
	}
}

func TestSnapshot_TakeIsPrivateAndForgotten(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{10})
	snap := register(t, cell, "s").Snapshot()
	require.True(t, snap.Take(ids[0], resources.Vector{7}))
	require.False(t, snap.Take(ids[0], resources.Vector{4}))
	require.False(t, snap.Take(machineAt(cell, 99), resources.Vector{}))
	require.EqualValues(t, 10, free(t, cell, ids[0]))
	for m := range snap.Machines() {
		require.EqualValues(t, 3, m.Free[0])
	}
	require.Zero(t, snap.Refresh(time.Time{}), "the machine has not changed")
	require.True(t, snap.Take(ids[0], resources.Vector{10}))
}

func TestSnapshot_FirstFitGoesRoundOnce(t *testing.T) {
	cell, ids := newCell(t, 4, resources.Vector{2})
	snap := register(t, cell, "s").Snapshot()
	var got []locality.Node
	for {
		m, ok := snap.Find(omega.Query{Need: resources.Vector{1}}, omega.NextFit())
		if !ok {
			break
		}
		require.True(t, snap.Take(m, resources.Vector{1}))
		got = append(got, m.Node())
	}
	require.Equal(t, []locality.Node{0, 0, 1, 1, 2, 2, 3, 3}, got, "each machine is filled before the next")

	snap.Refresh(time.Time{})
	only := func(n locality.Node) bool { return n == 2 }
	m, ok := snap.Find(omega.Query{Need: resources.Vector{1}, Allow: only}, omega.NextFit())
	require.True(t, ok)
	require.Equal(t, ids[2], m)
	_, ok = snap.Find(omega.Query{Need: resources.Vector{3}}, omega.NextFit())
	require.False(t, ok)
	_, ok = snap.Find(omega.Query{Need: resources.Vector{-1}}, omega.NextFit())
	require.False(t, ok)

	empty, err := omega.NewCell(omega.Config{})
	require.NoError(t, err)
	_, ok = register(t, empty, "s").Snapshot().Find(omega.Query{Need: resources.Vector{}}, omega.NextFit())
	require.False(t, ok)
}

// Schedulers begin their searches in different places, also where the machines
// came after the snapshots.
func TestSnapshot_SchedulersStartApart(t *testing.T) {
	cell, err := omega.NewCell(omega.Config{})
	require.NoError(t, err)
	var snaps []*omega.Snapshot
	for i := range 16 {
		snaps = append(snaps, register(t, cell, fmt.Sprint(i)).Snapshot())
	}
	for i := range 1000 {
		_, err := cell.Add(omega.Machine{Name: fmt.Sprint(i), Capacity: resources.Vector{1}})
		require.NoError(t, err)
	}
	starts := map[omega.MachineID]bool{}
	for _, snap := range snaps {
		snap.Refresh(time.Time{})
		m, ok := snap.Find(omega.Query{Need: resources.Vector{1}}, omega.NextFit())
		require.True(t, ok)
		starts[m] = true
	}
	require.Len(t, starts, 16)
	_, ok := snaps[0].Free(machineAt(cell, 1<<20-1))
	require.False(t, ok)
}

// change claims one unit of a machine and releases it.
func change(b *testing.B, s *omega.Scheduler, m omega.MachineID) {
	b.Helper()
	var tx omega.Txn
	require.Equal(b, 1, commit(b, s, &tx, claim(m, 1)))
	a, _ := tx.Allocation(0)
	require.NoError(b, s.Release(a))
}

func BenchmarkRefresh(b *testing.B) {
	for _, machines := range []int{500, 5000, 50000} {
		for _, changed := range []int{0, machines / 50} {
			b.Run(fmt.Sprintf("machines=%d/changed=%d", machines, changed), func(b *testing.B) {
				cell, ids := newCell(b, machines, resources.Vector{1 << 40})
				snap := register(b, cell, "s").Snapshot()
				other := register(b, cell, "other")
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					for i := range changed {
						change(b, other, ids[i*(machines/changed)])
					}
					b.StartTimer()
					if got := snap.Refresh(time.Time{}); got != changed {
						b.Fatal(got)
					}
				}
			})
		}
	}
}

// A snapshot of no scheduler shows the cell to a reader: machines, changes on them, and
// room that reservations keep, none of which is its own.
func TestCell_SnapshotIsOfNoScheduler(t *testing.T) {
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{
		{Name: "a", Capacity: resources.Vector{4}}, {Name: "b", Capacity: resources.Vector{4}}, {Name: "c", Capacity: resources.Vector{4}},
	}, Reserved: 1})
	require.NoError(t, err)
	s, err := cell.Register("s", omega.Limits{})
	require.NoError(t, err)
	require.NoError(t, s.Restrict(t.Context(), omega.Mask{1})) // machine a alone: a reader sees the others, too
	first, second := cell.Snapshot(), cell.Snapshot()
	require.NotSame(t, first, second)
	require.Equal(t, 3, first.Len())

	a, _ := cell.Machine("a")
	for i := range int64(3) {
		var tx omega.Txn
		tx.Claim(omega.Claim{Machine: a, Need: resources.Vector{1}})
		granted, err := s.Commit(&tx)
		require.NoError(t, err)
		require.Equal(t, 1, granted)
		free, ok := first.Free(a)
		require.True(t, ok)
		require.Equal(t, 4-i, free[0], "it shows what it saw")
		var seen []omega.MachineState
		first.RefreshEach(time.Now(), func(m omega.MachineState) { seen = append(seen, m) })
		require.Len(t, seen, 1)
		require.Equal(t, "a", seen[0].Name)
		require.Equal(t, 3-i, seen[0].Free[0])
	}
	free, _ := second.Free(a)
	require.EqualValues(t, 4, free[0])
	require.Equal(t, 1, second.Refresh(time.Now()))
	free, _ = second.Free(a)
	require.EqualValues(t, 1, free[0])

	m, ok := first.Find(omega.Query{Need: resources.Vector{4}}, omega.NextFit())
	require.True(t, ok)
	require.NotEqual(t, a, m)
	require.NoError(t, cell.Check())
}

// A release of the scheduler's own does not show room that claims may not have: on a machine
// that is draining, or keeps room for another scheduler's reservation.
func TestSnapshot_ReleaseShowsNoRoomThatIsNotToBeHad(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{10})
	s, other := register(t, cell, "s"), register(t, cell, "other")
	snap := s.Snapshot()
	var tx omega.Txn
	require.Equal(t, 2, commit(t, s, &tx, claim(ids[0], 4), claim(ids[1], 4)))
	var held [2]omega.AllocationID
	for i := range held {
		held[i], _ = tx.Allocation(i)
	}
	require.NoError(t, cell.Drain(ids[0]))
	_, err := reserve(t, other, time.Unix(1<<30, 0), claim(ids[1], 9))
	require.NoError(t, err)
	snap.Refresh(time.Unix(1, 0))
	snap.Find(omega.Query{Need: resources.Vector{10}}, omega.BestFit()) // so that it has looked at both
	for i, a := range held {
		tx.Reset()
		tx.Release(a)
		_, err = s.Commit(&tx)
		require.NoError(t, err)
		require.NoError(t, tx.Err(0), "machine %d", i)
	}
	_, ok := snap.Free(ids[0])
	require.False(t, ok, "it is draining")
	room, _ := snap.Free(ids[1])
	require.Equal(t, resources.Vector{1}, room, "the rest is reserved")
}

// Room that was taken in the snapshot comes back with a commit on its machine, and a search
// that has found the machine too full before finds it again.
func TestSnapshot_CommitGivesBackWhatWasTakenToSearches(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{10})
	s := register(t, cell, "s")
	snap := s.Snapshot()
	require.True(t, snap.Take(ids[0], resources.Vector{9}))
	_, ok := snap.Find(omega.Query{Need: resources.Vector{5}}, omega.FirstFit(nil))
	require.False(t, ok)
	require.Equal(t, 1, commit(t, s, &omega.Txn{}, claim(ids[0], 1)))
	_, ok = snap.Find(omega.Query{Need: resources.Vector{9}}, omega.FirstFit(nil))
	require.True(t, ok)
}

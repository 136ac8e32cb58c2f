package omega

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// A cut replaces each machine's version by an equal one. RefreshEach visits the machines
// that have changed besides, while the cut is taken and after it.
func TestSnapshot_RefreshEachTellsAFenceFromAChange(t *testing.T) {
	cell, err := NewCell(Config{Machines: []Machine{
		{Name: "a", Capacity: resources.Vector{9}},
		{Name: "b", Capacity: resources.Vector{9}},
		{Name: "c", Capacity: resources.Vector{9}},
		{Name: "d", Capacity: resources.Vector{9}},
	}})
	require.NoError(t, err)
	s, err := cell.Register("s", Limits{})
	require.NoError(t, err)
	claim := func(name string) {
		m, _ := cell.Machine(name)
		var tx Txn
		tx.Claim(Claim{Machine: m, Need: resources.Vector{1}})
		granted, err := s.Commit(&tx)
		require.NoError(t, err)
		require.Equal(t, 1, granted)
	}
	snap := cell.Snapshot()
	visited := func() (names []string) {
		snap.RefreshEach(time.Time{}, func(m MachineState) { names = append(names, m.Name) })
		return names
	}

	cell.cutting.Lock()
	cell.beginCut()
	cell.fence(0)
	cell.fence(1)
	claim("b") // after its fence
	claim("c") // before it
	require.Equal(t, []string{"b", "c"}, visited())
	cell.fence(2)
	cell.fence(3)
	require.Empty(t, visited())
	claim("c")
	_, err = cell.Add(Machine{Name: "e", Capacity: resources.Vector{9}})
	require.NoError(t, err)
	claim("e") // its first version that the snapshot sees is of the epoch of the cut
	require.Equal(t, []string{"c", "e"}, visited())
	cell.epoch.Add(1)
	cell.cutting.Unlock()

	require.Empty(t, visited())
	claim("a")
	claim("d")
	require.Equal(t, []string{"a", "d"}, visited())

	s, err = cell.Replace("s")
	require.NoError(t, err)
	require.Empty(t, visited(), "a succession fences all machines, and changes none")
	claim("b")
	require.Equal(t, []string{"b"}, visited())
	s, err = cell.Replace("s")
	require.NoError(t, err)
	claim("c")
	require.Equal(t, []string{"c"}, visited())
}

// A machine with a gang that is not decided is looked at by each refresh, and visited once
// it has changed.
func TestSnapshot_RefreshEachVisitsAGangOnceItIsDecided(t *testing.T) {
	const machines = 3
	for _, granted := range []bool{true, false} {
		st := stall(t, machines, machines-1)
		snap := st.cell.Snapshot()
		visits := func() (n int) {
			snap.RefreshEach(time.Time{}, func(MachineState) { n++ })
			return n
		}
		require.Zero(t, visits())
		require.Zero(t, visits())
		want := 0
		if granted {
			st.gang.help()
			want = machines
		} else { // another one has the last machine
			s, err := st.cell.Register("s", Limits{})
			require.NoError(t, err)
			var tx Txn
			tx.Claim(Claim{Machine: st.cell.machine(machines-1, 0), Need: resources.Vector{1}})
			_, err = s.Commit(&tx)
			require.NoError(t, err)
			st.gang.help()
			want = 1
		}
		require.Equal(t, want, visits())
		require.Zero(t, visits())
	}
}

package omega_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// unnamed are IDs that no cell gives out.
var unnamed = map[string]omega.MachineID{"none": 0, "1.none": 1, "2.none": 1<<40 | 2, "1048575.none": 1<<20 - 1}

func TestCommit_RefusesAClaimThatNamesNoMachine(t *testing.T) {
	cell, ids := newCell(t, 3, resources.Vector{4})
	s := register(t, cell, "s")
	for text, m := range unnamed {
		for _, gang := range []bool{false, true} {
			tx := omega.Txn{Gang: gang}
			tx.Claim(claim(ids[2], 1))
			tx.Claim(claim(m, 1))
			granted, err := s.Commit(&tx)
			require.ErrorIs(t, err, omega.ErrUnknown)
			require.ErrorContains(t, err, "item 1")
			if m == 0 {
				require.ErrorContains(t, err, "names none")
			} else {
				require.ErrorContains(t, err, "machine "+text)
			}
			require.Zero(t, granted)
		}
		held := omega.Txn{}
		require.Equal(t, 1, commit(t, s, &held, claim(ids[0], 1)))
		a, _ := held.Allocation(0)
		var tx omega.Txn
		tx.Exchange([]omega.AllocationID{a}, claim(m, 1))
		_, err := s.Commit(&tx)
		require.ErrorIs(t, err, omega.ErrUnknown)
		require.NoError(t, s.Release(a))
	}
	for _, m := range ids {
		require.EqualValues(t, 4, free(t, cell, m))
	}
}

// findsNone requires that every call knows no machine m, with this text.
func findsNone(t *testing.T, cell *omega.Cell, snap *omega.Snapshot, m omega.MachineID, text string) {
	t.Helper()
	_, ok := cell.State(m)
	require.False(t, ok)
	_, ok = cell.Victims(m, resources.Vector{1}, 9)
	require.False(t, ok)
	_, ok = snap.Free(m)
	require.False(t, ok)
	require.False(t, snap.Take(m, resources.Vector{1}))
	require.Empty(t, cell.AllocationsOn(m))
	_, err := cell.Remove(m)
	for _, err := range []error{
		err, cell.Drain(m), cell.Resume(m), cell.SetAttributes(m, nil), cell.SetCapacity(m, resources.Vector{9}),
	} {
		require.ErrorIs(t, err, omega.ErrUnknown)
		require.EqualError(t, err, text)
	}
}

func TestMachineID_OfNoMachineFindsNone(t *testing.T) {
	cell, ids := newCell(t, 3, resources.Vector{4})
	s := register(t, cell, "s")
	snap := s.Snapshot()
	require.NotContains(t, ids, omega.MachineID(0))
	for text, m := range unnamed {
		require.Equal(t, text, m.String())
		findsNone(t, cell, snap, m, "omega: unknown machine "+text)
	}
	m, ok := cell.Machine("no such machine")
	require.False(t, ok)
	require.Zero(t, m)
}

func TestMachineID_OfNoMachineIsTheEmptyText(t *testing.T) {
	text, err := omega.MachineID(0).MarshalText()
	require.NoError(t, err)
	require.Equal(t, []byte{}, text)
	id := omega.MachineID(9 << 20)
	require.NoError(t, id.UnmarshalText(nil))
	require.Zero(t, id)
	for _, m := range []omega.MachineID{1, 1<<20 - 1, 1 << 40} {
		_, err := m.MarshalText()
		require.ErrorIs(t, err, omega.ErrID)
		require.ErrorContains(t, err, m.String())
		_, err = json.Marshal(m)
		require.Error(t, err, "a text from which it cannot be had again")
	}
}

// An ID names a machine of its own cell only, though another cell has one of the
// same number.
func TestMachineID_OfAnotherCellIsUnknown(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{4})
	other, foreign := newCell(t, 2, resources.Vector{4})
	_, err := other.Remove(foreign[1])
	require.NoError(t, err)
	again, err := other.Add(omega.Machine{Name: "again", Capacity: resources.Vector{4}})
	require.NoError(t, err)
	require.Equal(t, "1.1", again.String())
	s := register(t, cell, "s")
	snap := s.Snapshot()
	for number, m := range map[string]omega.MachineID{"0": foreign[0], "1": foreign[1], "1.1": again} {
		for _, gang := range []bool{false, true} {
			tx := omega.Txn{Gang: gang}
			tx.Claim(claim(ids[0], 1))
			tx.Claim(claim(m, 1))
			_, err := s.Commit(&tx)
			require.ErrorIs(t, err, omega.ErrUnknown)
			require.EqualError(t, err, "omega: unknown machine "+number+" of another cell in item 1")
		}
		findsNone(t, cell, snap, m, "omega: unknown machine "+number+" of another cell")
	}
	for _, m := range ids {
		require.EqualValues(t, 4, free(t, cell, m))
	}
}

// A restored cell is the same cell: its machines have the IDs that they had.
func TestMachineID_HoldsForTheRestoredCell(t *testing.T) {
	cell, _ := fullCell(t)
	var file bytes.Buffer
	require.NoError(t, cell.Save(&file))
	restored, err := omega.Restore(&file, cell.Space())
	require.NoError(t, err)
	for m := range cell.Machines() {
		state, ok := restored.State(m.ID)
		require.True(t, ok)
		require.Equal(t, m.Name, state.Name)
	}
}

func FuzzMachineIDText(f *testing.F) {
	for _, text := range []string{"", "00c0de/7", "00c0de/7.2", "ffffff/1048575.1048574", "ffffff/1048575.1048575", "none"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id := omega.MachineID(9 << 20)
		if err := id.UnmarshalText([]byte(text)); err != nil {
			require.ErrorIs(t, err, omega.ErrID)
			require.Equal(t, omega.MachineID(9<<20), id)
			return
		}
		again, err := id.MarshalText()
		require.NoError(t, err)
		require.Equal(t, text, string(again))
		require.Equal(t, text == "", id == 0)
	})
}

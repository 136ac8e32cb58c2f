package omega_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// unnamed are IDs that no cell gives out.
var unnamed = map[string]omega.MachineID{"none": 0, "1.none": 1, "1048576.none": 1 << 20}

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

func TestMachineID_OfNoMachineFindsNone(t *testing.T) {
	cell, ids := newCell(t, 3, resources.Vector{4})
	s := register(t, cell, "s")
	snap := s.Snapshot()
	require.NotContains(t, ids, omega.MachineID(0))
	for text, m := range unnamed {
		require.Equal(t, text, m.String())
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
			require.ErrorContains(t, err, "machine "+text)
		}
	}
	m, ok := cell.Machine("no such machine")
	require.False(t, ok)
	require.Zero(t, m)
}

func TestMachineID_OfNoMachineIsTheEmptyText(t *testing.T) {
	text, err := omega.MachineID(0).MarshalText()
	require.NoError(t, err)
	require.Equal(t, []byte{}, text)
	id := machineAt(9)
	require.NoError(t, id.UnmarshalText(nil))
	require.Zero(t, id)
	for _, m := range []omega.MachineID{1, 1 << 20, 1<<32 - 1} {
		_, err := m.MarshalText()
		require.ErrorIs(t, err, omega.ErrID)
		require.ErrorContains(t, err, m.String())
		_, err = json.Marshal(m)
		require.Error(t, err, "a text from which it cannot be had again")
	}
}

func FuzzMachineIDText(f *testing.F) {
	for _, text := range []string{"", "7", "7.2", "1048575.4294967294", "1048575.4294967295", "none"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id := machineAt(9)
		if err := id.UnmarshalText([]byte(text)); err != nil {
			require.ErrorIs(t, err, omega.ErrID)
			require.Equal(t, machineAt(9), id)
			return
		}
		again, err := id.MarshalText()
		require.NoError(t, err)
		require.Equal(t, text, string(again))
		require.Equal(t, text == "", id == 0)
	})
}

package omega_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// A machine may come to have kinds of resources that its cell did not begin with, and lose
// them again. Claims, releases, cuts and snapshots count all of them.
func TestMachine_ComesToHaveMoreKinds(t *testing.T) {
	few, all := resources.Vector{10, 10}, resources.Uniform(10)
	cell, ids := newCell(t, 2, few)
	s, other := register(t, cell, "s"), register(t, cell, "other")
	snap := other.Snapshot()
	expect := func(free resources.Vector) {
		t.Helper()
		require.NoError(t, cell.Check())
		state, ok := cell.State(ids[0])
		require.True(t, ok)
		require.Equal(t, free, state.Free)
		snap.Refresh(time.Time{})
		shown, ok := snap.Free(ids[0])
		require.True(t, ok)
		require.Equal(t, free, shown)
		own, ok := s.Snapshot().Free(ids[0])
		require.True(t, ok)
		require.Equal(t, free, own)
		var file bytes.Buffer
		require.NoError(t, cell.Save(&file))
		again, err := omega.Restore(&file, nil)
		require.NoError(t, err)
		require.NoError(t, again.Check())
		m, ok := again.Machine("node-0")
		require.True(t, ok)
		restored, _ := again.State(m)
		require.Equal(t, free, restored.Free)
	}
	commit := func(add func(tx *omega.Txn)) []omega.AllocationID {
		t.Helper()
		var tx omega.Txn
		add(&tx)
		_, err := s.Commit(&tx)
		require.NoError(t, err)
		var granted []omega.AllocationID
		for i := range tx.Len() {
			require.NoError(t, tx.Err(i))
			if a, ok := tx.Allocation(i); ok {
				granted = append(granted, a)
			}
		}
		s.Snapshot().Refresh(time.Time{})
		return granted
	}
	s.Snapshot()
	expect(few)

	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: ids[0], Need: resources.Vector{7: 1}})
	_, err := s.Commit(&tx)
	require.NoError(t, err)
	require.ErrorIs(t, tx.Err(0), omega.ErrConflict)

	require.NoError(t, cell.SetCapacity(ids[0], all))
	s.Snapshot().Refresh(time.Time{})
	expect(all)
	held := commit(func(tx *omega.Txn) {
		tx.Claim(omega.Claim{Machine: ids[0], Need: resources.Uniform(2)})
	})
	expect(resources.Uniform(8))
	held = append(held, commit(func(tx *omega.Txn) {
		tx.Exchange(nil, omega.Claim{Machine: ids[0], Need: resources.Vector{3: 1, 4: 1}}, omega.Claim{Machine: ids[0], Need: resources.Vector{5: 1}})
	})...)
	expect(resources.Vector{8, 8, 8, 7, 7, 7, 8, 8})
	require.Len(t, held, 3)

	require.ErrorIs(t, cell.SetCapacity(ids[0], few), omega.ErrInUse)
	for _, a := range held[:2] {
		commit(func(tx *omega.Txn) { tx.Release(a) })
	}
	require.NoError(t, s.Release(held[2]))
	s.Snapshot().Refresh(time.Time{})
	expect(all)
	require.NoError(t, cell.SetCapacity(ids[0], few))
	s.Snapshot().Refresh(time.Time{})
	expect(few)

	require.NoError(t, cell.SetCapacity(ids[0], all))
	_, err = cell.Remove(ids[0])
	require.NoError(t, err)
	require.NoError(t, cell.Check())
	ids[0], err = cell.Add(omega.Machine{Name: "node-0", Capacity: few})
	require.NoError(t, err)
	s.Snapshot().Refresh(time.Time{})
	expect(few)
}

// A refused exchange leaves the slots of a machine as they are, also those behind the first
// ones, where the same commit grants another claim on the machine.
func TestExchange_RefusedLeavesManySlotsAsTheyAre(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{1000, 1})
	s := register(t, cell, "s")
	var tx omega.Txn
	for range 250 {
		tx.Claim(claim(ids[0], 1))
	}
	_, err := s.Commit(&tx)
	require.NoError(t, err)
	last, ok := tx.Allocation(249)
	require.True(t, ok)

	tx.Reset()
	one := tx.Claim(claim(ids[0], 1))
	all := tx.Exchange([]omega.AllocationID{last}, claim(ids[0], 2000))
	granted, err := s.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 1, granted)
	require.NoError(t, tx.Err(one))
	require.ErrorIs(t, tx.Err(all), omega.ErrConflict)
	require.NoError(t, cell.Check())
	require.Len(t, cell.AllocationsOn(ids[0]), 251)
	require.NoError(t, s.Release(last))
	require.NoError(t, cell.Check())
}

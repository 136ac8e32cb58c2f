package omega_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// divisible is a cell of one machine with 8 and 8, of which a divisible scheduler
// holds blocks, and another scheduler of higher precedence.
type divisible struct {
	t         *testing.T
	cell      *omega.Cell
	low, high *omega.Scheduler
	machine   omega.MachineID
	blocks    []omega.AllocationID
}

func newDivisible(t *testing.T, blocks ...resources.Vector) *divisible {
	t.Helper()
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{8, 8}}}})
	require.NoError(t, err)
	d := &divisible{t: t, cell: cell}
	d.low, err = cell.Register("low", omega.Limits{Divisible: true, Highest: 2})
	require.NoError(t, err)
	d.high, err = cell.Register("high", omega.Limits{Highest: 5})
	require.NoError(t, err)
	d.machine, _ = cell.Machine("m")
	for i, need := range blocks {
		var tx omega.Txn
		tx.Claim(omega.Claim{Machine: d.machine, Need: need, Precedence: omega.Precedence(i)})
		d.commit(d.low, &tx, 1)
		a, _ := tx.Allocation(0)
		d.blocks = append(d.blocks, a)
	}
	return d
}

func (d *divisible) commit(s *omega.Scheduler, tx *omega.Txn, want int) {
	d.t.Helper()
	granted, err := s.Commit(tx)
	require.NoError(d.t, err)
	require.Equal(d.t, want, granted)
	require.NoError(d.t, d.cell.Check())
}

func (d *divisible) preempt(need resources.Vector, victims ...omega.AllocationID) *omega.Txn {
	tx := &omega.Txn{Now: time.Unix(1, 0), Grace: time.Second}
	tx.Claim(omega.Claim{Machine: d.machine, Need: need, Precedence: 5, Victims: victims})
	return tx
}

// held returns the allocations of the divisible scheduler, with their needs.
func (d *divisible) held() map[omega.AllocationID]resources.Vector {
	held := make(map[omega.AllocationID]resources.Vector)
	for a := range d.low.Allocations() {
		held[a.ID] = a.Need
	}
	return held
}

func TestCommit_TakesOnlyWhatItLacksOfADivisibleVictim(t *testing.T) {
	d := newDivisible(t, resources.Vector{6, 3})
	tx := d.preempt(resources.Vector{4, 2}, d.blocks[0])
	d.commit(d.high, tx, 1)

	marks := slices.Collect(d.low.Marked())
	require.Len(t, marks, 1)
	require.Equal(t, resources.Vector{6, 3}, marks[0].Allocation.Need)
	require.Equal(t, omega.Preempted, marks[0].Fate)
	require.Equal(t, map[omega.AllocationID]resources.Vector{marks[0].Rest: {4, 3}}, d.held())
	require.Equal(t, resources.Vector{4, 3}, d.low.Usage())

	// The claim starts once the part that it took has stopped.
	a, _ := tx.Allocation(0)
	ready, err := d.cell.ReadyAt(a)
	require.NoError(t, err)
	require.Equal(t, time.Unix(2, 0).UTC(), ready.UTC())
	require.NoError(t, d.low.Release(d.blocks[0]))
	ready, err = d.cell.ReadyAt(a)
	require.NoError(t, err)
	require.True(t, ready.IsZero())
	require.NoError(t, d.low.Release(marks[0].Rest))
	require.Zero(t, d.low.Usage())
	require.NoError(t, d.cell.Check())
}

func TestCommit_TakesDivisibleVictimsInTheOrderInWhichTheyAreNamed(t *testing.T) {
	d := newDivisible(t, resources.Vector{2}, resources.Vector{3}, resources.Vector{3})
	tx := d.preempt(resources.Vector{4}, d.blocks[0], d.blocks[1], d.blocks[2])
	d.commit(d.high, tx, 1)
	marks := slices.Collect(d.low.Marked())
	require.Len(t, marks, 2, "the third keeps all that it has, and its ID")
	require.Zero(t, marks[0].Rest, "all of the first is taken")
	require.Equal(t, map[omega.AllocationID]resources.Vector{marks[1].Rest: {1}, d.blocks[2]: {3}}, d.held())
}

func TestCommit_PreemptsNothingOfADivisibleVictimWhereTheClaimFits(t *testing.T) {
	d := newDivisible(t, resources.Vector{2})
	d.commit(d.high, d.preempt(resources.Vector{6}, d.blocks[0]), 1)
	require.Empty(t, slices.Collect(d.low.Marked()))
	require.Equal(t, map[omega.AllocationID]resources.Vector{d.blocks[0]: {2}}, d.held())
}

func TestCommit_LeavesDivisibleVictimsOfARefusedClaimAsTheyAre(t *testing.T) {
	d := newDivisible(t, resources.Vector{6})
	tx := d.preempt(resources.Vector{4}, d.blocks[0])
	tx.Gang = true
	tx.Claim(omega.Claim{Machine: d.machine, Need: resources.Vector{0, 9}})
	d.commit(d.high, tx, 0)
	require.Equal(t, map[omega.AllocationID]resources.Vector{d.blocks[0]: {6}}, d.held())
	require.Equal(t, resources.Vector{6}, d.low.Usage())

	// The slot that was taken for the rest is free again: IDs are as if it had not been.
	other := newDivisible(t, resources.Vector{6})
	for _, one := range []*divisible{d, other} {
		one.commit(one.high, one.preempt(resources.Vector{4}, one.blocks[0]), 1)
	}
	for a := range other.low.Allocations() {
		require.Contains(t, slices.Collect(allocationNames(d.low)), a.ID.String())
	}
}

func allocationNames(s *omega.Scheduler) func(func(string) bool) {
	return func(yield func(string) bool) {
		for a := range s.Allocations() {
			if !yield(a.ID.String()) {
				return
			}
		}
	}
}

func TestCommit_TakesAllOfAnIndivisibleVictim(t *testing.T) {
	d := newDivisible(t, resources.Vector{2})
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: d.machine, Need: resources.Vector{6}})
	d.commit(d.high, &tx, 1)
	whole, _ := tx.Allocation(0)
	d.commit(d.high, d.preempt(resources.Vector{3}, whole, d.blocks[0]), 1)
	require.Equal(t, map[omega.AllocationID]resources.Vector{d.blocks[0]: {2}}, d.held(), "the whole one is enough")
	require.Equal(t, resources.Vector{3}, d.high.Usage())
}

func TestCommit_ResizesTheRestOfADivisibleVictim(t *testing.T) {
	d := newDivisible(t, resources.Vector{6})
	d.commit(d.high, d.preempt(resources.Vector{4}, d.blocks[0]), 1)
	mark := slices.Collect(d.low.Marked())[0]
	var tx omega.Txn
	tx.Resize(d.blocks[0], resources.Vector{1})
	d.commit(d.low, &tx, 0)
	require.ErrorIs(t, tx.Err(0), omega.ErrReleased, "the old one is gone")
	tx.Reset()
	tx.Resize(mark.Rest, resources.Vector{1})
	d.commit(d.low, &tx, 1)
	require.Equal(t, resources.Vector{1}, d.low.Usage())
}

func TestSave_KeepsWhetherASchedulerIsDivisible(t *testing.T) {
	d := newDivisible(t, resources.Vector{6})
	var saved bytes.Buffer
	require.NoError(t, d.cell.Save(&saved))
	cell, err := omega.Restore(&saved, nil)
	require.NoError(t, err)
	low, err := cell.Replace("low")
	require.NoError(t, err)
	require.Equal(t, omega.Limits{Divisible: true, Highest: 2}, low.Limits())
	high, err := cell.Replace("high")
	require.NoError(t, err)
	require.False(t, high.Limits().Divisible)
}

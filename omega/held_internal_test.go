package omega

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/resources"
)

// heldCell returns a cell of one machine, whose slots have room for so many kinds, and
// its schedulers.
func heldCell(t require.TestingT, kinds int) (*Cell, []*Scheduler) {
	capacity := resources.Uniform(resources.MaxQuantity)
	cell, err := NewCell(Config{Machines: []Machine{{Name: "a", Capacity: capacity}}})
	require.NoError(t, err)
	cell.layout = layoutFor(kinds)
	var schedulers []*Scheduler
	for i := range 3 {
		s, err := cell.Register(fmt.Sprint(i), Limits{Lowest: -3, Highest: 3})
		require.NoError(t, err)
		schedulers = append(schedulers, s)
	}
	return cell, schedulers
}

func claimHeld(t require.TestingT, s *Scheduler, need resources.Vector, p Precedence) AllocationID {
	var tx Txn
	tx.Claim(Claim{Machine: s.cell.machine(0, 0), Need: need, Precedence: p})
	granted, err := s.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 1, granted)
	id, _ := tx.Allocation(0)
	return id
}

// Of each machine a cut has the allocations as the slots have them, whether many are
// alike, all differ, or some have no room in a slot.
func TestHeld_IsTheSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell, schedulers := heldCell(t, rapid.IntRange(1, 3).Draw(t, "kinds"))
		kinds := rapid.SampledFrom([]int64{1, 3, 1 << 40}).Draw(t, "amounts of a kind")
		var ids []AllocationID
		for range rapid.IntRange(0, 300).Draw(t, "allocations") {
			s := schedulers[rapid.IntRange(0, 2).Draw(t, "scheduler")]
			need := resources.Vector{1}
			for k := range rapid.IntRange(1, 4).Draw(t, "kinds of the need") {
				need[k] = rapid.Int64Range(1, kinds).Draw(t, "amount")
			}
			ids = append(ids, claimHeld(t, s, need, Precedence(rapid.IntRange(-1, 1).Draw(t, "precedence"))))
		}
		cut := cell.Cut()
		want := make(map[AllocationID]record, len(ids))
		for _, id := range ids {
			rec, ok := cell.record(id)
			require.True(t, ok)
			want[id] = rec
		}
		for _, s := range schedulers { // later changes do not show in the cut
			for _, id := range ids {
				if want[id].tally.owner == s.owner {
					require.NoError(t, s.Release(id))
				}
			}
		}
		got := make(map[AllocationID]record, len(ids))
		held, last := &cut.machines[0].held, -1
		for h, rec := range held.records() {
			require.Greater(t, int(h.slot), last, "by slot")
			last = int(h.slot)
			got[allocationID(0, h.slot, cell.tag, h.seq)] = *rec
		}
		require.Equal(t, want, got)
	})
}

// In a cut, an allocation that is like another one on its machine takes 16 bytes.
func TestHeld_HasAllocationsThatAreAlikeOnce(t *testing.T) {
	cell, schedulers := heldCell(t, 3)
	for i := range 120 {
		claimHeld(t, schedulers[i%3], resources.Vector{int64(i/3%4) + 1, 1 << 40}, 0)
	}
	held := &cell.Cut().machines[0].held
	require.Len(t, held.all, 120)
	require.Len(t, held.forms, 12)
	require.Len(t, held.words, 12*3, "meta and two amounts")

	differ, schedulers := heldCell(t, 3)
	for i := range 400 {
		claimHeld(t, schedulers[0], resources.Vector{int64(i) + 1, 1 << 40}, 0)
	}
	held = &differ.Cut().machines[0].held
	require.Len(t, held.forms, 400)
	require.Less(t, cap(held.forms), 450, "the memory is not grown by steps")
	require.Less(t, cap(held.words), 3*450)
	require.True(t, slices.IsSortedFunc(held.forms, func(a, b form) int { return int(a.at) - int(b.at) }))
}

package omega_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// The theorem: whatever schedulers of no higher precedence commit, the first reservation is
// ready one length of an allocation after it began, and stays so.
func TestReservation_IsReadyWithinALength(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const length, machines = 5, 2
		cell, err := omega.NewCell(omega.Config{})
		require.NoError(t, err)
		var ids []omega.MachineID
		var claims []omega.Claim
		for i := range machines {
			capacity := resources.Vector{4, 4}.Add(vector(t, 4, "capacity"))
			m, err := cell.Add(omega.Machine{Name: fmt.Sprint(i), Capacity: capacity})
			require.NoError(t, err)
			ids = append(ids, m)
			if i == 0 || rapid.Bool().Draw(t, "gang") {
				claims = append(claims, omega.Claim{Machine: m, Need: some(vector(t, 4, "need")), Precedence: 1})
			}
		}
		limits := omega.Limits{Highest: 1}
		owner, err := cell.Register("owner", limits)
		require.NoError(t, err)
		other, err := cell.Register("other", limits)
		require.NoError(t, err)
		began := rapid.IntRange(0, 4).Draw(t, "begins")
		ends := map[omega.AllocationID]int{}
		needs := map[omega.AllocationID]omega.Claim{}
		for round := range began + length + 4 {
			var tx omega.Txn
			for id, end := range ends {
				if end == round {
					tx.Release(id)
					delete(ends, id)
					delete(needs, id)
				}
			}
			runs := map[int]int{} // by item
			for range rapid.IntRange(0, 6).Draw(t, "claims") {
				c := omega.Claim{
					Machine: rapid.SampledFrom(ids).Draw(t, "machine"), Need: some(vector(t, 4, "of other")),
					Precedence: omega.Precedence(rapid.IntRange(0, 1).Draw(t, "precedence")),
				}
				tx.Now, tx.Grace = clock, omega.AtOnce
				switch rapid.SampledFrom([]string{"claim", "claim", "preempt", "exchange", "reserve"}).Draw(t, "kind") {
				case "preempt":
					for id, was := range needs {
						if was.Machine == c.Machine && was.Precedence < c.Precedence {
							c.Victims = append(c.Victims, id)
							break
						}
					}
				case "reserve":
					if round > began {
						tx.Reserve(later, c) // it comes behind
					}
					continue
				case "exchange":
					for id, was := range needs {
						if _, live := ends[id]; live && was.Machine == c.Machine {
							i := tx.Exchange([]omega.AllocationID{id}, c)
							runs[i] = ends[id] // it goes on, no longer than the other would have
							delete(ends, id)
							needs[id] = c
							break
						}
					}
					continue
				}
				runs[tx.Claim(c)] = round + rapid.IntRange(1, length).Draw(t, "length")
			}
			if tx.Len() > 0 {
				_, err := other.Commit(&tx)
				require.NoError(t, err)
			}
			k := map[omega.AllocationID]omega.Claim{}
			for i, end := range runs {
				if id, ok := tx.Allocation(i); ok {
					ends[id] = end
				}
			}
			for a := range other.Allocations() {
				k[a.ID] = omega.Claim{Machine: a.Machine, Precedence: a.Precedence}
				if _, known := ends[a.ID]; !known { // the exchange was refused
					ends[a.ID] = round + 1
				}
			}
			for id := range ends {
				if _, live := k[id]; !live { // preempted or exchanged
					delete(ends, id)
				}
			}
			for mark := range other.Marked() {
				require.NoError(t, other.Release(mark.Allocation.ID))
			}
			needs = k
			if round == began {
				reserved(t, owner, later, claims...)
			}
			if round >= began+length {
				all := shown(owner, clock)
				require.NotEmpty(t, all)
				require.Equal(t, "owner", all[0].Scheduler)
				require.True(t, all[0].Ready, "round %d, it began in %d", round, began)
			}
		}
		_, err = send(t, owner, shown(owner, clock)[0].Claims...)
		require.NoError(t, err)
	})
}

// A claim that takes a part of a divisible allocation leaves the rest of it to the
// reservation first.
func TestReservation_HasWhatADivisibleVictimLeaves(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{4})
	low, err := cell.Register("low", omega.Limits{Divisible: true})
	require.NoError(t, err)
	s, err := cell.Register("s", omega.Limits{Highest: 1})
	require.NoError(t, err)
	victims, err := send(t, low, claim(ids[0], 4))
	require.NoError(t, err)
	c := omega.Claim{Machine: ids[0], Need: resources.Vector{2}, Precedence: 1}
	reserved(t, s, later, c)
	c.Need, c.Victims = resources.Vector{1}, victims
	_, err = sendAt(t, s, clock, c)
	require.NoError(t, err)
	require.True(t, shown(s, clock)[0].Ready)
	require.Equal(t, resources.Vector{1}, low.Usage(), "of 4, 1 is claimed and 2 are reserved")
	require.NoError(t, cell.Check())
}

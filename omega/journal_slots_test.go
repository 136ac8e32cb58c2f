package omega_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// The IDs of allocations do not depend on how many a machine once had: copies that are restored
// while it has few, and are fed the same operations, give out the same.
func TestJournal_CopiesOfAMachineThatHadManyGiveTheSameIDs(t *testing.T) {
	cell, log, _ := newTaped(t, omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{2000}}}})
	s, err := cell.Take(t.Context(), "s", omega.Limits{})
	require.NoError(t, err)
	m, _ := cell.Machine("m")
	rng := rand.New(rand.NewPCG(3, 3))
	var held []omega.AllocationID
	for _, most := range []int{3, 40, 2, 300, 5, 1500, 8, 100} {
		for len(held) != most {
			if len(held) > most {
				i := rng.IntN(len(held))
				require.NoError(t, s.Release(held[i]))
				held[i] = held[len(held)-1]
				held = held[:len(held)-1]
				continue
			}
			var tx omega.Txn
			commit(t, s, &tx, claim(m, 1))
			id, _ := tx.Allocation(0)
			held = append(held, id)
		}
		at, one := len(log.ops), copyOf(t, saved(t, cell))
		for range 30 {
			var tx omega.Txn
			tx.Release(held[0])
			for range rng.IntN(4) {
				tx.Claim(claim(m, 1))
			}
			_, err := s.Commit(&tx)
			require.NoError(t, err)
			held = held[1:]
			for i := range tx.Len() {
				if id, ok := tx.Allocation(i); ok {
					held = append(held, id)
				}
			}
			if len(held) == 0 {
				break
			}
		}
		log.play(t, one, at, len(log.ops))
		require.Equal(t, saved(t, cell), saved(t, one))
	}
}

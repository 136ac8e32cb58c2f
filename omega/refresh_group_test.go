package omega_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// A refresh copies what has changed and nothing else, however many machines that is
// and wherever they are in a large cell: below and above the first with a stamp.
func TestSnapshot_RefreshCopiesAnyNumberOfMachines(t *testing.T) {
	const machines = 9001
	cell, ids := newCell(t, machines, resources.Vector{1 << 30})
	mine, other := register(t, cell, "mine").Snapshot(), register(t, cell, "other")
	rng, held := rand.New(rand.NewPCG(1, 1)), map[omega.MachineID]int64{}
	for _, changed := range []int{0, 1, 2, 31, 32, 33, 63, 64, 65, 300, 808, 5000} {
		for _, from := range []int{0, 8000, 8192, machines - max(changed, 1)} {
			if from+changed > machines {
				continue
			}
			t.Run(fmt.Sprintf("changed=%d/from=%d", changed, from), func(t *testing.T) {
				touched := map[omega.MachineID]bool{}
				for _, n := range rng.Perm(machines - from)[:changed] {
					m := ids[from+n]
					commit(t, other, &omega.Txn{}, claim(m, 1))
					touched[m] = true
					held[m]++
				}
				copied := mine.RefreshEach(time.Time{}, func(m omega.MachineState) {
					require.True(t, touched[m.ID])
					delete(touched, m.ID)
				})
				require.Equal(t, changed, copied)
				require.Empty(t, touched)
				for _, m := range ids {
					free, ok := mine.Free(m)
					require.True(t, ok)
					require.Equal(t, 1<<30-held[m], free[0])
				}
			})
		}
	}
}

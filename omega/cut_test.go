package omega_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// machineCut is a machine of a cut, with its allocations.
type machineCut struct {
	state       omega.MachineState
	allocations []omega.Allocation
}

func wholeCut(cut *omega.Cut) (all []machineCut) {
	for m, allocations := range cut.Machines() {
		all = append(all, machineCut{m, slices.Clone(allocations)})
	}
	return all
}

// A cut of a cell at rest equals the cell, and later changes of the cell do not show
// in it.
func TestCut_IsTheCellAndStaysSo(t *testing.T) {
	cell, ids := newCell(t, 20, resources.Vector{50, 50})
	s, rng := ranked(t, cell, "s"), rand.New(rand.NewPCG(1, 2))
	var live []omega.AllocationID
	shuffle := func() {
		for range 100 {
			live = append(live, held(t, s, ids[1+rng.IntN(18)], omega.Precedence(rng.IntN(3)), resources.Vector{1 + rng.Int64N(3), rng.Int64N(3)})...)
			if i := rng.IntN(len(live)); i%2 == 0 {
				require.NoError(t, s.Release(live[i]))
				live = slices.Delete(live, i, i+1)
			}
		}
	}
	shuffle()
	require.NoError(t, cell.Drain(ids[0]))
	_, err := cell.Remove(ids[19])
	require.NoError(t, err)

	cut := cell.Cut()
	byMachine := map[omega.MachineID][]omega.Allocation{}
	for a := range cell.Allocations() {
		byMachine[a.Machine] = append(byMachine[a.Machine], a)
	}
	first := wholeCut(cut)
	require.Len(t, first, 19, "the removed one is left out")
	for i, state := range slices.Collect(cell.Machines()) {
		require.Equal(t, state, first[i].state)
		require.ElementsMatch(t, byMachine[state.ID], first[i].allocations)
	}
	shuffle()
	require.NoError(t, cell.Resume(ids[0]))
	_, err = cell.Remove(ids[5])
	require.NoError(t, err)
	require.Equal(t, first, wholeCut(cut))
	require.NotEqual(t, first, wholeCut(cell.Cut()))
	for range cut.Machines() {
		break // a walk may be left
	}
}

// A cut moves every machine's word and changes no machine: a scheduler with coarse
// detection is granted its claims.
func TestCut_IsNoChange(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{10})
	s := register(t, cell, "s")
	s.Snapshot().Refresh(time.Time{})
	before, _ := cell.State(ids[0])
	cell.Cut()
	after, _ := cell.State(ids[0])
	require.Equal(t, before, after)
	for _, detect := range []omega.Detection{omega.Coarse, omega.CoarseClaims} {
		tx := omega.Txn{Detect: detect, Gang: true}
		require.Equal(t, 2, commit(t, s, &tx, claim(ids[0], 1), claim(ids[1], 1)))
	}
	s.Snapshot().Refresh(time.Time{})
	room, _ := s.Snapshot().Free(ids[0])
	require.Equal(t, resources.Vector{8}, room)
	require.NoError(t, cell.Check())
}

// A scheduler claims pairs, one of each on a machine of either half, and is
// replaced again and again. No cut has one of a pair without the other, and each
// machine's books are right.
func TestCut_WhileASchedulerIsReplaced(t *testing.T) {
	const machines, most = 8, 20 // pairs for each scheduler
	rounds := 400
	if testing.Short() {
		rounds /= 10
	}
	cell, ids := newCell(t, machines, resources.Vector{1 << 20})
	first := register(t, cell, "s")
	successors := make(chan *omega.Scheduler, 1)
	var claiming, cutting sync.WaitGroup
	var over atomic.Bool
	pairs := 0
	claiming.Go(func() {
		rng := rand.New(rand.NewPCG(3, 4))
		for s, ok := first, true; ok; s, ok = <-successors {
			for n := 0; ; n++ {
				need := int64(1)
				if n >= most {
					need <<= 30 // does not fit
				}
				tx := omega.Txn{Gang: true}
				tx.Claim(claim(ids[rng.IntN(machines/2)], need))
				tx.Claim(claim(ids[machines/2+rng.IntN(machines/2)], need))
				granted, err := s.Commit(&tx)
				if errors.Is(err, omega.ErrSuperseded) {
					break
				}
				if err != nil {
					panic(err)
				}
				pairs += granted / 2
			}
		}
	})
	var cuts atomic.Int64
	cutting.Go(func() {
		for ; !over.Load(); cuts.Add(1) {
			var halves [2]int
			for m, allocations := range cell.Cut().Machines() {
				halves[int(m.ID.Node())*2/machines] += len(allocations)
				if m.Free[0]+int64(len(allocations)) != m.Capacity[0] {
					panic(fmt.Sprint(m, allocations))
				}
			}
			if halves[0] != halves[1] {
				panic(fmt.Sprint("a cut through pairs: ", halves))
			}
		}
	})
	for n := 0; n < rounds || cuts.Load() == 0; n++ { // cuts may begin late
		s, err := cell.Replace("s")
		require.NoError(t, err)
		successors <- s
	}
	_, err := cell.Replace("s") // and leaves it at that
	require.NoError(t, err)
	close(successors)
	claiming.Wait()
	over.Store(true)
	cutting.Wait()
	require.Len(t, slices.Collect(cell.Allocations()), 2*pairs)
	require.NoError(t, cell.Check())
}

// Capacity wanders as tokens do: machines come before others go, and one is
// enlarged before another is made smaller. No cut has less capacity than there
// always is, nor more than there ever is.
func TestCut_OfMachinesThatComeAndGo(t *testing.T) {
	const machines, capacity = 6, 10
	rounds := 5_000
	if testing.Short() {
		rounds /= 10
	}
	cell, ids := newCell(t, 2*machines, resources.Vector{capacity})
	resized, renewed := ids[:machines], ids[machines:]
	var changing, cutting sync.WaitGroup
	var over atomic.Bool
	changing.Go(func() {
		sizes := slices.Repeat([]int64{capacity}, machines)
		rng := rand.New(rand.NewPCG(5, 6))
		for range rounds {
			from, to := rng.IntN(machines), rng.IntN(machines)
			if from == to || sizes[from] == 0 {
				continue
			}
			sizes[from]--
			sizes[to]++
			for _, i := range []int{to, from} {
				if err := cell.SetCapacity(resized[i], resources.Vector{sizes[i]}); err != nil {
					panic(err)
				}
			}
		}
	})
	changing.Go(func() {
		for i := range rounds {
			added, err := cell.Add(omega.Machine{Name: fmt.Sprint("new-", i), Capacity: resources.Vector{capacity}})
			if err != nil {
				panic(err)
			}
			if _, err := cell.Remove(renewed[i%machines]); err != nil {
				panic(err)
			}
			renewed[i%machines] = added
		}
	})
	sums := map[int64]int{}
	cutting.Go(func() {
		for !over.Load() {
			var sum int64
			for m := range cell.Cut().Machines() {
				sum += m.Capacity[0]
			}
			sums[sum]++
		}
	})
	changing.Wait()
	over.Store(true)
	cutting.Wait()
	const all = 2 * machines * capacity
	for sum := range maps.Keys(sums) {
		require.Contains(t, []int64{all, all + 1, all + capacity, all + capacity + 1}, sum)
	}
	require.NoError(t, cell.Check())
}

package omega_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Tokens wander between machines while cuts are taken. Gangs move them that claim
// on one machine and release on another, and so do pairs of commits, one after the
// other. No cut misses a token, or sees one twice that a gang moves.
func TestCut_IsOneMoment(t *testing.T) {
	const movers, machines, tokens = 4, 12, 5
	rounds := 3_000
	if testing.Short() {
		rounds /= 10
	}
	cell, ids := newCell(t, machines, resources.Vector{1000})
	var wg, cutting sync.WaitGroup
	var over atomic.Bool
	var cuts atomic.Int64
	for i := range movers {
		s := register(t, cell, fmt.Sprint("mover-", i))
		var held []omega.AllocationID
		for range tokens {
			var tx omega.Txn
			require.Equal(t, 1, commit(t, s, &tx, claim(ids[i], 1)))
			a, _ := tx.Allocation(0)
			held = append(held, a)
		}
		rng := rand.New(rand.NewPCG(7, uint64(i)))
		wg.Go(func() {
			for done := 0; done < rounds || cuts.Load() == 0; done++ { // cuts may begin late
				n, to := rng.IntN(len(held)), ids[rng.IntN(machines)]
				tx := omega.Txn{Gang: true}
				tx.Claim(claim(to, 1))
				together := i%2 == 0
				if together {
					tx.Release(held[n])
				}
				if granted, err := s.Commit(&tx); granted != 1 || err != nil {
					panic(fmt.Sprint(granted, err))
				}
				if !together {
					if err := s.Release(held[n]); err != nil {
						panic(err)
					}
				}
				held[n], _ = tx.Allocation(0)
			}
		})
	}
	cutting.Go(func() {
		for ; !over.Load(); cuts.Add(1) {
			count := map[string]int{}
			for m, allocations := range cell.Cut().Machines() {
				used := resources.Vector{}
				for _, a := range allocations {
					count[a.Scheduler]++
					used = used.Add(a.Need)
				}
				if m.Free.Add(used) != m.Capacity || m.Live != len(allocations) {
					panic(fmt.Sprint(m, allocations))
				}
			}
			for i := range movers {
				n, most := count[fmt.Sprint("mover-", i)], tokens
				if i%2 == 1 {
					most++ // between its two commits
				}
				if n < tokens || n > most {
					panic(fmt.Sprintf("mover %d has %d tokens in a cut, want %d to %d", i, n, tokens, most))
				}
			}
		}
	})
	wg.Wait()
	over.Store(true)
	cutting.Wait()
	require.NoError(t, cell.Check())
}

// Once Replace has returned, no call of the old scheduler takes effect any more,
// even if it was in progress.
func TestReplace_StopsCommitsInProgress(t *testing.T) {
	const machines = 4
	rounds := 300
	if testing.Short() {
		rounds /= 10
	}
	cell, ids := newCell(t, machines, resources.Vector{1 << 40})
	current := register(t, cell, "s")
	var wg sync.WaitGroup
	for round := range rounds {
		old := current
		started := make(chan struct{})
		wg.Go(func() {
			for i := 0; ; i++ {
				tx := omega.Txn{Gang: i%2 == 0}
				for _, m := range ids[i%2*2:] {
					tx.Claim(claim(m, 1))
				}
				_, err := old.Commit(&tx)
				if i == round%7 {
					close(started)
				}
				if errors.Is(err, omega.ErrSuperseded) && i >= round%7 {
					return
				}
			}
		})
		<-started
		var err error
		current, err = cell.Replace("s")
		require.NoError(t, err)
		before := make([]uint64, machines)
		for i, m := range ids {
			state, _ := cell.State(m)
			before[i] = state.Seq
		}
		wg.Wait()
		for i, m := range ids {
			state, _ := cell.State(m)
			require.Equal(t, before[i], state.Seq, "a commit of the old epoch after Replace")
		}
	}
	var sum resources.Vector
	n := 0
	for a := range current.Allocations() {
		sum = sum.Add(a.Need)
		n++
	}
	require.Positive(t, n)
	require.Equal(t, sum, current.Usage(), "and nothing stays charged")
	require.NoError(t, cell.Check())
}

// Usage read while commits run is never below the amount allocated, though
// allocations move from scheduler to scheduler.
func TestUsage_IsNeverBelowWhatIsAllocated(t *testing.T) {
	rounds := 20_000
	if testing.Short() {
		rounds /= 10
	}
	cell, ids := newCell(t, 2, resources.Vector{100})
	account := accountOf(cell, "a")
	giver, taker := register(t, cell, "giver"), register(t, cell, "taker")
	var over atomic.Bool
	var wg, reading sync.WaitGroup
	var tx omega.Txn
	give := omega.Claim{Machine: ids[0], Account: account, Need: resources.Vector{5}, Grantee: taker}
	require.Equal(t, 1, commit(t, giver, &tx, give))
	a, _ := tx.Allocation(0)
	reading.Go(func() {
		for !over.Load() {
			used, err := cell.Usage(account)
			if err != nil || used[0] < 5 {
				panic(fmt.Sprint("usage ", used[0], ", want 5 at least: ", err))
			}
		}
	})
	wg.Go(func() {
		for range rounds { // to and fro; 5 are allocated all the time
			var there, back omega.Txn
			there.Exchange([]omega.AllocationID{a}, omega.Claim{Machine: ids[0], Account: account, Need: resources.Vector{5}, Grantee: giver})
			if n, err := taker.Commit(&there); n != 1 || err != nil {
				panic(fmt.Sprint(n, err, there.Err(0)))
			}
			a, _ = there.Allocation(0)
			back.Exchange([]omega.AllocationID{a}, give)
			if n, err := giver.Commit(&back); n != 1 || err != nil {
				panic(fmt.Sprint(n, err, back.Err(0)))
			}
			a, _ = back.Allocation(0)
		}
	})
	wg.Wait()
	over.Store(true)
	reading.Wait()
	used, err := cell.Usage(account)
	require.NoError(t, err)
	require.Equal(t, resources.Vector{5}, used)
	require.Equal(t, resources.Vector{5}, giver.Usage())
	require.Zero(t, taker.Usage())
	require.NoError(t, cell.Check())
}

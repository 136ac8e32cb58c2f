package omega_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// displace takes the place of an allocation for a moment.
func displace(s *omega.Scheduler, m omega.MachineID, victim omega.AllocationID) error {
	tx := omega.Txn{Now: time.Unix(1, 0), Grace: omega.AtOnce}
	tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{1}, Precedence: 1, Victims: []omega.AllocationID{victim}})
	if _, err := s.Commit(&tx); err != nil {
		return err
	}
	a, ok := tx.Allocation(0)
	if !ok {
		return tx.Err(0)
	}
	return s.Release(a)
}

// missing reports whether one of some allocations is not marked.
func missing(s *omega.Scheduler, some []omega.AllocationID) bool {
	found := 0
	for m := range s.Marked() {
		if slices.Contains(some, m.Allocation.ID) {
			found++
		}
	}
	return found < len(some)
}

// Two preemptors work at once, each victim is released soon after by its owner, and two
// readers read the marks. Each mark is there from when its commit has returned until it
// is released, none comes twice in one walk, and the list stays short.
func TestMarked_LosesNothingUnderLoad(t *testing.T) {
	const preemptors, lag = 2, 8 // marks that stand for each
	rounds := 50_000
	if testing.Short() {
		rounds /= 20
	}
	cell, ids := newCell(t, preemptors, resources.Vector{1 << 20})
	low := ranked(t, cell, "low")
	// What stands for sure: a reader that finds the same before and after its
	// walk has to have seen it.
	var standing [preemptors]atomic.Pointer[omega.AllocationID]
	var claiming sync.Mutex // of low, which is one scheduler
	var working, reading sync.WaitGroup
	var over atomic.Bool
	errs := make([]error, 2*preemptors)
	for i := range preemptors {
		high := ranked(t, cell, fmt.Sprint("high-", i))
		working.Go(func() {
			var marked []omega.AllocationID
			for n := 0; n < rounds && errs[i] == nil; n++ {
				var tx omega.Txn
				tx.Claim(claim(ids[i], 1))
				claiming.Lock()
				_, err := low.Commit(&tx)
				claiming.Unlock()
				a, _ := tx.Allocation(0)
				if err = errors.Join(err, displace(high, ids[i], a)); err != nil {
					errs[i] = err
					return
				}
				marked = append(marked, a)
				standing[i].Store(&a)
				if n%4 == 0 && missing(low, marked) {
					errs[i] = fmt.Errorf("one of the marks of %v is missing", marked)
					return
				}
				if len(marked) > lag {
					errs[i], marked = low.Release(marked[0]), marked[1:]
				}
			}
		})
		reading.Go(func() {
			for !over.Load() && errs[preemptors+i] == nil {
				before := standing[i].Load()
				seen := map[omega.AllocationID]bool{}
				for m := range low.Marked() {
					if seen[m.Allocation.ID] || m.Fate != omega.Preempted || m.Allocation.Need != (resources.Vector{1}) {
						errs[preemptors+i] = fmt.Errorf("mark %+v, the second: %v", m, seen[m.Allocation.ID])
					}
					seen[m.Allocation.ID] = true
				}
				if before != nil && before == standing[i].Load() && !seen[*before] {
					errs[preemptors+i] = fmt.Errorf("the mark of %v is missing", *before)
				}
			}
		})
	}
	working.Wait()
	over.Store(true)
	reading.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Len(t, slices.Collect(low.Marked()), preemptors*lag)
	require.Less(t, omega.MarksKept(low), 200)
	require.NoError(t, cell.Check())
}

// A list that is never read holds no more than what stands, and a few.
func TestMarked_UnreadStaysShort(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{10})
	low, high := ranked(t, cell, "low"), ranked(t, cell, "high")
	most := 0
	for range 100_000 {
		a := held(t, low, ids[0], 0, resources.Vector{1})[0]
		require.NoError(t, displace(high, ids[0], a))
		require.NoError(t, low.Release(a))
		most = max(most, omega.MarksKept(low))
	}
	require.LessOrEqual(t, most, 70)
	require.Empty(t, slices.Collect(low.Marked()))
}

package omega_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// holder is one scheduler of the stress test and its own books: what it was
// granted and has not released, by allocation.
type holder struct {
	cell  *omega.Cell
	s     *omega.Scheduler
	ids   []omega.MachineID
	rng   *rand.Rand
	held  map[omega.AllocationID]resources.Vector
	order []omega.AllocationID // keys of held, and released ones among them

	grants, refusals int
}

func (h *holder) need() resources.Vector {
	return resources.Vector{1 + h.rng.Int64N(4), h.rng.Int64N(16), h.rng.Int64N(2)}
}

// act commits one random transaction and books its outcome.
func (h *holder) act(tx *omega.Txn) error {
	tx.Reset()
	tx.Gang, tx.Detect = h.rng.IntN(3) == 0, omega.Fine
	if h.rng.IntN(8) == 0 {
		tx.Detect = omega.Coarse
	}
	snap := h.s.Snapshot()
	if tx.Detect == omega.Coarse || h.rng.IntN(8) == 0 {
		snap.Refresh(time.Time{})
	}
	claims := map[int]resources.Vector{}
	claim := func() {
		c := omega.Claim{Machine: h.ids[h.rng.IntN(len(h.ids))], Need: h.need()}
		claims[tx.Claim(c)] = c.Need
	}
	for range h.rng.IntN(4) {
		claim()
	}
	releases := map[int]omega.AllocationID{}
	for tx.Len() == 0 || len(h.held) > 60 && len(releases) < 3 {
		if len(h.order) == 0 {
			claim()
			break
		}
		i := h.rng.IntN(len(h.order))
		a := h.order[i]
		h.order[i] = h.order[len(h.order)-1]
		h.order = h.order[:len(h.order)-1]
		releases[tx.Release(a)] = a
	}
	granted, err := h.s.Commit(tx)
	if err != nil {
		return err
	}

	for i, a := range releases {
		if err := tx.Err(i); err != nil {
			return fmt.Errorf("own live allocation %v: %w", a, err)
		}
		delete(h.held, a)
		if err := h.s.Release(a); !errors.Is(err, omega.ErrReleased) {
			return fmt.Errorf("second release of %v: %w", a, err)
		}
	}
	got := 0
	for i, need := range claims {
		if a, ok := tx.Allocation(i); ok {
			h.held[a], h.order = need, append(h.order, a)
			got++
		}
	}
	h.grants, h.refusals = h.grants+got, h.refusals+len(claims)-got
	if granted != got || tx.Gang && got != 0 && got != len(claims) {
		return fmt.Errorf("gang=%v: commit says %d, items say %d of %d", tx.Gang, granted, got, len(claims))
	}
	return nil
}

// Eight schedulers commit a million random transactions, gangs and single claims mixed,
// while machines are drained and read. Nothing is lost, nothing is there twice, nothing
// is overcommitted, and nothing is left at the end.
func TestCommit_ConservesUnderStress(t *testing.T) {
	const schedulers, machines = 8, 20
	txns := 1_000_000 / schedulers
	if testing.Short() {
		txns /= 20
	}
	capacity := resources.Vector{64, 200, 12}
	cell, ids := newCell(t, machines, capacity)
	holders, errs := make([]*holder, schedulers), make([]error, schedulers)
	var wg, watch sync.WaitGroup
	var over atomic.Bool
	var watched error
	watch.Go(func() {
		for i := 0; !over.Load() && watched == nil; i++ {
			m := ids[i%machines]
			watched = errors.Join(cell.Drain(m), cell.Check(), cell.Resume(m))
		}
	})
	for i := range holders {
		h := &holder{
			cell: cell, s: register(t, cell, fmt.Sprint("scheduler-", i)), ids: ids,
			rng: rand.New(rand.NewPCG(1, uint64(i))), held: map[omega.AllocationID]resources.Vector{},
		}
		holders[i] = h
		wg.Go(func() {
			var tx omega.Txn
			// On a single processor the first may be done before the others begin:
			// it goes on until they are in its way.
			for n := 0; n < txns || h.refusals == 0 && n < 100*txns; n++ {
				if errs[i] = h.act(&tx); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	over.Store(true)
	watch.Wait()
	require.NoError(t, errors.Join(append(errs, watched)...))
	require.NoError(t, cell.Check())

	live := 0
	for a := range cell.Allocations() {
		i := 0
		for holders[i].s.Name() != a.Scheduler {
			i++
		}
		require.Contains(t, holders[i].held, a.ID, "an allocation nobody was told of")
		require.Equal(t, holders[i].held[a.ID], a.Need)
		live++
	}
	for _, h := range holders {
		require.Positive(t, h.grants)
		require.Positive(t, h.refusals)
		live -= len(h.held)
		for a := range h.held {
			require.NoError(t, h.s.Release(a))
		}
	}
	require.Zero(t, live, "allocations that were granted and are not in the cell")
	for m := range cell.Machines() {
		require.Equal(t, capacity, m.Free)
		require.Zero(t, m.Live)
	}
}

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

// keeper holds one allocation of size keeps for an account at any time. It
// changes the allocation in all ways there are.
type keeper struct {
	s        *omega.Scheduler
	ids      []omega.MachineID
	kept, to omega.Account // charged for the kept allocation, and for noise
	rng      *rand.Rand
	has      omega.AllocationID
	rank     omega.Precedence // of that
}

var keeps = resources.Vector{4, 7}

func (k *keeper) claim() omega.Claim {
	return omega.Claim{
		Machine: k.ids[k.rng.IntN(len(k.ids))], Need: keeps, Account: k.kept,
		Precedence: omega.Precedence(k.rng.IntN(11)),
	}
}

// act moves the kept allocation once. It never releases it before it has another.
func (k *keeper) act() error {
	tx := omega.Txn{Now: time.Unix(1, 0), Grace: omega.AtOnce}
	old, let := k.has, false // let: old is still to be released
	c := k.claim()
	switch k.rng.IntN(4) {
	case 0: // elsewhere, and then not here any more
		tx.Claim(c)
		let = true
	case 1: // in one step over two machines
		tx.Gang = true
		tx.Claim(c)
		tx.Release(old)
	case 2:
		more := keeps
		more[0] += k.rng.Int64N(3)
		tx.Resize(old, more)
		c.Precedence = k.rank
	case 3: // by preemption: the preemptor is charged in place of the victim
		c.Machine, c.Precedence, c.Victims = k.ids[old.Node()], (k.rank+1)%11, []omega.AllocationID{old}
		if c.Precedence == 0 { // nothing is above it
			c.Victims = nil
		}
		tx.Claim(c)
		let = true
	}
	if _, err := k.s.Commit(&tx); err != nil {
		return err
	}
	a, ok := tx.Allocation(0)
	if !ok {
		return fmt.Errorf("keeping: %w", tx.Err(0))
	}
	k.has, k.rank = a, c.Precedence
	if let {
		if err := k.s.Release(old); err != nil {
			return err
		}
	}
	if a.Node() != old.Node() || k.rng.IntN(4) > 0 {
		return nil
	}
	// Noise: an allocation for another account, and a claim that is refused.
	tx = omega.Txn{}
	noise, refused := k.claim(), k.claim()
	noise.Account, refused.Need = k.to, resources.Vector{1 << 40}
	tx.Claim(noise)
	tx.Claim(refused)
	if _, err := k.s.Commit(&tx); err != nil {
		return err
	}
	b, _ := tx.Allocation(0)
	return k.s.Release(b)
}

// Usage that is read while commits run is never below the amount allocated, per
// account and per scheduler. It is exact when no commit runs.
func TestUsage_IsNeverBelowWhileCommitsRun(t *testing.T) {
	const keepers = 4
	rounds := 30_000
	if testing.Short() {
		rounds /= 10
	}
	cell, ids := newCell(t, 5, resources.Vector{1 << 20, 1 << 20})
	kept, other := accountOf(cell, "kept"), accountOf(cell, "other")
	var all []*keeper
	var over atomic.Bool
	var working, reading sync.WaitGroup
	errs := make([]error, keepers+1)
	for i := range keepers {
		s, err := cell.Register(fmt.Sprint(i), omega.Limits{Highest: 10, Held: &resources.Vector{1 << 20, 1 << 20}})
		require.NoError(t, err)
		k := &keeper{s: s, ids: ids, kept: kept, to: other, rng: rand.New(rand.NewPCG(3, uint64(i)))}
		var tx omega.Txn
		require.Equal(t, 1, commit(t, s, &tx, k.claim()))
		k.has, _ = tx.Allocation(0)
		all = append(all, k)
		working.Go(func() {
			for n := 0; n < rounds && errs[i] == nil; n++ {
				errs[i] = k.act()
			}
		})
	}
	reading.Go(func() {
		for !over.Load() && errs[keepers] == nil {
			used, err := cell.Usage(kept)
			if !keeps.Scale(keepers).Fits(used) {
				err = errors.Join(err, fmt.Errorf("account: usage %v is below %v", used, keeps.Scale(keepers)))
			}
			for _, k := range all {
				if own := k.s.Usage(); !keeps.Fits(own) {
					err = errors.Join(err, fmt.Errorf("scheduler %s: usage %v is below %v", k.s.Name(), own, keeps))
				}
			}
			errs[keepers] = err
		}
	})
	working.Wait()
	over.Store(true)
	reading.Wait()
	require.NoError(t, errors.Join(errs...))

	sums, bySchedulers := map[omega.Account]resources.Vector{}, map[string]resources.Vector{}
	for a := range cell.Allocations() {
		sums[a.Account] = sums[a.Account].Add(a.Need)
		bySchedulers[a.Scheduler] = bySchedulers[a.Scheduler].Add(a.Need)
	}
	for _, account := range []omega.Account{0, kept, other} {
		used, err := cell.Usage(account)
		require.NoError(t, err)
		require.Equal(t, sums[account], used)
	}
	for _, k := range all {
		require.Equal(t, bySchedulers[k.s.Name()], k.s.Usage())
	}
	_, err := cell.Usage(99)
	require.ErrorIs(t, err, omega.ErrUnknown)
	require.ErrorContains(t, err, "account 99")
	require.NoError(t, cell.Check())
}

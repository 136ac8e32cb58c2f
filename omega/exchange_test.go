package omega_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// offers makes claims of master that taker may exchange.
func offers(t *testing.T, master, taker *omega.Scheduler, m omega.MachineID, needs ...int64) []omega.AllocationID {
	t.Helper()
	var tx omega.Txn
	for _, need := range needs {
		tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{need}, Grantee: taker})
	}
	granted, err := master.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, len(needs), granted)
	ids := make([]omega.AllocationID, len(needs))
	for i := range ids {
		ids[i], _ = tx.Allocation(i)
	}
	return ids
}

func TestExchange_CombinesOffersAndReturnsTheRest(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{10})
	master, taker, other := register(t, cell, "master"), register(t, cell, "taker"), register(t, cell, "other")
	from := offers(t, master, taker, ids[0], 4, 5)

	var foreign omega.Txn
	i := foreign.Exchange(from[:1], claim(ids[0], 1))
	granted, err := other.Commit(&foreign)
	require.NoError(t, err)
	require.Zero(t, granted)
	require.ErrorIs(t, foreign.Err(i), omega.ErrNotOwner)

	// Too much, even with what is free: nothing changes, neither offer.
	var greedy omega.Txn
	first := greedy.Exchange(from, claim(ids[0], 6), claim(ids[0], 5))
	granted, err = taker.Commit(&greedy)
	require.NoError(t, err)
	require.Zero(t, granted)
	require.ErrorIs(t, greedy.Err(first), omega.ErrConflict)
	require.Error(t, greedy.Err(first+1))
	require.EqualValues(t, 1, free(t, cell, ids[0]))
	require.Equal(t, resources.Vector{9}, master.Usage())
	require.Zero(t, taker.Usage())

	var tx omega.Txn
	first = tx.Exchange(from, claim(ids[0], 6), claim(ids[0], 1))
	granted, err = taker.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 2, granted)
	for i := range 2 {
		a, ok := tx.Allocation(first + i)
		require.True(t, ok)
		require.ErrorIs(t, master.Release(a), omega.ErrNotOwner)
	}
	require.EqualValues(t, 3, free(t, cell, ids[0]))
	require.Zero(t, master.Usage())
	require.Equal(t, resources.Vector{7}, taker.Usage())
	for _, a := range from {
		require.ErrorIs(t, master.Release(a), omega.ErrReleased, "an offer is taken once")
	}
	require.NoError(t, cell.Check())
}

// A gang takes offers on several machines, all or none.
func TestExchange_InAGangIsAllOrNothing(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{10})
	master, taker := register(t, cell, "master"), register(t, cell, "taker")
	a, b := offers(t, master, taker, ids[0], 10), offers(t, master, taker, ids[1], 10)
	for _, need := range []int64{11, 10} {
		tx := omega.Txn{Gang: true}
		tx.Exchange(a, claim(ids[0], 10))
		tx.Exchange(b, claim(ids[1], need))
		granted, err := taker.Commit(&tx)
		require.NoError(t, err)
		if need == 11 {
			require.Zero(t, granted)
			require.Equal(t, resources.Vector{20}, master.Usage())
			continue
		}
		require.Equal(t, 2, granted)
		require.Zero(t, master.Usage())
	}
	require.NoError(t, cell.Check())
}

// An offer that is rescinded or preempted first cannot be taken any more.
func TestExchange_LosesToTheFirstCommit(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{10})
	master, taker := register(t, cell, "master"), register(t, cell, "taker")
	offer := offers(t, master, taker, ids[0], 5)
	require.NoError(t, master.Release(offer[0]))
	var tx omega.Txn
	tx.Exchange(offer, claim(ids[0], 1))
	granted, err := taker.Commit(&tx)
	require.NoError(t, err)
	require.Zero(t, granted)
	require.ErrorIs(t, tx.Err(0), omega.ErrReleased)
	require.EqualValues(t, 10, free(t, cell, ids[0]))
}

func TestResize_GrowsAndShrinksInOneStep(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{10})
	s, other := register(t, cell, "s"), register(t, cell, "other")
	account := accountOf(cell, "tenant")
	var tx omega.Txn
	c := claim(ids[0], 4)
	c.Account = account
	commit(t, s, &tx, c)
	a, _ := tx.Allocation(0)
	commit(t, other, &omega.Txn{}, claim(ids[0], 3))

	resize := func(s *omega.Scheduler, need int64) (omega.AllocationID, error) {
		var tx omega.Txn
		i := tx.Resize(a, resources.Vector{need})
		_, err := s.Commit(&tx)
		require.NoError(t, err)
		b, _ := tx.Allocation(i)
		return b, tx.Err(i)
	}
	_, err := resize(other, 1)
	require.ErrorIs(t, err, omega.ErrNotOwner)
	_, err = resize(s, 8)
	require.ErrorIs(t, err, omega.ErrConflict)
	b, err := resize(s, 7)
	require.NoError(t, err)
	require.ErrorIs(t, s.Release(a), omega.ErrReleased, "it has a new ID")
	require.NoError(t, cell.Drain(ids[0]))
	a = b
	a, err = resize(s, 1)
	require.NoError(t, err, "also on a machine that takes nothing new")
	used, err := cell.Usage(account)
	require.NoError(t, err)
	require.Equal(t, resources.Vector{1}, used, "it stays its account's")
	require.EqualValues(t, 6, free(t, cell, ids[0]))
	require.NoError(t, s.Release(a))
	_, err = resize(s, 1)
	require.ErrorIs(t, err, omega.ErrReleased)
	require.NoError(t, cell.Check())
}

func TestExchange_RefusesWhatMakesNoSense(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{10})
	elsewhere, _ := newCell(t, 1, resources.Vector{10})
	s := register(t, cell, "s")
	from := offers(t, s, s, ids[0], 2)
	tests := map[string]struct {
		fill func(*omega.Txn)
		err  error
	}{
		"claims on two machines": {func(tx *omega.Txn) { tx.Exchange(from, claim(ids[0], 1), claim(ids[1], 1)) }, omega.ErrExchange},
		"from another machine":   {func(tx *omega.Txn) { tx.Exchange(from, claim(ids[1], 1)) }, omega.ErrExchange},
		"grantee of another cell": {func(tx *omega.Txn) {
			tx.Claim(omega.Claim{Machine: ids[0], Grantee: register(t, elsewhere, "x")})
		}, omega.ErrUnknown},
		"for nothing": {func(tx *omega.Txn) { require.Equal(t, -1, tx.Exchange(from)) }, omega.ErrEmpty},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var tx omega.Txn
			tt.fill(&tx)
			_, err := s.Commit(&tx)
			require.ErrorIs(t, err, tt.err)
			require.EqualValues(t, 8, free(t, cell, ids[0]))
		})
	}
	var twice omega.Txn
	twice.Exchange([]omega.AllocationID{from[0], from[0]}, claim(ids[0], 4))
	granted, err := s.Commit(&twice)
	require.NoError(t, err)
	require.Zero(t, granted)
	require.ErrorIs(t, twice.Err(0), omega.ErrReleased)
	require.NoError(t, s.Release(from[0]), "and it is as it was")
}

// An exchange that is refused does not keep the owner from releasing the allocations that
// were to be exchanged. Whatever falls in between, they are gone and their room is free.
func TestExchange_RefusedBlocksNoRelease(t *testing.T) {
	rounds := 20_000
	if testing.Short() {
		rounds /= 10
	}
	cell, ids := newCell(t, 1, resources.Vector{10})
	master, taker := register(t, cell, "master"), register(t, cell, "taker")
	for range rounds {
		offer := offers(t, master, taker, ids[0], 4)
		var wg sync.WaitGroup
		var released error
		wg.Go(func() { released = master.Release(offer[0]) })
		var tx omega.Txn
		tx.Exchange(offer, claim(ids[0], 11))
		granted, err := taker.Commit(&tx)
		wg.Wait()
		require.NoError(t, err)
		require.Zero(t, granted)
		require.NoError(t, released)
		require.EqualValues(t, 10, free(t, cell, ids[0]))
	}
	// A granted exchange takes the room or comes too late; the room is never lost.
	for range rounds {
		offer := offers(t, master, taker, ids[0], 4)
		var wg sync.WaitGroup
		wg.Go(func() { _ = master.Release(offer[0]) })
		var tx omega.Txn
		tx.Exchange(offer, claim(ids[0], 3))
		granted, err := taker.Commit(&tx)
		wg.Wait()
		require.NoError(t, err)
		require.EqualValues(t, 10-3*granted, free(t, cell, ids[0]))
		require.ErrorIs(t, master.Release(offer[0]), omega.ErrReleased)
		if a, ok := tx.Allocation(0); ok {
			require.NoError(t, taker.Release(a))
		}
	}
	require.NoError(t, cell.Check())
	require.Zero(t, master.Usage())
	require.Zero(t, taker.Usage())
}

// An allocation that waits for its victims to leave can be an offer too.
func TestExchange_OfAnOfferThatWaits(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{10})
	low, master, taker := ranked(t, cell, "low"), ranked(t, cell, "master"), ranked(t, cell, "taker")
	victims := held(t, low, ids[0], 0, resources.Vector{10})
	offer := omega.Txn{Now: time.Unix(1000, 0), Grace: time.Minute}
	require.Equal(t, 1, commit(t, master, &offer, omega.Claim{
		Machine: ids[0], Need: resources.Vector{6}, Precedence: 1, Victims: victims, Grantee: taker,
	}))
	from, _ := offer.Allocation(0)

	tx := omega.Txn{Now: offer.Now}
	tx.Exchange([]omega.AllocationID{from}, claim(ids[0], 5))
	granted, err := taker.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 1, granted, "%v", tx.Err(0))
	require.Equal(t, resources.Vector{5}, taker.Usage())
}

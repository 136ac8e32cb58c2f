package omega_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// unchanged requires that nothing is allocated in a cell of machines that have
// the given capacity, and that all is in order.
func unchanged(t *testing.T, cell *omega.Cell, capacity resources.Vector) {
	t.Helper()
	require.NoError(t, cell.Check())
	for m := range cell.Machines() {
		require.Equal(t, capacity, m.Free)
		require.Zero(t, m.Live)
	}
	used, err := cell.Usage(0)
	require.NoError(t, err)
	require.Zero(t, used)
}

// Needs that are negative or too large are refused as a whole, by their kind,
// before anything is added up.
func TestFault_NegativeAndOverflowingNeeds(t *testing.T) {
	capacity := resources.Vector{1000, resources.MaxQuantity / 4}
	for name, need := range map[string]resources.Vector{
		"one negative kind":     {-1},
		"the second negative":   {2, -5},
		"as negative as can be": {math.MinInt64},
		"as large as can be":    {math.MaxInt64},
		"above the limit":       {0, resources.MaxQuantity + 1},
	} {
		t.Run(name, func(t *testing.T) {
			cell, ids := newCell(t, 2, capacity)
			s := register(t, cell, "s")
			for _, gang := range []bool{false, true} {
				tx := omega.Txn{Gang: gang}
				tx.Claim(omega.Claim{Machine: ids[1], Need: resources.Vector{1}})
				tx.Claim(omega.Claim{Machine: ids[0], Need: need})
				_, err := s.Commit(&tx)
				require.ErrorIs(t, err, resources.ErrQuantity)
				require.ErrorContains(t, err, "item 1")
			}
			a := held(t, s, ids[0], 0, resources.Vector{1})[0]
			var tx omega.Txn
			tx.Resize(a, need)
			_, err := s.Commit(&tx)
			require.ErrorIs(t, err, resources.ErrQuantity)
			require.NoError(t, s.Release(a))
			require.ErrorIs(t, cell.SetCapacity(ids[0], need), resources.ErrQuantity)
			_, err = cell.Add(omega.Machine{Name: "new", Capacity: need})
			require.ErrorIs(t, err, resources.ErrQuantity)
			require.ErrorIs(t, s.Wait(t.Context(), need), resources.ErrQuantity)
			unchanged(t, cell, capacity)
		})
	}
	// Each is valid, their sum would wrap: so is that of the capacities.
	whole := resources.Vector{0, resources.MaxQuantity}
	cell, ids := newCell(t, 1, whole)
	s := register(t, cell, "s")
	for _, gang := range []bool{false, true} {
		tx := omega.Txn{Gang: gang}
		for range 3 {
			tx.Claim(omega.Claim{Machine: ids[0], Need: whole})
		}
		_, err := s.Commit(&tx)
		require.ErrorIs(t, err, resources.ErrQuantity)
		require.ErrorContains(t, err, "item 1: needs add up to more than")
	}
	_, err := cell.Add(omega.Machine{Name: "more", Capacity: resources.Vector{0, 1}})
	require.ErrorIs(t, err, resources.ErrQuantity)
	// A claim that is refused is counted for a moment beside what is held.
	a := held(t, s, ids[0], 0, whole)[0]
	var tx omega.Txn
	require.Zero(t, commit(t, s, &tx, omega.Claim{Machine: ids[0], Need: whole}))
	require.ErrorIs(t, tx.Err(0), omega.ErrConflict)
	require.Equal(t, whole, s.Usage())
	require.NoError(t, s.Release(a))
	unchanged(t, cell, whole)
	require.NoError(t, cell.SetCapacity(ids[0], resources.Vector{}))
	_, err = cell.Add(omega.Machine{Name: "more", Capacity: whole})
	require.NoError(t, err)
}

// Of two calls that release the same allocation at once one succeeds, and the other gets
// an error.
func TestFault_DoubleRelease(t *testing.T) {
	rounds := 100_000
	if testing.Short() {
		rounds /= 20
	}
	capacity := resources.Vector{10}
	cell, ids := newCell(t, 1, capacity)
	s := register(t, cell, "s")
	busy := register(t, cell, "busy")
	start, ended := make(chan omega.AllocationID), make(chan error)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for a := range start {
				ended <- s.Release(a)
			}
		})
	}
	for range rounds {
		a := held(t, s, ids[0], 0, resources.Vector{3})[0]
		start <- a
		start <- a
		// Another scheduler takes slots meanwhile.
		var tx omega.Txn
		commit(t, busy, &tx, claim(ids[0], 1))
		b, _ := tx.Allocation(0)
		require.NoError(t, busy.Release(b))
		first, second := <-ended, <-ended
		require.NotEqual(t, first == nil, second == nil, "%v, %v", first, second)
		require.ErrorIs(t, errors.Join(first, second), omega.ErrReleased)
	}
	close(start)
	wg.Wait()
	unchanged(t, cell, capacity)
}

// IDs that are foreign, of another owner, stale or of nothing are refused. The present
// owner of the slot keeps it.
func TestFault_ForeignAndStaleIDs(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{10})
	other, otherIDs := newCell(t, 1, resources.Vector{10})
	a, b := register(t, cell, "a"), register(t, cell, "b")
	stale := held(t, a, ids[0], 0, resources.Vector{1})[0]
	require.NoError(t, a.Release(stale))
	reused := held(t, b, ids[0], 0, resources.Vector{2})[0] // the same slot
	foreign := held(t, register(t, other, "a"), otherIDs[0], 0, resources.Vector{1})[0]
	for name, tt := range map[string]struct {
		id  omega.AllocationID
		err error
	}{
		"stale":      {stale, omega.ErrReleased},
		"not its":    {reused, omega.ErrNotOwner},
		"foreign":    {foreign, omega.ErrReleased},
		"of nothing": {omega.AllocationID{}, omega.ErrReleased},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, a.Release(tt.id), tt.err)
			var tx omega.Txn
			tx.Release(tt.id)
			tx.Resize(tt.id, resources.Vector{1})
			_, err := a.Commit(&tx)
			require.NoError(t, err)
			require.ErrorIs(t, tx.Err(0), tt.err)
			require.ErrorIs(t, tx.Err(1), tt.err)
		})
	}
	require.EqualValues(t, 8, free(t, cell, ids[0]))
	require.NoError(t, b.Release(reused))
	unchanged(t, cell, resources.Vector{10})
}

// An error about an allocation that is not the scheduler's names the owner, or says
// that it is another cell's, however it is named.
func TestFault_NamesTheOwnerOfAForeignAllocation(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{10})
	other, otherIDs := newCell(t, 2, resources.Vector{10})
	a, b := ranked(t, cell, "a"), ranked(t, cell, "b")
	theirs := held(t, b, ids[0], 0, resources.Vector{1})[0]
	abroad := held(t, register(t, other, "a"), otherIDs[0], 0, resources.Vector{1})[0]
	gone := held(t, a, ids[0], 0, resources.Vector{2})[0]
	require.NoError(t, a.Release(gone))
	one := resources.Vector{1}
	_, unready := cell.ReadyAt(abroad)
	commitAll := func(fill func(tx *omega.Txn)) error {
		tx := omega.Txn{Now: time.Unix(1, 0), Grace: omega.AtOnce}
		fill(&tx)
		granted, err := a.Commit(&tx)
		require.Zero(t, granted)
		if err != nil {
			return err
		}
		return tx.Err(0)
	}
	for text, tt := range map[string]struct{ err, is error }{
		`omega: release of allocation 0/0/2 of scheduler "b": allocation belongs to another scheduler`:  {a.Release(theirs), omega.ErrNotOwner},
		`omega: release of allocation 0/0/2 of another cell: allocation is unknown or already released`: {a.Release(abroad), omega.ErrReleased},
		`omega: release of allocation 0/0/0: allocation is unknown or already released`:                 {a.Release(omega.AllocationID{}), omega.ErrReleased},
		`omega: release of allocation ` + gone.String() + `: allocation is unknown or already released`: {
			commitAll(func(tx *omega.Txn) { tx.Release(gone) }), omega.ErrReleased,
		},
		`omega: claim on "node-0": allocation 0/0/2 of scheduler "b": allocation belongs to another scheduler`: {
			commitAll(func(tx *omega.Txn) { tx.Exchange([]omega.AllocationID{theirs}, claim(ids[0], 1)) }), omega.ErrNotOwner,
		},
		`omega: claim on "node-0": allocation 0/0/2 of another cell: allocation is unknown or already released`: {
			commitAll(func(tx *omega.Txn) { tx.Exchange([]omega.AllocationID{abroad}, claim(ids[0], 1)) }), omega.ErrReleased,
		},
		`omega: claim on "node-1": allocation 0/0/2 of another cell: allocation is unknown or already released`: {
			commitAll(func(tx *omega.Txn) { tx.Exchange([]omega.AllocationID{abroad}, claim(ids[1], 1)) }), omega.ErrReleased,
		},
		`omega: invalid victim: item 0: victim 0/0/2 of another cell, for a claim on machine "node-0"`: {
			commitAll(func(tx *omega.Txn) {
				tx.Claim(omega.Claim{Machine: ids[0], Need: one, Precedence: 1, Victims: []omega.AllocationID{abroad}})
			}), omega.ErrVictim,
		},
		`omega: invalid victim: item 0: victim 0/0/2 of a claim on machine "node-1": not on that machine`: {
			commitAll(func(tx *omega.Txn) {
				tx.Claim(omega.Claim{Machine: ids[1], Need: one, Precedence: 1, Victims: []omega.AllocationID{theirs}})
			}), omega.ErrVictim,
		},
		`omega: claim on "node-0": allocation ` + gone.String() + `: allocation is unknown or already released`: {
			commitAll(func(tx *omega.Txn) {
				tx.Claim(omega.Claim{Machine: ids[0], Need: one, Precedence: 1, Victims: []omega.AllocationID{gone}})
			}), omega.ErrReleased,
		},
		`omega: allocation 0/0/2 of another cell: allocation is unknown or already released`: {unready, omega.ErrReleased},
	} {
		require.ErrorIs(t, tt.err, tt.is, text)
		require.EqualError(t, tt.err, text)
	}
	// A release in a transaction says so too, and a resize.
	for _, id := range []omega.AllocationID{theirs, abroad} {
		var tx omega.Txn
		tx.Release(id)
		tx.Resize(id, one)
		_, err := a.Commit(&tx)
		require.NoError(t, err)
		require.EqualError(t, tx.Err(0), a.Release(id).Error())
		require.ErrorContains(t, tx.Err(1), map[bool]string{true: `0/0/2 of scheduler "b"`, false: "0/0/2 of another cell"}[id == theirs])
	}
	require.EqualValues(t, 9, free(t, cell, ids[0]))
	require.NoError(t, b.Release(theirs))
	unchanged(t, cell, resources.Vector{10})
}

// A gang that can never fit is refused with the reason and holds up no other. Once a
// machine makes it fit, it is granted.
func TestFault_GangThatCanNeverFit(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{10})
	s, other := register(t, cell, "s"), register(t, cell, "other")
	commitGang := func(machines ...omega.MachineID) (int, *omega.Txn) {
		tx := &omega.Txn{Gang: true}
		for _, m := range machines {
			tx.Claim(claim(m, 10))
		}
		granted, err := s.Commit(tx)
		require.NoError(t, err)
		return granted, tx
	}
	granted, tx := commitGang(ids[0], ids[1], ids[1])
	require.Zero(t, granted)
	require.ErrorIs(t, tx.Err(2), omega.ErrConflict)
	var small omega.Txn
	require.Equal(t, 1, commit(t, other, &small, claim(ids[0], 1)), "nothing was taken")
	a, _ := small.Allocation(0)
	require.NoError(t, other.Release(a))
	q := omega.Query{Need: resources.Vector{11}}
	require.Equal(t, "0 of 2 machines will do, 2 too small in kind0, missing kind0=1 on the nearest", s.Snapshot().Explain(q).String())
	added, err := cell.Add(omega.Machine{Name: "new", Capacity: resources.Vector{10}})
	require.NoError(t, err)
	granted, _ = commitGang(ids[0], ids[1], added)
	require.Equal(t, 3, granted)
	require.NoError(t, cell.Check())
}

// A machine that is named several times counts once, with the sum.
func TestFault_SameMachineSeveralTimes(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{10})
	s := register(t, cell, "s")
	tx := omega.Txn{Gang: true}
	require.Zero(t, commit(t, s, &tx, claim(ids[0], 4), claim(ids[0], 4), claim(ids[0], 4)))
	require.EqualValues(t, 10, free(t, cell, ids[0]))
	tx.Reset()
	require.Equal(t, 3, commit(t, s, &tx, claim(ids[0], 4), claim(ids[0], 4), claim(ids[0], 2)))
	require.Zero(t, free(t, cell, ids[0]))
}

// A transaction that two goroutines commit at once goes through once, and one
// that is filled while it is committed takes nothing more.
func TestFault_OneTransactionTwoGoroutines(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{1 << 40})
	schedulers := []*omega.Scheduler{register(t, cell, "a"), register(t, cell, "b")}
	for range 2000 {
		var tx omega.Txn
		tx.Claim(claim(ids[0], 1))
		var wg sync.WaitGroup
		var errs [2]error
		for i, s := range schedulers {
			wg.Go(func() { _, errs[i] = s.Commit(&tx) })
		}
		wg.Wait()
		require.NotEqual(t, errs[0] == nil, errs[1] == nil)
		require.ErrorIs(t, errors.Join(errs[:]...), omega.ErrCommitted)
	}
	require.Equal(t, int64(1<<40-2000), free(t, cell, ids[0]))
	require.NoError(t, cell.Check())
}

// No argument makes a call panic.
func TestFault_NothingPanics(t *testing.T) {
	empty, err := omega.NewCell(omega.Config{})
	require.NoError(t, err)
	s := register(t, empty, "s")
	var resize omega.Txn
	resize.Resize(omega.AllocationID{}, resources.Vector{1})
	_, err = s.Commit(&resize)
	require.Error(t, errors.Join(err, resize.Err(0)))
	_, ok := s.Snapshot().Find(omega.Query{}, omega.ByScore(nil))
	require.False(t, ok)

	cell, ids := newCell(t, 1, resources.Vector{1})
	s = register(t, cell, "s")
	var grantee omega.Txn
	grantee.Claim(omega.Claim{Machine: ids[0], Need: resources.Vector{1}, Grantee: &omega.Scheduler{}})
	_, err = s.Commit(&grantee)
	require.ErrorIs(t, err, omega.ErrUnknown)
	m, ok := s.Snapshot().Find(omega.Query{}, omega.ByScore(nil))
	require.True(t, ok)
	require.Equal(t, ids[0], m)
	q := omega.Query{Among: amongst([]locality.Node{math.MaxUint32, 1 << 31})}
	for _, p := range []omega.Policy{omega.NextFit(), omega.BestFit(), omega.BestOf(-1, nil, rand.New(rand.NewPCG(1, 2)))} {
		_, ok = s.Snapshot().Find(q, p)
		require.False(t, ok)
		require.Zero(t, s.Snapshot().Place(q, p, 3, func(omega.MachineID, int) {}))
		require.Zero(t, s.Snapshot().Place(omega.Query{}, p, -1, func(omega.MachineID, int) {}))
	}
	require.Zero(t, s.Snapshot().Explain(q).Machines)
	_, err = cell.ReadyAt(omega.AllocationID{})
	require.ErrorIs(t, err, omega.ErrReleased)
}

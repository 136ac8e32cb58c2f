package omega_test

import (
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

func TestCell_RefusesBadMachines(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{10})
	tests := map[string]struct {
		machine omega.Machine
		err     error
		text    string
	}{
		"no name":            {omega.Machine{}, omega.ErrName, "empty"},
		"duplicate name":     {omega.Machine{Name: "node-0"}, omega.ErrName, `"node-0"`},
		"negative capacity":  {omega.Machine{Name: "n", Capacity: resources.Vector{2, -1}}, resources.ErrQuantity, "kind1=-1"},
		"capacity too large": {omega.Machine{Name: "n", Capacity: resources.Vector{resources.MaxQuantity + 1}}, resources.ErrQuantity, `"n"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := cell.Add(test.machine)
			require.ErrorIs(t, err, test.err)
			require.ErrorContains(t, err, test.text)
			require.Len(t, slices.Collect(cell.Machines()), 1)
		})
	}
	_, err := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "a"}, {Name: "a"}}})
	require.ErrorIs(t, err, omega.ErrName)

	require.ErrorIs(t, cell.Drain(machineAt(cell, 9)), omega.ErrUnknown)
	_, err = cell.Remove(machineAt(cell, 9))
	require.ErrorIs(t, err, omega.ErrUnknown)
	_, err = cell.Remove(ids[0])
	require.NoError(t, err)
	for _, change := range []func(omega.MachineID) error{cell.Drain, cell.Resume} {
		require.ErrorIs(t, change(ids[0]), omega.ErrRemoved)
	}
	_, err = cell.Remove(ids[0])
	require.ErrorIs(t, err, omega.ErrRemoved)
	_, ok := cell.State(ids[0])
	require.False(t, ok)
	_, ok = cell.Machine("node-0")
	require.False(t, ok)
	require.Empty(t, slices.Collect(cell.Machines()))
	_, err = cell.Add(omega.Machine{Name: "node-0"})
	require.NoError(t, err, "the name is free again")
}

func TestCell_NamesSchedulersAndAccounts(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{10})
	s := register(t, cell, "batch")
	require.Equal(t, "batch", s.Name())
	for _, name := range []string{"", "batch"} {
		_, err := cell.Register(name, omega.Limits{})
		require.ErrorIs(t, err, omega.ErrName)
	}

	ads := accountOf(cell, "ads")
	require.NotZero(t, ads)
	require.Equal(t, ads, accountOf(cell, "ads"))
	require.NotEqual(t, ads, accountOf(cell, "search"))
	require.Zero(t, accountOf(cell, ""))
	name, ok := cell.AccountName(ads)
	require.True(t, ok)
	require.Equal(t, "ads", name)
	for _, a := range []omega.Account{77, math.MaxUint32} {
		_, ok = cell.AccountName(a)
		require.False(t, ok)
	}

	var tx omega.Txn
	commit(t, s, &tx, omega.Claim{Machine: ids[0], Account: ads, Need: resources.Vector{3}})
	id, _ := tx.Allocation(0)
	require.Equal(t, []omega.Allocation{{ID: id, Machine: ids[0], Account: ads, Scheduler: "batch", Need: resources.Vector{3}}},
		slices.Collect(cell.Allocations()))
	require.Equal(t, ids[0].Node(), id.Node())
}

// Machines come and go while schedulers claim on them: nothing is granted on a
// machine that is gone, and the books of those that stay are right.
func TestCell_MachinesComeAndGoUnderLoad(t *testing.T) {
	const schedulers, rounds = 4, 300
	cell, _ := newCell(t, 8, resources.Vector{16})
	var wg sync.WaitGroup
	stop := make(chan struct{})
	errs := make(chan error, schedulers)
	for i := range schedulers {
		s := register(t, cell, string(rune('a'+i)))
		wg.Go(func() {
			tx := omega.Txn{Gang: i%2 == 0}
			for {
				select {
				case <-stop:
					return
				default:
				}
				tx.Reset()
				snap := s.Snapshot()
				snap.Refresh(time.Time{})
				for range 3 {
					if m, ok := snap.Find(omega.Query{Need: resources.Vector{2}}, omega.NextFit()); ok && snap.Take(m, resources.Vector{2}) {
						tx.Claim(claim(m, 2))
					}
				}
				if tx.Len() == 0 {
					continue
				}
				n := tx.Len()
				if _, err := s.Commit(&tx); err != nil {
					errs <- err
					return
				}
				for i := range n {
					if a, ok := tx.Allocation(i); ok {
						_ = s.Release(a) // lost with its machine, now and then
					}
				}
			}
		})
	}
	for i := range rounds {
		states := slices.Collect(cell.Machines())
		m := states[i%len(states)]
		require.NoError(t, cell.Drain(m.ID))
		_, err := cell.Remove(m.ID)
		require.NoError(t, err)
		_, err = cell.Add(m.Machine)
		require.NoError(t, err)
		require.NoError(t, cell.Check())
	}
	close(stop)
	wg.Wait()
	close(errs)
	require.NoError(t, <-errs)
	require.NoError(t, cell.Check())
	for m := range cell.Machines() {
		require.Equal(t, m.Capacity, m.Free)
	}
}

func TestCell_AllocationsOnOneMachine(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{10})
	s := register(t, cell, "s")
	commit(t, s, &omega.Txn{}, claim(ids[0], 1), claim(ids[1], 2), claim(ids[1], 3))
	on := cell.AllocationsOn(ids[1])
	require.Len(t, on, 2)
	for i, a := range on {
		require.Equal(t, ids[1], a.Machine)
		require.Equal(t, "s", a.Scheduler)
		require.EqualValues(t, 2+i, a.Need[0])
	}
	commit(t, s, &omega.Txn{}, claim(ids[1], 1))
	younger := cell.AllocationsOn(ids[1])[2].ID
	require.Equal(t, on[0].ID.Seq(), on[1].ID.Seq(), "of one step")
	require.Greater(t, younger.Seq(), on[1].ID.Seq())
	require.Empty(t, cell.AllocationsOn(machineAt(cell, 99)))
	_, err := cell.Remove(ids[1])
	require.NoError(t, err)
	require.Empty(t, cell.AllocationsOn(ids[1]))
	again, err := cell.Add(omega.Machine{Name: "new", Capacity: resources.Vector{10}})
	require.NoError(t, err)
	require.Equal(t, ids[1].Node(), again.Node())
	commit(t, s, &omega.Txn{}, claim(again, 4))
	require.Len(t, cell.AllocationsOn(again), 1)
	require.Empty(t, cell.AllocationsOn(ids[1]), "its number serves another one")
}

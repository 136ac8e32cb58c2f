package omega_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Several goroutines bring in machines, schedulers and accounts and take them out
// again, while others wait, mark and save. Nothing is lost of what each has done.
func TestCell_IsManagedFromSeveralGoroutines(t *testing.T) {
	const goroutines, rounds = 4, 60
	cell, ids := newCell(t, 1, resources.Vector{goroutines})
	shared := accountOf(cell, "shared")
	errs := make(chan error, goroutines)
	accounts := make([]map[string]omega.Account, goroutines)
	var working sync.WaitGroup
	for i := range goroutines {
		accounts[i] = map[string]omega.Account{}
		working.Go(func() {
			for round := range rounds {
				if err := manage(t.Context(), cell, ids[0], shared, fmt.Sprintf("%d-%d", i, round), accounts[i]); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	working.Wait()
	close(errs)
	require.NoError(t, <-errs)
	require.NoError(t, cell.Check())

	number := map[omega.Account]string{}
	for _, all := range accounts {
		require.Len(t, all, rounds)
		for name, a := range all {
			require.Empty(t, number[a], "%s has the number of another account", name)
			number[a] = name
			was, ok := cell.AccountName(a)
			require.True(t, ok)
			require.Equal(t, name, was)
		}
	}
	used, err := cell.Usage(shared)
	require.NoError(t, err)
	require.Zero(t, used)
	states := 0
	for range cell.Machines() {
		states++
	}
	require.Equal(t, 1, states)
	_, err = cell.Add(omega.Machine{Name: "the rest", Capacity: resources.Vector{resources.MaxQuantity - goroutines}})
	require.NoError(t, err, "the capacity of those that are gone is known to be")
}

// manage does once what the fleet and the schedulers of a cell go through.
func manage(ctx context.Context, cell *omega.Cell, on omega.MachineID, shared omega.Account, name string, accounts map[string]omega.Account) error {
	account, err := cell.Account(ctx, name)
	if err != nil {
		return err
	}
	accounts[name] = account
	m, err := cell.Add(omega.Machine{Name: name, Capacity: resources.Vector{1}})
	if err != nil {
		return err
	}
	if _, err = cell.Register(name, omega.Limits{}); err != nil {
		return err
	}
	s, err := cell.Replace(name)
	if err != nil {
		return err
	}
	under, err := s.Deputy(name+"/d", omega.Limits{})
	if err != nil {
		return err
	}
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: on, Account: shared, Need: resources.Vector{1}})
	tx.Claim(omega.Claim{Machine: m, Account: account, Need: resources.Vector{1}})
	if granted, err := s.Commit(&tx); err != nil || granted != 2 {
		return fmt.Errorf("%d of 2 granted, %w", granted, err)
	}

	ctx, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() { _ = under.Wait(ctx, resources.Vector{1}) })
	waiting.Go(func() { _ = s.WaitMark(ctx) })
	err = cmp.Or(
		cell.SetCapacity(m, resources.Vector{2}), cell.SetCapacity(m, resources.Vector{1}),
		cell.SetAttributes(m, map[string]string{"name": name}), cell.Drain(m), cell.Resume(m),
		cell.Save(io.Discard), cell.Dump(io.Discard), cell.Check(),
	)
	err = cmp.Or(err, under.Restrict(ctx, omega.NewMask(amongst([]locality.Node{0}))))
	if _, removed := cell.Remove(m); removed != nil {
		err = removed
	}
	if _, usage := cell.Usage(account); usage != nil {
		err = usage
	}
	for i := range 2 {
		a, _ := tx.Allocation(i)
		if released := s.Release(a); released != nil {
			err = released
		}
	}
	cancel()
	waiting.Wait()
	return cmp.Or(err, under.Leave(), s.Leave())
}

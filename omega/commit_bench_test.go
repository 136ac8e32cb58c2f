package omega_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// newCell returns a cell of n equal machines and their IDs.
func newCell(tb testing.TB, n int, capacity resources.Vector) (*omega.Cell, []omega.MachineID) {
	tb.Helper()
	cell, err := omega.NewCell(omega.Config{})
	require.NoError(tb, err)
	ids := make([]omega.MachineID, n)
	for i := range ids {
		ids[i], err = cell.Add(omega.Machine{Name: fmt.Sprintf("node-%d", i), Capacity: capacity})
		require.NoError(tb, err)
	}
	return cell, ids
}

func register(tb testing.TB, cell *omega.Cell, name string) *omega.Scheduler {
	tb.Helper()
	s, err := cell.Register(name, omega.Limits{})
	require.NoError(tb, err)
	return s
}

// BenchmarkCommit measures one claim and its release, each a commit of its
// own, on machines in turn.
func BenchmarkCommit(b *testing.B) {
	for _, machines := range []int{1, 500, 5000, 50000} {
		b.Run(fmt.Sprintf("machines=%d", machines), func(b *testing.B) {
			cell, ids := newCell(b, machines, resources.Vector{64000, 1 << 40, 8})
			s := register(b, cell, "bench")
			need := resources.Vector{100, 1 << 20}
			var tx omega.Txn
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				tx.Reset()
				tx.Claim(omega.Claim{Machine: ids[i%machines], Need: need})
				if n, err := s.Commit(&tx); n != 1 || err != nil {
					b.Fatal(n, err, tx.Err(0))
				}
				a, _ := tx.Allocation(0)
				tx.Reset()
				tx.Release(a)
				if _, err := s.Commit(&tx); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

// machineAt returns the ID of the first machine that has a node number in a cell
// with machines.
func machineAt(cell *omega.Cell, node int) (id omega.MachineID) {
	for one := range cell.Machines() {
		text, _ := one.ID.MarshalText()
		tag, _, _ := strings.Cut(string(text), "/")
		if err := id.UnmarshalText(fmt.Appendf(nil, "%s/%d", tag, node)); err != nil {
			panic(err)
		}
		return id
	}
	panic("the cell has no machine")
}

// accountOf returns the account of a name that is valid.
func accountOf(cell *omega.Cell, name string) omega.Account {
	a, err := cell.Account(context.Background(), name)
	if err != nil {
		panic(err)
	}
	return a
}

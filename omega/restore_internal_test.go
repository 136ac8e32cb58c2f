package omega

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// reload returns what a cell is saved as and restored to.
func reload(t *testing.T, cell *Cell) *Cell {
	t.Helper()
	restored, err := Restore(bytes.NewReader(fileOf(t, cell.Cut())), nil)
	require.NoError(t, err)
	require.NoError(t, restored.Check())
	return restored
}

// Allocations that are alike but for the tenant, the scheduler or the precedence
// stay those of each, however many records there are to tell apart.
func TestRestore_ReturnsAllocationsToTheirTenants(t *testing.T) {
	const schedulers, each = 3, 3 * recentRecords
	cell, err := NewCell(Config{Machines: []Machine{{Name: "a", Capacity: resources.Vector{schedulers * each, 1 << 20}}}})
	require.NoError(t, err)
	for i := range schedulers {
		s, err := cell.Register(fmt.Sprint(i), Limits{Highest: each})
		require.NoError(t, err)
		var tx Txn
		for n := range each {
			account, err := cell.Account(t.Context(), fmt.Sprint(n/2))
			require.NoError(t, err)
			c := Claim{Machine: cell.machine(0, 0), Account: account, Need: resources.Vector{1, int64(n % 2)}}
			if i == 1 {
				c.Precedence = Precedence(n)
			}
			tx.Claim(c)
		}
		granted, err := s.Commit(&tx)
		require.NoError(t, err)
		require.Equal(t, each, granted)
	}
	restored := reload(t, cell)
	got := restored.AllocationsOn(cell.machine(0, 0))
	require.Len(t, got, schedulers*each)
	for i, want := range cell.AllocationsOn(cell.machine(0, 0)) {
		require.Equal(t, want, got[i])
	}
	for n := range each / 2 {
		want, err := cell.Usage(Account(n))
		require.NoError(t, err)
		got, err := restored.Usage(Account(n))
		require.NoError(t, err)
		require.Equal(t, want, got, "account %d", n)
	}
}

// An allocation that grows into room which others are leaving runs on with what it
// had. Where that is not restored, a claim would start while that room is in use.
func TestRestore_KnowsWhatAResizedAllocationRunsWith(t *testing.T) {
	cell, err := NewCell(Config{Machines: []Machine{{Name: "a", Capacity: resources.Vector{40, 40}}}})
	require.NoError(t, err)
	low, err := cell.Register("low", Limits{})
	require.NoError(t, err)
	high, err := cell.Register("high", Limits{Highest: 1})
	require.NoError(t, err)
	claim := func(s *Scheduler, c Claim) AllocationID {
		c.Machine = s.cell.machine(0, 0)
		tx := Txn{Now: time.Unix(1e9, 0).UTC(), Grace: time.Hour}
		tx.Claim(c)
		granted, err := s.Commit(&tx)
		require.NoError(t, err)
		require.Equal(t, 1, granted, "%v", tx.Err(0))
		a, _ := tx.Allocation(0)
		return a
	}
	ten := resources.Vector{10, 10}
	victims := []AllocationID{claim(low, Claim{Need: ten}), claim(low, Claim{Need: ten})}
	claim(low, Claim{Need: ten})
	running := claim(high, Claim{Need: ten})
	claim(high, Claim{Need: resources.Vector{5, 5}, Precedence: 1, Victims: victims})
	grow := Txn{Now: time.Unix(1e9, 0).UTC()}
	grow.Resize(running, resources.Vector{20, 12})
	granted, err := high.Commit(&grow)
	require.NoError(t, err)
	require.Equal(t, 1, granted)
	grown, _ := grow.Allocation(0)
	want, ok := cell.record(grown)
	require.True(t, ok)
	require.Equal(t, ten, want.ext.had)

	restored := reload(t, cell)
	got, ok := restored.record(grown)
	require.True(t, ok)
	require.Equal(t, want.need, got.need)
	require.Equal(t, ten, got.ext.had)
	require.Len(t, *got.ext.after, 2)
	for _, c := range []*Cell{cell, restored} {
		s, err := c.Replace("high")
		require.NoError(t, err)
		var tx Txn
		tx.Claim(Claim{Machine: c.machine(0, 0), Need: resources.Vector{5}})
		granted, err := s.Commit(&tx)
		require.NoError(t, err)
		require.Equal(t, 1, granted)
		a, _ := tx.Allocation(0)
		at, err := c.ReadyAt(a)
		require.NoError(t, err)
		require.Equal(t, time.Unix(1e9, 0).UTC().Add(time.Hour), at, "all 40 are in use until then")
	}
}

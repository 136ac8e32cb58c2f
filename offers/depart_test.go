package offers_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// inCell reports whether a scheduler of that name is registered, by trying to be it.
func inCell(t *testing.T, cell *omega.Cell, name string) bool {
	t.Helper()
	s, err := cell.Register(name, omega.Limits{})
	if err != nil {
		require.ErrorIs(t, err, omega.ErrName)
		return true
	}
	require.NoError(t, s.Leave())
	return false
}

// A framework that has ended, in whatever way, leaves no scheduler in the cell.
func TestUnregister_LeavesTheCell(t *testing.T) {
	cell, machines := newCell(t, 3, resources.Vector{10})
	high, err := cell.Register("high", omega.Limits{Lowest: 5, Highest: 5})
	require.NoError(t, err)
	m := newMaster(t, cell, offers.Config{Recovery: offers.For(time.Minute)})
	f := register(t, m, offers.Registration{Name: "f", Outstanding: 1})
	var tasks []omega.AllocationID
	for _, o := range read(t, f, start).Offers {
		one, err := f.Accept(start, launch(o.ID, 10))
		require.NoError(t, err)
		tasks = append(tasks, one...)
	}
	// One runs, one was preempted, one lost, neither of which it has acknowledged.
	tx := omega.Txn{Now: start, Grace: time.Hour}
	tx.Claim(omega.Claim{Machine: machines[0], Need: resources.Vector{1}, Precedence: 5, Victims: tasks[:1]})
	_, err = high.Commit(&tx)
	require.NoError(t, err)
	_, err = cell.Remove(machines[1])
	require.NoError(t, err)
	require.True(t, inCell(t, cell, "offers/f"))
	require.NoError(t, f.Unregister(at(1)))
	require.False(t, inCell(t, cell, "offers/f"))
	st, _ := cell.State(machines[2])
	require.Equal(t, st.Capacity, st.Free)

	// So does one that does not come back to a successor of the master.
	f = register(t, m, offers.Registration{Name: "f"})
	_, err = f.Accept(at(1), launch(read(t, f, at(1)).Offers[0].ID, 1))
	require.NoError(t, err)
	m = newMaster(t, cell, offers.Config{Recovery: offers.For(time.Minute)})
	require.True(t, inCell(t, cell, "offers/f"))
	require.NoError(t, m.Step(at(61)))
	require.False(t, inCell(t, cell, "offers/f"))
	require.NoError(t, cell.Check())
}

// A scheduler that was replaced by another party is not the master's to end, and the
// master goes on.
func TestUnregister_ByAReplacedHandle(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f"})
	got := read(t, f, start).Offers
	s, err := cell.Replace("offers/f")
	require.NoError(t, err)
	_, err = f.Accept(start, launch(got[0].ID, 1))
	require.ErrorIs(t, err, offers.ErrFenced)
	require.NoError(t, f.Unregister(start))
	require.NoError(t, m.Step(at(1)))
	require.True(t, inCell(t, cell, "offers/f"))
	require.NoError(t, s.Leave())
	register(t, m, offers.Registration{Name: "f"})
}

// Frameworks that come and go do not add up, here or in the cell.
func TestUnregister_LeavesNothing(t *testing.T) {
	names := 100_000
	if testing.Short() {
		names = 5000
	}
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	tenant := accountOf(cell, "tenant")
	n := 0
	come := func() {
		n++
		f := register(t, m, offers.Registration{Name: fmt.Sprint("f", n), Account: tenant})
		if n%10 == 0 {
			_, err := f.Accept(start, launch(read(t, f, start).Offers[0].ID, 3))
			require.NoError(t, err)
		}
		require.NoError(t, f.Unregister(start))
	}
	grown := func(more int) int64 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for range more {
			come()
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		return int64(after.HeapAlloc) - int64(before.HeapAlloc)
	}
	grown(5000) // by then, tables have the size that they keep
	more := grown(names)
	require.NoError(t, m.Step(at(1)))                // it is there still
	require.Less(t, more, int64(100*names), "bytes") // one that stayed would take hundreds
}

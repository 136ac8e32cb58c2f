package omega_test

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// A scheduler that has left can do nothing any more, and its name is free for another.
func TestLeave_FreesTheName(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{10})
	first := register(t, cell, "s")
	s, err := cell.Replace("s")
	require.NoError(t, err)
	a := held(t, s, ids[0], 0, resources.Vector{4})[0]
	require.NoError(t, s.Release(a))
	require.ErrorIs(t, first.Leave(), omega.ErrSuperseded)
	require.NoError(t, s.Leave())

	for name, call := range map[string]func(s *omega.Scheduler) error{
		"commit": func(s *omega.Scheduler) error {
			var tx omega.Txn
			tx.Claim(claim(ids[0], 1))
			_, err := s.Commit(&tx)
			return err
		},
		"release": func(s *omega.Scheduler) error { return s.Release(a) },
		"leave":   (*omega.Scheduler).Leave,
		"deputy":  func(s *omega.Scheduler) error { _, err := s.Deputy("d", omega.Limits{}); return err },
		"wait":    func(s *omega.Scheduler) error { return s.Wait(t.Context(), resources.Vector{1}) },
	} {
		for _, gone := range []*omega.Scheduler{first, s} {
			require.ErrorIs(t, call(gone), omega.ErrLeft, name)
			require.ErrorContains(t, call(gone), `"s"`, name)
		}
	}
	_, err = cell.Replace("s")
	require.ErrorIs(t, err, omega.ErrUnknown)
	fresh := register(t, cell, "s")
	require.Zero(t, fresh.Epoch())
	require.Equal(t, 1, commit(t, fresh, new(omega.Txn), claim(ids[0], 10)))
	require.ErrorIs(t, s.Leave(), omega.ErrLeft, "whoever has its name")
	require.Equal(t, resources.Vector{10}, fresh.Usage())
	require.NoError(t, cell.Check())
}

// No scheduler leaves while it has something in the cell, or something in the cell refers
// to it.
func TestLeave_NotBeforeAllIsReleased(t *testing.T) {
	cell, ids := newCell(t, 3, resources.Vector{10})
	low, high := register(t, cell, "low"), ranked(t, cell, "high")
	live := held(t, low, ids[0], 0, resources.Vector{1})[0]
	preempted := held(t, low, ids[1], 0, resources.Vector{10})[0]
	lost := held(t, low, ids[2], 0, resources.Vector{1})[0]
	require.NoError(t, displace(high, ids[1], preempted))
	_, err := cell.Remove(ids[2])
	require.NoError(t, err)

	require.ErrorIs(t, high.Leave(), omega.ErrHolding)
	for a := range high.Allocations() {
		require.NoError(t, high.Release(a.ID))
	}
	err = high.Leave()
	require.ErrorIs(t, err, omega.ErrHolding)
	require.ErrorContains(t, err, fmt.Sprintf(`"high" has preempted %v of "low"`, preempted))
	for _, a := range []omega.AllocationID{live, preempted, lost} {
		err = low.Leave()
		require.ErrorIs(t, err, omega.ErrHolding)
		require.ErrorContains(t, err, fmt.Sprintf(`"low" has allocation %v`, a))
		require.NoError(t, low.Release(a), "nothing has changed")
	}
	d := deputy(t, low, "d")
	err = low.Leave()
	require.ErrorIs(t, err, omega.ErrHolding)
	require.ErrorContains(t, err, `"low" has a deputy, "d"`)
	for _, s := range []*omega.Scheduler{d, low, high} {
		require.NoError(t, s.Leave())
	}
	require.NoError(t, cell.Check())
}

// A cell is saved and dumped right when schedulers have come and gone before. An offer to
// a scheduler that has left is its owner's alone.
func TestLeave_IsSaved(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{10})
	gone, stays := register(t, cell, "gone"), register(t, cell, "stays")
	offer := offers(t, stays, gone, ids[0], 2)[0]
	low := register(t, cell, "low")
	a := held(t, low, ids[0], 0, resources.Vector{3})[0]
	require.NoError(t, gone.Leave())
	again := register(t, cell, "gone")

	var saved, dumped bytes.Buffer
	require.NoError(t, cell.Save(&saved))
	require.NoError(t, cell.Dump(&dumped))
	require.Regexp(t, `(?s)"stays".*"holds": "kind0=2".*"low".*"holds": "kind0=3".*"gone"`, dumped.String()[bytes.Index(dumped.Bytes(), []byte("schedulers")):])
	require.NotContains(t, dumped.String(), "grantee", "it is somebody else's name by now")
	restored, err := omega.Restore(&saved, nil)
	require.NoError(t, err)
	require.Equal(t, slices.Collect(cell.Allocations()), slices.Collect(restored.Allocations()))
	for _, s := range []*omega.Scheduler{again, replace(t, restored, "gone")} {
		var tx omega.Txn
		tx.Exchange([]omega.AllocationID{offer}, claim(ids[0], 1))
		granted, err := s.Commit(&tx)
		require.NoError(t, err)
		require.Zero(t, granted)
		require.ErrorIs(t, tx.Err(0), omega.ErrNotOwner)
	}
	require.NoError(t, replace(t, restored, "low").Release(a))
	require.NoError(t, replace(t, restored, "stays").Release(offer))
	require.NoError(t, restored.Check())
	register(t, restored, "new")
}

func replace(tb testing.TB, cell *omega.Cell, name string) *omega.Scheduler {
	tb.Helper()
	s, err := cell.Replace(name)
	require.NoError(tb, err)
	return s
}

// Schedulers that come and go leave nothing: in the cell, in an account that all of them
// are charged to, or with a scheduler that made them offers.
func TestLeave_LeavesNothing(t *testing.T) {
	names := 100_000
	if testing.Short() {
		names = 10_000
	}
	cell, ids := newCell(t, 1, resources.Vector{10})
	account := accountOf(cell, "tenant")
	master := register(t, cell, "master")
	n := 0
	come := func() {
		n++
		s := register(t, cell, fmt.Sprint("s", n))
		var tx omega.Txn
		tx.Claim(omega.Claim{Machine: ids[0], Account: account, Need: resources.Vector{1}})
		_, err := s.Commit(&tx)
		require.NoError(t, err)
		a, _ := tx.Allocation(0)
		require.NoError(t, s.Release(a))
		require.NoError(t, master.Release(offers(t, master, s, ids[0], 1)[0]))
		require.NoError(t, s.Leave())
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
	grown(1000)
	require.Less(t, grown(names), int64(100*names), "bytes") // one that stayed would take hundreds
	runtime.KeepAlive(master)
	used, err := cell.Usage(account)
	require.NoError(t, err)
	require.Zero(t, used)
}

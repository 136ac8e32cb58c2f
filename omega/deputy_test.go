package omega_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

func deputy(tb testing.TB, s *omega.Scheduler, name string) *omega.Scheduler {
	tb.Helper()
	d, err := s.Deputy(name, omega.Limits{})
	require.NoError(tb, err)
	return d
}

// Once a scheduler was replaced, its deputies, at any remove, do nothing any more. Their
// allocations stay, and are their successors'.
func TestDeputy_IsReplacedWithItsChief(t *testing.T) {
	for remove := range 3 {
		cell, ids := newCell(t, 2, resources.Vector{10})
		chief := register(t, cell, "chief")
		d := chief
		for range remove + 1 {
			d = deputy(t, d, d.Name()+"/d")
		}
		kept := held(t, d, ids[0], 0, resources.Vector{2})[0]
		offer := offers(t, chief, d, ids[1], 1)

		successor, err := cell.Replace("chief")
		require.NoError(t, err)
		before := slices.Collect(cell.Machines())
		var plain, exchange omega.Txn
		plain.Claim(claim(ids[0], 1))
		exchange.Exchange(offer, claim(ids[1], 1))
		for _, tx := range []*omega.Txn{&plain, &exchange} {
			_, err = d.Commit(tx)
			require.ErrorIs(t, err, omega.ErrSuperseded)
			require.ErrorContains(t, err, `"chief", epoch 0, and with it "chief/d"`)
		}
		require.ErrorIs(t, d.Release(kept), omega.ErrSuperseded)
		require.ErrorIs(t, d.Wait(t.Context(), resources.Vector{1}), omega.ErrSuperseded)
		_, err = d.Deputy("late", omega.Limits{})
		require.ErrorIs(t, err, omega.ErrSuperseded)
		require.ErrorIs(t, d.Leave(), omega.ErrSuperseded)
		require.Equal(t, before, slices.Collect(cell.Machines()))

		again := deputy(t, successor, d.Name())
		require.EqualValues(t, 1, again.Epoch())
		require.Equal(t, resources.Vector{2}, again.Usage())
		require.Equal(t, 1, commit(t, again, new(omega.Txn), claim(ids[0], 8)))
		require.NoError(t, again.Release(kept))
		require.NoError(t, cell.Check())
	}
}

// A replaced scheduler takes no deputy from its successor, and makes no new one.
func TestDeputy_OfAReplacedScheduler(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{10})
	old := register(t, cell, "chief")
	deputy(t, old, "d")
	successor, err := cell.Replace("chief")
	require.NoError(t, err)
	d := deputy(t, successor, "d")
	for _, name := range []string{"d", "new"} {
		_, err = old.Deputy(name, omega.Limits{})
		require.ErrorIs(t, err, omega.ErrSuperseded)
	}
	require.Equal(t, 1, commit(t, d, new(omega.Txn), claim(ids[0], 1)))
	register(t, cell, "new") // the name is free
}

// A deputy can be taken from its chief, and then stays when the chief goes.
func TestDeputy_CanChangeItsChief(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{10})
	a, b := register(t, cell, "a"), register(t, cell, "b")
	one, err := a.Deputy("d", omega.Limits{Highest: 3})
	require.NoError(t, err)
	two, err := b.Deputy("d", omega.Limits{Highest: 5})
	require.NoError(t, err)
	_, err = cell.Replace("a")
	require.NoError(t, err)
	_, err = one.Commit(new(omega.Txn))
	require.ErrorIs(t, err, omega.ErrEmpty, "bad input is found first")
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: ids[0], Need: resources.Vector{1}, Precedence: 4})
	tx.Claim(omega.Claim{Machine: ids[0], Need: resources.Vector{1}, Precedence: 3})
	granted, err := two.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 1, granted)
	require.ErrorIs(t, tx.Err(0), omega.ErrForbidden, "limits are those that the name has")

	three, err := cell.Replace("d")
	require.NoError(t, err)
	_, err = cell.Replace("b")
	require.NoError(t, err)
	require.Equal(t, 1, commit(t, three, new(omega.Txn), claim(ids[0], 1)), "it works under nobody")
}

func TestDeputy_RefusesNames(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	chief := register(t, cell, "chief")
	d := deputy(t, chief, "d")
	for _, name := range []string{"chief", "d", ""} {
		_, err := d.Deputy(name, omega.Limits{})
		require.ErrorIs(t, err, omega.ErrName, name)
	}
	_, err := d.Deputy("e", omega.Limits{Lowest: 1})
	require.ErrorIs(t, err, omega.ErrLimit)
	register(t, cell, "e")
	require.Zero(t, chief.Epoch())
	deputy(t, d, "f") // and d is still there
}

// A deputy that waits for room is woken when its chief is replaced.
func TestDeputy_DoesNotWaitOnWhenItsChiefIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, ids := newCell(t, 1, resources.Vector{10})
		held(t, register(t, cell, "holder"), ids[0], 0, resources.Vector{1})
		d := deputy(t, register(t, cell, "chief"), "d")
		under := deputy(t, d, "under")
		waited := make(chan error)
		go func() { waited <- d.Wait(t.Context(), resources.Vector{10}) }()
		go func() { waited <- d.WaitMark(t.Context()) }()
		go func() { waited <- under.WaitMark(t.Context()) }()
		synctest.Wait()
		_, err := cell.Replace("chief")
		require.NoError(t, err)
		for range 3 {
			require.ErrorIs(t, <-waited, omega.ErrSuperseded)
		}
	})
}

package blocks_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool/internal/blocks"
	"github.com/cellsched/cellsched/resources"
)

// lender is a cell of one machine with 8 units, and two schedulers.
type lender struct {
	t          *testing.T
	cell       *omega.Cell
	own, other *omega.Scheduler
	blocks     *blocks.Blocks
	m          omega.MachineID
}

func newLender(t *testing.T) *lender {
	t.Helper()
	return journaledLender(t, nil)
}

// journaledLender is newLender with a journal of the cell, nil for none.
func journaledLender(t *testing.T, j omega.Journal) *lender {
	t.Helper()
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{8}}}})
	require.NoError(t, err)
	if j != nil {
		require.NoError(t, cell.SetJournal(j))
	}
	l := &lender{t: t, cell: cell}
	l.own, err = cell.Take(t.Context(), "own", omega.Limits{Divisible: true, Highest: 3})
	require.NoError(t, err)
	l.other, err = cell.Take(t.Context(), "other", omega.Limits{Highest: 9})
	require.NoError(t, err)
	l.m, _ = cell.Machine("m")
	l.blocks = blocks.New(l.own, nil)
	require.Equal(t, []locality.Node{0}, l.sync())
	return l
}

// sync returns the machines that have changed.
func (l *lender) sync() []locality.Node {
	l.t.Helper()
	changed, err := l.blocks.Sync(l.t.Context(), time.Now())
	require.NoError(l.t, err)
	return changed
}

// block is one of a precedence.
func block(p omega.Precedence, units int64) blocks.Block {
	return blocks.Block{Charge: blocks.Charge{Precedence: p}, Size: resources.Vector{units}}
}

func (l *lender) order(want ...blocks.Block) {
	l.t.Helper()
	require.NoError(l.t, l.blocks.Commit(l.t.Context(), []blocks.Order{{Node: 0, Want: want}}))
	require.NoError(l.t, l.cell.Check())
	require.Equal(l.t, l.blocks.At(0).Total(), l.own.Usage())
}

func (l *lender) claim(units int64, p omega.Precedence) omega.AllocationID {
	l.t.Helper()
	victims, _ := l.cell.Victims(l.m, resources.Vector{units}, p)
	tx := omega.Txn{Now: time.Now(), Grace: time.Minute}
	tx.Claim(omega.Claim{Machine: l.m, Need: resources.Vector{units}, Precedence: p, Victims: victims})
	granted, err := l.other.Commit(&tx)
	require.NoError(l.t, err)
	require.Equal(l.t, 1, granted)
	a, _ := tx.Allocation(0)
	return a
}

func TestBlocks_TakeAllOfAMachineOrNone(t *testing.T) {
	l := newLender(t)
	l.order(block(0, 2), block(1, 3))
	at := l.blocks.At(0)
	require.Equal(t, resources.Vector{3}, at.Free)
	require.Equal(t, resources.Vector{5}, at.Usable)
	l.order(block(0, 1), block(1, 3), block(2, 2))
	require.Equal(t, resources.Vector{2}, at.Size(blocks.Charge{Precedence: 2}))

	l.claim(1, 0) // which is not known here
	l.order(block(0, 4), block(1, 3), block(2, 2))
	require.Equal(t, resources.Vector{6}, at.Total(), "refused as a whole")
	require.Equal(t, resources.Vector{1}, at.Free, "as the cell has found")
	l.order(block(1, 3))
	require.Equal(t, []blocks.Block{block(1, 3)}, at.Blocks())
	l.order()
	require.Zero(t, l.own.Usage())
}

func TestBlocks_TellOfAPartThatWasTaken(t *testing.T) {
	l := newLender(t)
	l.order(block(0, 4), block(1, 4))
	a := l.claim(5, 9)
	require.Equal(t, []locality.Node{0}, l.sync())
	at := l.blocks.At(0)
	require.Equal(t, []blocks.Block{block(1, 3)}, at.Blocks(), "the lower one goes first, and as a whole")
	require.True(t, at.Marked())
	require.False(t, at.Until.IsZero())
	ready, err := l.cell.ReadyAt(a)
	require.NoError(t, err)
	require.False(t, ready.IsZero())
	require.Empty(t, l.sync(), "once")
	require.NoError(t, l.blocks.Acknowledge(0))
	require.False(t, at.Marked())
	ready, err = l.cell.ReadyAt(a)
	require.NoError(t, err)
	require.True(t, ready.IsZero())
}

func TestBlocks_FindAPartTakenByTheRefusalOfAnOrder(t *testing.T) {
	l := newLender(t)
	l.order(block(0, 6))
	l.claim(4, 9)
	l.order(block(0, 5))
	require.Equal(t, resources.Vector{4}, l.blocks.At(0).Total())
	l.order(block(0, 1))
	require.Equal(t, resources.Vector{1}, l.own.Usage())
}

func TestBlocks_MayNotBeUsedWhileOthersAreLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLender(t)
		third, err := l.cell.Register("third", omega.Limits{Highest: 9})
		require.NoError(t, err)
		l.order(block(0, 1))
		low := l.claim(7, 0)
		tx := omega.Txn{Now: time.Now(), Grace: time.Minute}
		tx.Claim(omega.Claim{Machine: l.m, Need: resources.Vector{1}, Precedence: 9, Victims: []omega.AllocationID{low}})
		_, err = third.Commit(&tx)
		require.NoError(t, err)
		l.sync()
		l.order(block(0, 4))
		at := l.blocks.At(0)
		require.Equal(t, resources.Vector{1}, at.Usable)
		require.Equal(t, time.Now().Add(time.Minute).UTC(), l.blocks.NextReady().UTC())
		time.Sleep(time.Minute)
		require.Equal(t, []locality.Node{0}, l.sync())
		require.Equal(t, resources.Vector{4}, at.Usable)
		require.Zero(t, l.blocks.NextReady())
	})
}

func TestBlocks_FollowMachinesAndTheirNumbers(t *testing.T) {
	l := newLender(t)
	l.order(block(0, 2))
	require.NoError(t, l.cell.Drain(l.m))
	l.sync()
	at := l.blocks.At(0)
	require.True(t, at.Draining)
	require.Zero(t, at.Free)
	_, err := l.cell.Remove(l.m)
	require.NoError(t, err)
	id, err := l.cell.Add(omega.Machine{Name: "next", Capacity: resources.Vector{3}})
	require.NoError(t, err)
	require.Equal(t, []locality.Node{0}, l.sync())
	require.Equal(t, id, at.ID)
	require.Zero(t, at.Total())
	require.Equal(t, resources.Vector{3}, at.Free)
	for m := range l.own.Marked() {
		require.Fail(t, "not acknowledged", m)
	}

	require.NoError(t, l.own.Restrict(t.Context(), omega.Mask{}))
	require.ErrorIs(t, l.blocks.Wait(t.Context(), []resources.Vector{{1}}), omega.ErrNeverFits)
	l.sync()
	require.Zero(t, at.Free, "outside the mask")
}

func TestNew_TakesOverWhatThePredecessorHad(t *testing.T) {
	l := newLender(t)
	l.order(block(0, 2), block(1, 3))
	next, err := l.cell.Replace("own")
	require.NoError(t, err)
	require.ErrorIs(t, l.blocks.Commit(l.t.Context(), []blocks.Order{{Node: 0}}), omega.ErrSuperseded)
	after := blocks.New(next, nil)
	_, err = after.Sync(t.Context(), time.Now())
	require.NoError(t, err)
	require.ElementsMatch(t, []blocks.Block{block(0, 2), block(1, 3)}, after.At(0).Blocks())
	require.NoError(t, after.Commit(t.Context(), []blocks.Order{{Node: 0}}))
	require.Zero(t, next.Usage())
}

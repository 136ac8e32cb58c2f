package omega

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// halted is a commit that has stopped with its next versions ready: a claim of
// one on each of two machines, and the release of a former claim of three.
type halted struct {
	cell  *Cell
	chief *Scheduler // that s works under
	s     *Scheduler
	tx    *Txn
	steps []step
	raws  []*object // in the words of steps
	freed AllocationID
}

func halt(t *testing.T) *halted {
	t.Helper()
	cell, err := NewCell(Config{Machines: []Machine{
		{Name: "a", Capacity: resources.Vector{10}}, {Name: "b", Capacity: resources.Vector{10}},
	}})
	require.NoError(t, err)
	h := &halted{cell: cell, tx: &Txn{Gang: true}}
	h.chief, err = cell.Register("chief", Limits{})
	require.NoError(t, err)
	h.s, err = h.chief.Deputy("s", Limits{Held: &resources.Vector{100}})
	require.NoError(t, err)
	var tx Txn
	tx.Claim(Claim{Machine: cell.machine(0, 0), Need: resources.Vector{3}})
	_, err = h.s.Commit(&tx)
	require.NoError(t, err)
	h.freed, _ = tx.Allocation(0)

	h.tx.Release(h.freed)
	for node := range uint32(2) {
		m := cell.machine(node, 0)
		h.tx.Claim(Claim{Machine: m, Need: resources.Vector{1}})
	}
	require.NoError(t, h.tx.check(h.s))
	h.tx.cell = cell
	require.True(t, h.s.prepare(h.tx))
	h.tx.sort()
	for left := h.tx.order; len(left) > 0; {
		var g group
		g, left = h.tx.nextGroup(left)
		w := cell.words.at(g.node)
		raw, old := settle(w)
		next := &object{}
		moved, refused := h.s.build(h.tx, g, parts{releases: true, claims: true}, old, cell.table(g.node), &next.V)
		require.True(t, moved)
		require.False(t, refused)
		h.steps, h.raws = append(h.steps, step{word: w, expect: raw, next: next}), append(h.raws, raw)
	}
	return h
}

// A commit that had its versions ready when its scheduler was replaced does not get
// them in place, and leaves no charge: no claim is granted. Releases that it had begun
// take effect, since no other scheduler can make them any more. So it is if its chief
// was replaced.
func TestReplace_StopsACommitBeforeItsSwap(t *testing.T) {
	for i, name := range []string{"s", "s", "chief", "chief"} {
		gang := i%2 == 1
		h := halt(t)
		require.Equal(t, resources.Vector{5}, h.s.Usage(), "charged before it is granted")
		successor, err := h.cell.Replace(name)
		require.NoError(t, err)
		for i, st := range h.steps {
			require.False(t, st.word.CompareAndSwap(h.raws[i], st.next), "an old version in place of a newer")
		}
		// It goes on: looks again, sees that it was replaced, and ends.
		h.tx.Gang = gang
		all := parts{releases: true, claims: true}
		if gang {
			require.False(t, h.s.commitGang(h.tx))
			all.claims = false
		}
		for left := h.tx.order; len(left) > 0; {
			var g group
			g, left = h.tx.nextGroup(left)
			h.s.commitOne(h.tx, g, all)
		}
		require.Zero(t, h.s.finish(h.tx))
		h.tx.end()
		require.ErrorIs(t, h.tx.Err(1), ErrSuperseded)
		require.ErrorIs(t, h.tx.Err(2), ErrSuperseded)
		require.NoError(t, h.tx.Err(0))
		if name == "chief" {
			successor, err = successor.Deputy("s", Limits{})
			require.NoError(t, err)
		}
		require.ErrorIs(t, successor.Release(h.freed), ErrReleased)
		require.Zero(t, successor.Usage())
		require.Zero(t, h.s.owner.held.load())
		for node := range uint32(2) {
			require.Equal(t, resources.Vector{10}, load(h.cell.words.at(node)).free())
			require.Zero(t, load(h.cell.words.at(node)).live.count())
		}
		require.NoError(t, h.cell.Check())
	}
}

// A gang of the old epoch that is in a word is decided by Replace, one way for
// all its machines.
func TestReplace_DecidesAGangInProgress(t *testing.T) {
	for inPlace := range 3 {
		h := halt(t)
		op := &gang{}
		for i := range h.steps {
			h.steps[i].next.V.op = op
			h.steps[i].next.V.prev.Store(h.steps[i].expect)
		}
		op.steps.Store(&h.steps)
		for i := range h.steps[:inPlace] {
			require.True(t, op.install(&h.steps[i], 0))
		}
		_, err := h.cell.Replace("s")
		require.NoError(t, err)
		want, free := granted, []int64{9, 9} // three back, one taken; one taken
		if inPlace == 0 {                    // it comes too late
			op.help()
			want, free = failed, []int64{7, 10}
		}
		require.Equal(t, want, op.status.Load(), "%d in place", inPlace)
		for node, q := range free {
			require.Equal(t, q, load(h.cell.words.at(uint32(node))).room[0])
		}
	}
}

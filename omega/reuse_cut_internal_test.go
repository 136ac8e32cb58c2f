package omega

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// kept is a version with what it was when it was kept.
type kept struct {
	v   *version
	was content
}

func keepAll(versions ...*version) (all []kept) {
	for _, v := range versions {
		all = append(all, kept{v, contentOf(v)})
	}
	return all
}

func requireUnchanged(t *testing.T, all []kept) {
	t.Helper()
	for _, k := range all {
		require.Equal(t, k.was, contentOf(k.v))
	}
}

// A gang puts its version of one machine in place, and fails at the next one. Its versions
// stand for those that it expected, and helpers may still put them in place. So none of
// both is used again, whatever the scheduler commits afterwards.
func TestReuse_OfAGangThatWasTriedAndFailed(t *testing.T) {
	const machines = 3
	for inPlace := range machines {
		cell, s := reused(t, machines)
		other, err := cell.Register("other", Limits{})
		require.NoError(t, err)
		comeAndGo(t, s, machines, 1)

		// As commitGang does it, with a claim of another scheduler before the last swap.
		tx := Txn{Gang: true}
		for node := range uint32(machines) {
			tx.Claim(Claim{Machine: cell.machine(node, 0), Need: resources.Vector{1}})
		}
		require.NoError(t, tx.check(s))
		require.True(t, s.prepare(&tx))
		tx.sort()
		g := &gang{}
		var steps []step
		var all []kept
		for left := tx.order; len(left) > 0; {
			var items group
			items, left = tx.nextGroup(left)
			w := cell.words.at(items.node)
			raw, old := settleFor(w, s.maker.Number())
			require.Same(t, old, &raw.V)
			next := s.maker.Spare()
			require.NotNil(t, next)
			moved, refused := s.build(&tx, items, parts{claims: true}, old, cell.table(items.node), &next.V)
			require.True(t, moved && !refused)
			next.V.op = g
			next.V.prev.Store(raw)
			steps = append(steps, step{w, raw, next})
		}
		g.steps.Store(&steps)
		for i := range steps[:inPlace] {
			require.True(t, g.install(&steps[i], s.maker.Number()))
			all = append(all, keepAll(&steps[i].expect.V, &steps[i].next.V)...)
		}
		var foreign Txn
		foreign.Claim(Claim{Machine: cell.machine(uint32(inPlace), 0), Need: resources.Vector{5}})
		_, err = other.Commit(&foreign)
		require.NoError(t, err)
		require.False(t, g.run(steps, s.maker.Number()))
		s.refuseGang(&tx)
		s.finish(&tx)

		comeAndGo(t, s, machines, 200)
		requireUnchanged(t, all)
		for i := range all {
			if i%2 == 1 {
				val, settled := all[i].v.value()
				require.True(t, settled)
				require.Same(t, all[i-1].v, val, "it stands for what it expected")
			}
		}
		require.NoError(t, cell.Check())
	}
}

// A version that leads to the past of a machine leads to it until the cut is over. So the
// commits of that time use no version again, and the cut has what was there before them.
func TestReuse_InTheEpochOfACut(t *testing.T) {
	const machines = 4
	for passed := range uint32(machines + 1) {
		cell, s := reused(t, machines)
		tx := Txn{Gang: true}
		for node := range uint32(machines) {
			tx.Claim(Claim{Machine: cell.machine(node, 0), Need: resources.Vector{7 + int64(node)}})
		}
		_, err := s.Commit(&tx)
		require.NoError(t, err)
		comeAndGo(t, s, machines, 1)
		var before []*version
		for node := range uint32(machines) {
			_, val := settleFor(cell.words.at(node), s.maker.Number())
			before = append(before, val)
		}
		all := keepAll(before...)

		cell.epoch.Add(1) // Cut, step by step
		var pasts []*past
		for node := range passed {
			pasts = append(pasts, cell.fence(node).past.Swap(nil))
		}
		comeAndGo(t, s, machines, 50)
		for node := passed; node < machines; node++ {
			pasts = append(pasts, cell.fence(node).past.Swap(nil))
		}
		cell.epoch.Add(1)
		for node, p := range pasts {
			require.Same(t, before[node], p.val)
		}
		comeAndGo(t, s, machines, 50)
		requireUnchanged(t, all)
		require.NoError(t, cell.Check())
	}
}

// A cut shows what it showed, however long it is kept.
func TestReuse_LeavesACutThatIsKeptForEver(t *testing.T) {
	const machines = 4
	cell, s := reused(t, machines)
	var tx Txn
	for node := range uint32(machines) {
		tx.Claim(Claim{Machine: cell.machine(node, 0), Need: resources.Vector{3}})
	}
	_, err := s.Commit(&tx)
	require.NoError(t, err)
	type shown struct {
		state MachineState
		has   []Allocation
	}
	show := func(cut *Cut) (all []shown) {
		for m, allocations := range cut.Machines() {
			all = append(all, shown{m, allocations})
		}
		return all
	}
	var cuts []*Cut
	var were [][]shown
	for range 3 {
		cuts = append(cuts, cell.Cut())
		were = append(were, show(cuts[len(cuts)-1]))
		comeAndGo(t, s, machines, 7)
	}
	comeAndGo(t, s, machines, 500)
	for i, cut := range cuts {
		require.Equal(t, were[i], show(cut))
		require.EqualValues(t, 1<<30-3, were[i][0].state.Free[0])
	}
	require.NoError(t, cell.Check())
}

package omega

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/resources"
)

// twoSchedulers returns a cell of small machines, with two schedulers.
func twoSchedulers(t require.TestingT, machines int) (*Cell, [2]*Scheduler) {
	cell, err := NewCell(Config{})
	require.NoError(t, err)
	cell.tag = 1 // IDs of two such cells are the same
	for i := range machines {
		_, err = cell.Add(Machine{Name: fmt.Sprint("node-", i), Capacity: resources.Vector{20, 20}})
		require.NoError(t, err)
	}
	var all [2]*Scheduler
	for i := range all {
		all[i], err = cell.Register(fmt.Sprint("scheduler-", i), Limits{})
		require.NoError(t, err)
	}
	return cell, all
}

// apply may run on a goroutine other than the caller's, which keeps its snapshot. It
// grants and refuses the same without the snapshot, for any detection. Show then makes
// the snapshot what a commit makes it.
func TestApply_NeedsNoSnapshot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const machines = 4
		type world struct {
			cell *Cell
			s    [2]*Scheduler
			held []AllocationID
		}
		var worlds [2]world // one commits as a whole, the other in parts
		for i := range worlds {
			worlds[i].cell, worlds[i].s = twoSchedulers(t, machines)
			for _, s := range worlds[i].s {
				s.Snapshot()
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"refresh": func(t *rapid.T) {
				by := rapid.IntRange(0, 1).Draw(t, "by")
				require.Equal(t, worlds[0].s[by].snap.update(nil), worlds[1].s[by].snap.update(nil))
			},
			"renew": func(t *rapid.T) {
				node := uint32(rapid.IntRange(0, machines-1).Draw(t, "machine"))
				for _, w := range worlds {
					id := load(w.cell.words.at(node)).spec.id
					_, err := w.cell.Remove(id)
					require.NoError(t, err)
					_, err = w.cell.Add(Machine{Name: fmt.Sprint("node-", node), Capacity: resources.Vector{20, 20}})
					require.NoError(t, err)
				}
			},
			"commit": func(t *rapid.T) {
				by := rapid.IntRange(0, 1).Draw(t, "by")
				gang := rapid.Bool().Draw(t, "gang")
				detect := Detection(rapid.IntRange(0, 2).Draw(t, "detect"))
				var txs [2]Txn
				for i := range txs {
					txs[i].Gang, txs[i].Detect = gang, detect
				}
				for range rapid.IntRange(1, 6).Draw(t, "items") {
					if held := len(worlds[0].held); held > 0 && rapid.IntRange(0, 2).Draw(t, "kind") == 0 {
						n := rapid.IntRange(0, held-1).Draw(t, "allocation")
						for i := range txs {
							txs[i].Release(worlds[i].held[n])
						}
						continue
					}
					node := rapid.IntRange(0, machines-1).Draw(t, "machine")
					need := resources.Vector{rapid.Int64Range(1, 9).Draw(t, "need")}
					for i := range txs {
						id := worlds[i].s[by].snap.known(node).spec.id // of a machine that may be gone
						txs[i].Claim(Claim{Machine: id, Need: need})
					}
				}
				_, err := worlds[0].s[by].Commit(&txs[0])
				require.NoError(t, err)

				s, tx := worlds[1].s[by], &txs[1]
				require.NoError(t, tx.check(s))
				s.note(tx)
				snap := s.snap
				s.snap = nil
				s.apply(tx)
				s.snap = snap
				s.show(tx)
				tx.end()

				for n := range tx.Len() {
					a, ok := txs[0].Allocation(n)
					b, same := txs[1].Allocation(n)
					require.Equal(t, ok, same)
					require.Equal(t, a, b)
					require.Equal(t, fmt.Sprint(txs[0].Err(n)), fmt.Sprint(txs[1].Err(n)))
					if ok {
						worlds[0].held, worlds[1].held = append(worlds[0].held, a), append(worlds[1].held, b)
					}
				}
			},
			"": func(t *rapid.T) {
				for by := range worlds[0].s {
					a, b := worlds[0].s[by].snap, worlds[1].s[by].snap
					require.Equal(t, a.free, b.free)
					require.Equal(t, a.absorbed, b.absorbed)
					require.Equal(t, a.index, b.index)
				}
			},
		})
	})
}

// A Txn that has been committed keeps no version of a machine alive.
func TestCommit_KeepsNoVersion(t *testing.T) {
	cell, all := twoSchedulers(t, 3)
	all[0].Snapshot()
	tx := Txn{Gang: true}
	for node := range uint32(3) {
		tx.Claim(Claim{Machine: cell.machine(node, 0), Need: resources.Vector{1}})
	}
	granted, err := all[0].Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 3, granted)
	for _, at := range tx.sights[:cap(tx.sights)] {
		require.Zero(t, at)
	}
}

// A claim loosens the bound of its machine's block, so that a search in vain makes the
// bound exact: each later one would go through the block in vain otherwise.
func TestShow_LoosensTheBoundOfWhatAClaimTook(t *testing.T) {
	cell, s := twoSchedulers(t, 3)
	snap := s[0].Snapshot()
	for i, need := range []int64{1, 2, 3} {
		snap.index.blocks[0].loose = false
		var tx Txn
		tx.Claim(Claim{Machine: snap.known(i).spec.id, Need: resources.Vector{need}})
		granted, err := s[0].Commit(&tx)
		require.NoError(t, err)
		require.Equal(t, 1, granted)
		require.True(t, snap.index.blocks[0].loose)
		require.Zero(t, snap.update(nil), "it was copied")
	}
	require.NoError(t, cell.Check())
}

package omega

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// A gang that stalled before a cut is in it as a whole, or is never granted. A cut
// decides a gang that it meets. A gang that it does not meet comes too late.
func TestCut_DecidesWhatStalledBefore(t *testing.T) {
	const machines = 3
	for inPlace := range machines + 1 {
		st := stall(t, machines, inPlace)
		cut := st.cell.Cut()
		var frees []int64
		for m, allocations := range cut.Machines() {
			frees = append(frees, m.Free[0])
			require.Len(t, allocations, int(m.Capacity[0]-m.Free[0]))
		}
		want, status := []int64{9, 9, 9}, granted
		if inPlace == 0 {
			want, status = []int64{10, 10, 10}, failed
		}
		require.Equal(t, want, frees, "%d in place", inPlace)
		st.gang.help() // its scheduler wakes up
		require.Equal(t, status, st.gang.status.Load())
		for node, free := range want {
			require.Equal(t, free, st.free(uint32(node)))
		}
		require.NoError(t, st.cell.Check())
	}
}

// A gang of a cut's own time is not in the cut, wherever that has got to and
// wherever the gang stalls.
func TestCut_LeavesOutWhatBeganAfterIt(t *testing.T) {
	const machines = 3
	for passed := range uint32(machines + 1) {
		for inPlace := range machines + 1 {
			cell := largeCell(t, machines)
			s, err := cell.Register("s", Limits{})
			require.NoError(t, err)
			var before Txn
			for node := range uint32(machines) {
				before.Claim(Claim{Machine: cell.machine(node, 0), Need: resources.Vector{1}})
			}
			_, err = s.Commit(&before)
			require.NoError(t, err)

			// Cut, step by step.
			cell.epoch.Add(1)
			pasts := make([]*past, 0, machines)
			fence := func(node uint32) { pasts = append(pasts, cell.fence(node).past.Swap(nil)) }
			for node := range passed {
				fence(node)
			}
			tx := Txn{Gang: true}
			for i := range machines {
				a, _ := before.Allocation(i)
				tx.Release(a)
				tx.Claim(Claim{Machine: cell.machine(uint32(i), 0), Need: resources.Vector{5}})
			}
			require.NoError(t, tx.check(s))
			require.True(t, s.prepare(&tx))
			tx.sort()
			g := &gang{}
			var steps []step
			for left := tx.order; len(left) > 0; {
				var items group
				items, left = tx.nextGroup(left)
				w := cell.words.at(items.node)
				old := load(w)
				next := &object{}
				moved, refused := s.build(&tx, items, parts{releases: true, claims: true}, old, cell.table(items.node), &next.V)
				require.True(t, moved)
				require.False(t, refused)
				next.V.op = g
				next.V.prev.Store(w.Keep())
				steps = append(steps, step{word: w, expect: w.Keep(), next: next})
			}
			g.steps.Store(&steps)
			for i := range inPlace {
				require.True(t, g.install(&steps[i], 0))
			}
			for node := passed; node < machines; node++ {
				fence(node)
			}
			cell.epoch.Add(1)

			for node, p := range pasts {
				require.EqualValues(t, 1, p.val.spec.Capacity[0]-p.val.room[0], "machine %d, %d passed, %d in place", node, passed, inPlace)
				a, _ := before.Allocation(node)
				require.Len(t, p.held.all, 1)
				require.Equal(t, a.slot(), p.held.all[0].slot)
				require.Equal(t, a.seq, p.held.all[0].seq)
			}
		}
	}
}

// However many cuts were taken, while schedulers commit, no machine keeps an
// earlier state.
func TestCut_KeepsNoHistory(t *testing.T) {
	const machines, writers, cuts = 4, 3, 300
	cell := largeCell(t, machines)
	var wg sync.WaitGroup
	for i := range writers {
		s, err := cell.Register(fmt.Sprint(i), Limits{})
		require.NoError(t, err)
		wg.Go(func() {
			for n := range 5_000 {
				tx := Txn{Gang: n%2 == 0}
				for node := range uint32(machines) {
					tx.Claim(Claim{Machine: cell.machine(node, 0), Need: resources.Vector{1}})
				}
				if _, err := s.Commit(&tx); err != nil {
					panic(err)
				}
				for item := range machines {
					if a, ok := tx.Allocation(item); !ok || s.Release(a) != nil {
						panic(tx.Err(item))
					}
				}
			}
		})
	}
	for range cuts {
		cell.Cut()
	}
	wg.Wait()
	cell.Cut()
	for node := range uint32(machines) {
		v := load(cell.words.at(node))
		require.Nil(t, v.past.Load(), "machine %d", node)
		require.Nil(t, v.prev.Keep(), "machine %d", node)
	}
	require.NoError(t, cell.Check())
}

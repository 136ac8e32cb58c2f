package omega

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// A snapshot that copies machines when they are read shows the same as one that copies them
// with each refresh: every search, walk and commit has the same result.
func TestSnapshot_ShowsTheSameHoweverLateItCopies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		machines := rapid.SampledFrom([]int{1, 3, 40, 70, 130}).Draw(t, "machines")
		type world struct {
			cell *Cell
			s    [2]*Scheduler
			rand *rand.Rand
			held []AllocationID
		}
		var worlds [2]world // in the second all machines are copied with each refresh
		for i := range worlds {
			w := &worlds[i]
			w.cell, w.s = twoSchedulers(t, machines)
			w.rand = rand.New(rand.NewPCG(1, 2))
		}
		both := func(do func(w *world) any) {
			a, b := do(&worlds[0]), do(&worlds[1])
			require.Equal(t, b, a)
		}
		snap := func(w *world, by int) *Snapshot {
			s := w.s[by].Snapshot()
			if w == &worlds[1] {
				s.catchUpAll()
			}
			return s
		}
		by := func(t *rapid.T) int { return rapid.IntRange(0, 1).Draw(t, "by") }
		node := func(t *rapid.T) int { return rapid.IntRange(0, machines-1).Draw(t, "machine") }
		need := func(t *rapid.T) resources.Vector {
			n := rapid.Int64Range(1, 12).Draw(t, "need")
			return resources.Vector{n, n}
		}
		query := func(t *rapid.T) Query {
			q := Query{Need: need(t)}
			if rapid.Bool().Draw(t, "allow") {
				part := rapid.IntRange(1, 3).Draw(t, "part")
				q.Allow = func(n locality.Node) bool { return int(n)%part == 0 }
			}
			if rapid.IntRange(0, 3).Draw(t, "among") == 0 {
				var among []locality.Node
				for range rapid.IntRange(0, 5).Draw(t, "length") {
					among = append(among, locality.Node(rapid.IntRange(0, machines).Draw(t, "node")))
				}
				q.Among = slices.Values(among)
			}
			return q
		}
		policy := func(t *rapid.T) func(w *world) Policy {
			switch rapid.IntRange(0, 5).Draw(t, "policy") {
			case 0:
				return func(*world) Policy { return BestFit() }
			case 1:
				return func(*world) Policy { return WorstFit() }
			case 2:
				return func(*world) Policy { return FirstFit(nil) }
			case 3:
				return func(w *world) Policy { return FirstFit(w.rand) }
			case 4:
				return func(w *world) Policy { return BestOf(2, nil, w.rand) }
			}
			return func(*world) Policy { return NextFit() }
		}
		names := machines
		t.Repeat(map[string]func(*rapid.T){
			"refresh": func(t *rapid.T) {
				by := by(t)
				both(func(w *world) any { copied := snap(w, by).Refresh(time.Time{}); snap(w, by); return copied })
			},
			"refresh each": func(t *rapid.T) {
				by := by(t)
				both(func(w *world) any {
					var all []any
					all = append(all, snap(w, by).RefreshEach(time.Time{}, func(m MachineState) { all = append(all, m) }))
					return all
				})
			},
			"find and take": func(t *rapid.T) {
				by, q, p := by(t), query(t), policy(t)
				both(func(w *world) any {
					m, ok := snap(w, by).Find(q, p(w))
					return []any{m, ok, snap(w, by).Take(m, q.Need)}
				})
			},
			"place": func(t *rapid.T) {
				by, q, p, k := by(t), query(t), policy(t), rapid.IntRange(0, 9).Draw(t, "tasks")
				both(func(w *world) any {
					var all []any
					return append(all, snap(w, by).Place(q, p(w), k, func(m MachineID, n int) { all = append(all, m, n) }), all)
				})
			},
			"free and take": func(t *rapid.T) {
				by, node, need := by(t), uint32(node(t)), need(t)
				both(func(w *world) any {
					m := load(w.cell.words.at(node)).spec.id
					free, ok := snap(w, by).Free(m)
					return []any{free, ok, snap(w, by).Take(m, need)}
				})
			},
			"walk": func(t *rapid.T) {
				by, q := by(t), query(t)
				which := rapid.IntRange(0, 4).Draw(t, "which")
				both(func(w *world) any {
					var all []any
					switch s := snap(w, by); which {
					case 0:
						for m := range s.Machines() {
							all = append(all, m)
						}
					case 1:
						for m, free := range s.Fitting(q) {
							all = append(all, m, free)
						}
					case 2:
						for free := range s.rooms(nil) {
							all = append(all, *free)
						}
					case 3:
						for capacity := range s.capacities(nil) {
							all = append(all, *capacity)
						}
					default:
						all = append(all, fmt.Sprint(s.Explain(q)))
					}
					return all
				})
			},
			"commit": func(t *rapid.T) {
				by, gang := by(t), rapid.Bool().Draw(t, "gang")
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
					node, need := uint32(node(t)), need(t)
					if rapid.Bool().Draw(t, "where next fit goes on") {
						node = uint32(snap(&worlds[0], by).index.cursor)
					}
					for i := range txs {
						txs[i].Claim(Claim{Machine: load(worlds[i].cell.words.at(node)).spec.id, Need: need})
					}
				}
				for i := range worlds {
					w := &worlds[i]
					snap(w, by)
					_, err := w.s[by].Commit(&txs[i])
					require.NoError(t, err)
					for n := range txs[i].Len() {
						require.Equal(t, fmt.Sprint(txs[0].Err(n)), fmt.Sprint(txs[i].Err(n)))
						if a, ok := txs[i].Allocation(n); ok {
							w.held = append(w.held, a)
						}
					}
				}
				require.Equal(t, worlds[0].held, worlds[1].held)
			},
			"drain or resume": func(t *rapid.T) {
				node, drain := uint32(node(t)), rapid.Bool().Draw(t, "drain")
				both(func(w *world) any {
					id := load(w.cell.words.at(node)).spec.id
					if drain {
						return w.cell.Drain(id)
					}
					return w.cell.Resume(id)
				})
			},
			"cut": func(*rapid.T) {
				for i := range worlds {
					worlds[i].cell.Cut()
				}
			},
			"renew": func(t *rapid.T) {
				node := uint32(node(t))
				names++
				both(func(w *world) any {
					_, err := w.cell.Remove(load(w.cell.words.at(node)).spec.id)
					require.NoError(t, err)
					_, err = w.cell.Add(Machine{Name: fmt.Sprint("node-", names), Capacity: resources.Vector{15, 15}})
					return err
				})
			},
		})
	})
}

// A search copies the machines that it looks at, and leaves the others.
func TestSnapshot_CopiesWhatIsLookedAt(t *testing.T) {
	const machines = 300
	cell, all := twoSchedulers(t, machines)
	snap := all[0].Snapshot()
	require.Equal(t, machines, snap.late)
	snap.catchUpAll()
	require.Zero(t, snap.late)
	var tx Txn
	for node := range uint32(machines) {
		tx.Claim(Claim{Machine: cell.machine(node, 0), Need: resources.Vector{20, 20}})
	}
	granted, err := all[1].Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, machines, granted)
	require.Equal(t, machines, snap.Refresh(time.Time{}))
	require.Equal(t, machines, snap.late)

	free, ok := snap.Free(cell.machine(7, 0))
	require.True(t, ok)
	require.Zero(t, free)
	require.Equal(t, machines-1, snap.late)

	tx.Reset()
	tx.Claim(Claim{Machine: cell.machine(8, 0), Need: resources.Vector{1}})
	_, err = all[0].Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, machines-2, snap.late, "its commit has copied it")

	_, ok = snap.Find(Query{Need: resources.Vector{1}}, NextFit())
	require.False(t, ok)
	require.Zero(t, snap.late, "it has looked everywhere in vain")
}

package omega

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/resources"
)

// A plain claim is granted or refused, and charged, by its own path as by the path of
// all transactions, with the same reasons. So are releases, and claims on machines of their
// own. That holds whatever the state of the machines and the limits of the scheduler.
func TestApplyPlain_DecidesAsApplyAny(t *testing.T) {
	plain, granted := 0, 0
	var shapes [claimsApart + 1]int
	rapid.Check(t, func(t *rapid.T) {
		type side struct {
			cell *Cell
			s    [2]*Scheduler
		}
		var sides [2]side // in the second one there is no path for plain claims
		for i := range sides {
			sides[i].cell, _ = twoSchedulers(t, 3)
			for n, limits := range []Limits{{Lowest: -1, Highest: 1}, {Lowest: -2, Highest: 2, Jobs: 2}} {
				s, err := sides[i].cell.Register(fmt.Sprint("limited-", n), limits)
				require.NoError(t, err)
				s.Snapshot()
				sides[i].s[n] = s
			}
		}
		var held []AllocationID
		now := time.Unix(1e9, 0)
		names := 3
		// both does the same on both sides.
		both := func(act func(d *side) any) any {
			a, b := act(&sides[0]), act(&sides[1])
			require.Equal(t, a, b)
			return a
		}
		commit := func(by int, compose func(d *side, tx *Txn)) {
			var txs [2]Txn
			for i := range sides {
				d, tx := &sides[i], &txs[i]
				tx.Now, tx.Grace = now, 3*time.Second
				compose(d, tx)
				s := d.s[by]
				require.NoError(t, tx.check(s))
				s.note(tx)
				if tx.cell = d.cell; i == 0 {
					if tx.plain() {
						plain++
					}
					granted += s.apply(tx)
					shapes[tx.shape]++
				} else {
					s.applyAny(tx)
				}
				s.show(tx)
				tx.end()
			}
			for n := range txs[0].Len() {
				a, ok := txs[0].Allocation(n)
				b, same := txs[1].Allocation(n)
				require.Equal(t, ok, same)
				require.Equal(t, a, b)
				require.Equal(t, fmt.Sprint(txs[0].Err(n)), fmt.Sprint(txs[1].Err(n)))
				if ok {
					held = append(held, a)
				}
			}
		}
		node := func(t *rapid.T) int { return rapid.IntRange(0, 2).Draw(t, "machine") }
		by := func(t *rapid.T) int { return rapid.IntRange(0, 1).Draw(t, "by") }
		idOf := func(d *side, node int) MachineID { return load(d.cell.words.at(uint32(node))).spec.id }
		t.Repeat(map[string]func(*rapid.T){
			"claim": func(t *rapid.T) {
				by, node := by(t), node(t)
				stale := rapid.Bool().Draw(t, "stale")
				detect := Detection(rapid.IntRange(0, 5).Draw(t, "detect")) % 3
				c := Claim{Precedence: Precedence(rapid.IntRange(-2, 2).Draw(t, "precedence"))}
				c.Need = resources.Vector{rapid.Int64Range(0, 9).Draw(t, "need"), rapid.Int64Range(1, 9).Draw(t, "need too")}
				commit(by, func(d *side, tx *Txn) {
					if c.Machine = idOf(d, node); stale {
						c.Machine = d.s[by].snap.known(node).spec.id
					}
					tx.Detect = detect
					tx.Claim(c)
				})
			},
			"preempt": func(t *rapid.T) {
				node := node(t)
				commit(1, func(d *side, tx *Txn) {
					c := Claim{Machine: idOf(d, node), Need: resources.Vector{15, 15}, Precedence: 2}
					c.Victims, _ = d.cell.Victims(c.Machine, c.Need, c.Precedence)
					tx.Claim(c)
				})
			},
			"release": func(t *rapid.T) {
				if len(held) == 0 {
					t.Skip()
				}
				a := rapid.SampledFrom(held).Draw(t, "allocation")
				by := by(t)
				both(func(d *side) any { return fmt.Sprint(d.s[by].Release(a)) })
			},
			"give back": func(t *rapid.T) {
				if len(held) == 0 {
					t.Skip()
				}
				a := rapid.SampledFrom(held).Draw(t, "allocation")
				commit(by(t), func(_ *side, tx *Txn) { tx.Release(a) })
			},
			"several": func(t *rapid.T) {
				nodes := rapid.SliceOfN(rapid.IntRange(0, 2), 2, 4).Draw(t, "machines")
				gang := rapid.Bool().Draw(t, "gang")
				detect := Detection(rapid.IntRange(0, 5).Draw(t, "detect")) % 3
				low := Precedence(rapid.IntRange(-2, 1).Draw(t, "precedence"))
				needs := rapid.SliceOfN(rapid.Int64Range(1, 9), len(nodes), len(nodes)).Draw(t, "needs")
				commit(by(t), func(d *side, tx *Txn) {
					tx.Gang, tx.Detect = gang, detect
					for i, node := range nodes {
						tx.Claim(Claim{Machine: idOf(d, node), Need: resources.Vector{needs[i], 1}, Precedence: low + Precedence(i%2)})
					}
				})
			},
			"give back several": func(t *rapid.T) {
				if len(held) == 0 {
					t.Skip()
				}
				some := rapid.SliceOfN(rapid.SampledFrom(held), 2, 4).Draw(t, "allocations")
				gang := rapid.Bool().Draw(t, "gang")
				commit(by(t), func(_ *side, tx *Txn) {
					tx.Gang = gang
					for _, a := range some {
						tx.Release(a)
					}
				})
			},
			"drain":  func(t *rapid.T) { n := node(t); both(func(d *side) any { return d.cell.Drain(idOf(d, n)) }) },
			"resume": func(t *rapid.T) { n := node(t); both(func(d *side) any { return d.cell.Resume(idOf(d, n)) }) },
			"renew": func(t *rapid.T) {
				n := node(t)
				names++
				both(func(d *side) any {
					_, err := d.cell.Remove(idOf(d, n))
					require.NoError(t, err)
					_, err = d.cell.Add(Machine{Name: fmt.Sprint("node-", names), Capacity: resources.Vector{20, 20}})
					return err
				})
			},
			"restrict": func(t *rapid.T) {
				by, bits := by(t), rapid.Uint64Range(0, 7).Draw(t, "mask")
				both(func(d *side) any {
					if mask := (Mask{bits}); bits > 0 {
						require.NoError(t, d.s[by].Restrict(t.Context(), mask))
					} else {
						require.NoError(t, d.s[by].Restrict(t.Context(), nil))
					}
					return nil
				})
			},
			"begin a job": func(t *rapid.T) { by := by(t); both(func(d *side) any { return fmt.Sprint(d.s[by].BeginJob()) }) },
			"end a job":   func(t *rapid.T) { by := by(t); both(func(d *side) any { return fmt.Sprint(d.s[by].EndJob()) }) },
			"refresh":     func(t *rapid.T) { by := by(t); both(func(d *side) any { return d.s[by].snap.update(nil) }) },
			"wait":        func(*rapid.T) { now = now.Add(time.Second) },
			"replace": func(t *rapid.T) {
				by := by(t)
				both(func(d *side) any {
					successor, err := d.cell.Replace(d.s[by].Name())
					require.NoError(t, err)
					var tx Txn // of one that has been replaced
					tx.Claim(Claim{Machine: idOf(d, 0), Need: resources.Vector{1}})
					require.NoError(t, tx.check(d.s[by]))
					require.Zero(t, d.s[by].apply(&tx))
					d.s[by] = successor
					successor.Snapshot()
					return fmt.Sprint(tx.items[0].verdict)
				})
			},
			"": func(t *rapid.T) {
				var files [2]bytes.Buffer
				for i, d := range sides {
					require.NoError(t, d.cell.Check())
					require.NoError(t, d.cell.Save(&files[i]))
				}
				require.Equal(t, files[0].Bytes(), files[1].Bytes())
				both(func(d *side) any {
					zero, err := d.cell.Usage(0)
					require.NoError(t, err)
					return fmt.Sprint(zero, d.s[0].Usage(), d.s[1].Usage())
				})
			},
		})
	})
	if !testing.Short() { // few draws have releases on machines of their own
		require.NotContains(t, shapes, 0)
	}
	require.Positive(t, plain)
	require.Positive(t, granted)
}

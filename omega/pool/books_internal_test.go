package pool

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// The room of a machine is what its leases, and all that is kept from them, leave of the
// block. It follows each lease, also where the books take their short way.
func TestBooks_KnowTheRoomOfEachMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := books{core: new(core), byName: map[string]locality.Node{}}
		for _, name := range []string{"a", "b"} {
			_, err := b.add(&omega.Machine{Name: name, Capacity: resources.Vector{4, 3}})
			require.NoError(t, err)
		}
		amount := rapid.Custom(func(t *rapid.T) resources.Vector {
			return resources.Vector{rapid.Int64Range(0, 3).Draw(t, "x"), rapid.Int64Range(0, 3).Draw(t, "y")}
		})
		type held struct {
			node int
			need resources.Vector
		}
		var leases []held
		hide := func(of func(m *machine) *resources.Vector) func(*rapid.T) {
			return func(t *rapid.T) {
				node := rapid.IntRange(0, 1).Draw(t, "node")
				*of(&b.machines[node]) = amount.Draw(t, "amount")
				b.settle(node)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				need := amount.Draw(t, "need")
				if node := b.find(&need); node >= 0 {
					b.allocate(node, &need)
					leases = append(leases, held{node, need})
				}
			},
			"give": func(t *rapid.T) {
				if len(leases) > 0 {
					i := rapid.IntRange(0, len(leases)-1).Draw(t, "lease")
					b.release(leases[i].node, &leases[i].need)
					leases = append(leases[:i], leases[i+1:]...)
				}
			},
			"keep":  hide(func(m *machine) *resources.Vector { return &m.kept }),
			"owe":   hide(func(m *machine) *resources.Vector { return &m.owed }),
			"asked": hide(func(m *machine) *resources.Vector { return &m.asked }),
			"drain": func(t *rapid.T) {
				node := rapid.IntRange(0, 1).Draw(t, "node")
				b.machines[node].draining = !b.machines[node].draining
				b.settle(node)
			},
			"resize": func(t *rapid.T) {
				node := rapid.IntRange(0, 1).Draw(t, "node")
				m := &b.machines[node]
				m.block, m.shrunk = resources.Vector{1, 2}.Add(amount.Draw(t, "more")), true
				b.settle(node)
			},
			"": func(t *rapid.T) {
				var most resources.Vector
				for node := range b.machines {
					m := &b.machines[node]
					var sum, room resources.Vector
					n := 0
					for _, l := range leases {
						if l.node == node {
							sum, n = sum.Add(l.need), n+1
						}
					}
					if !m.draining && sum.Fits(m.block) {
						for k := range room {
							room[k] = max(0, m.block[k]-sum[k]-m.kept[k]-m.owed[k]-m.asked[k])
						}
					}
					require.Equal(t, sum, m.held)
					require.Equal(t, n, m.leases)
					require.Equal(t, room, m.room)
					most = most.Max(room)
				}
				require.Equal(t, most, b.most.nodes[1])
			},
		})
	})
}

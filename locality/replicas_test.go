package locality_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
)

func TestReplicas_ZeroIsEmpty(t *testing.T) {
	var replicas locality.Replicas[string]
	require.Empty(t, replicas.Nodes("shard-1"))
	require.False(t, replicas.Remove("shard-1", 3))
	require.Empty(t, replicas.Drop("shard-1"))
	require.Empty(t, maps.Collect(replicas.All()))
}

func TestReplicas_BehavesLikeAMapOfSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var replicas locality.Replicas[int]
		model := map[int]map[locality.Node]bool{}
		block := rapid.IntRange(0, 5)
		node := rapid.Uint32Range(0, 5)
		sorted := func(block int) []locality.Node {
			return slices.Sorted(maps.Keys(model[block]))
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				b, n := block.Draw(t, "block"), locality.Node(node.Draw(t, "node"))
				require.Equal(t, !model[b][n], replicas.Add(b, n))
				if model[b] == nil {
					model[b] = map[locality.Node]bool{}
				}
				model[b][n] = true
			},
			"remove": func(t *rapid.T) {
				b, n := block.Draw(t, "block"), locality.Node(node.Draw(t, "node"))
				require.Equal(t, model[b][n], replicas.Remove(b, n))
				delete(model[b], n)
				if len(model[b]) == 0 {
					delete(model, b)
				}
			},
			"drop": func(t *rapid.T) {
				b := block.Draw(t, "block")
				require.Equal(t, sorted(b), replicas.Drop(b))
				delete(model, b)
			},
			"": func(t *rapid.T) {
				walked := map[int][]locality.Node{}
				for b, nodes := range replicas.All() {
					require.NotContains(t, walked, b)
					walked[b] = nodes
				}
				require.Len(t, walked, len(model), "a block without copies is forgotten")
				for b := range 6 {
					require.Equal(t, sorted(b), replicas.Nodes(b))
					require.Equal(t, sorted(b), walked[b])
				}
			},
		})
	})
}

func TestReplicas_ALoadedListNeverChanges(t *testing.T) {
	var replicas locality.Replicas[string]
	for _, n := range []locality.Node{5, 1, 3} {
		require.True(t, replicas.Add("shard-1", n))
	}
	before := replicas.Nodes("shard-1")
	replicas.Add("shard-1", 2)
	replicas.Remove("shard-1", 5)
	require.Equal(t, []locality.Node{1, 3, 5}, before)
	require.Equal(t, []locality.Node{1, 2, 3}, replicas.Nodes("shard-1"))

	// Nor does appending to it reach the one inside.
	_ = append(replicas.Nodes("shard-1"), 9)
	require.Equal(t, []locality.Node{1, 2, 3}, replicas.Drop("shard-1"))
}

func TestReplicas_AllMayBeStoppedAndItsBodyMayWrite(t *testing.T) {
	var replicas locality.Replicas[int]
	for b := range 1000 {
		replicas.Add(b, 1)
	}
	seen := 0
	for range replicas.All() {
		if seen++; seen == 10 {
			break
		}
	}
	require.Equal(t, 10, seen)
	for b := range replicas.All() {
		replicas.Drop(b)
		replicas.Add(b+1_000_000, 1)
	}
	for b := range 1000 {
		require.Empty(t, replicas.Nodes(b))
	}
}

// Every goroutine has a node of its own and makes it come and go in all blocks. In
// the end each block has exactly the nodes left in it. The map grows and shrinks
// under them, and the first write races for the map.
func TestReplicas_LosesNoUpdate(t *testing.T) {
	const writers, blocks = 8, 300
	var (
		replicas locality.Replicas[int]
		wg       sync.WaitGroup
	)
	for n := range locality.Node(writers) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(n)))
			for range 3 {
				for _, b := range rng.Perm(blocks) {
					if !replicas.Add(b, n) {
						t.Errorf("block %d already had node %d", b, n)
					}
					if nodes := replicas.Nodes(b); !slices.IsSorted(nodes) || !slices.Contains(nodes, n) {
						t.Errorf("block %d has %v, want node %d in ascending order", b, nodes, n)
					}
				}
				for _, b := range rng.Perm(blocks) {
					if b%writers == int(n) {
						continue
					}
					if !replicas.Remove(b, n) {
						t.Errorf("block %d had lost node %d", b, n)
					}
				}
				for b := int(n); b < blocks; b += writers {
					replicas.Remove(b, n)
				}
			}
			for b := int(n); b < blocks; b += writers {
				replicas.Add(b, n)
			}
		})
	}
	wg.Go(func() {
		for range 50 {
			for _, nodes := range replicas.All() {
				if len(nodes) == 0 {
					t.Error("walked a block without copies")
				}
			}
		}
	})
	wg.Wait()
	for b := range blocks {
		require.Equal(t, []locality.Node{locality.Node(b % writers)}, replicas.Nodes(b))
	}
}

// Two goroutines do the same at once to a block that has one copy, or to a map
// without a block. One of them does it, the other finds it done.
func TestReplicas_OneOfTwoWins(t *testing.T) {
	for round := range 3000 {
		var (
			replicas locality.Replicas[int]
			added    [2]bool
			removed  [2]bool
		)
		both(func(i int) { added[i] = replicas.Add(1, 1) })
		require.NotEqual(t, added[0], added[1], "round %d", round)
		require.Equal(t, []locality.Node{1}, replicas.Nodes(1))

		both(func(i int) { removed[i] = replicas.Remove(1, 1) })
		require.NotEqual(t, removed[0], removed[1], "round %d", round)
		require.Empty(t, maps.Collect(replicas.All()), "round %d", round)
	}
}

// both runs f(0) and f(1) as nearly at once as two goroutines can.
func both(f func(i int)) {
	var (
		ready atomic.Int32
		wg    sync.WaitGroup
	)
	for i := range 2 {
		wg.Go(func() {
			for ready.Add(1); ready.Load() < 2; {
				runtime.Gosched()
			}
			f(i)
		})
	}
	wg.Wait()
}

type replicasOp struct {
	call  string
	block int
	node  locality.Node
}

// replicasModel is one block as a bit set of its nodes.
var replicasModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byBlock := map[int][]porcupine.Operation{}
		for _, op := range history {
			block := op.Input.(replicasOp).block
			byBlock[block] = append(byBlock[block], op)
		}
		return slices.Collect(maps.Values(byBlock))
	},
	Init: func() any { return uint64(0) },
	Step: func(state, input, output any) (bool, any) {
		set, op := state.(uint64), input.(replicasOp)
		bit := uint64(1) << op.node
		switch op.call {
		case "add":
			return output == (set&bit == 0), set | bit
		case "remove":
			return output == (set&bit != 0), set &^ bit
		case "drop":
			return output == set, uint64(0)
		default:
			return output == set, set
		}
	},
}

func TestReplicas_IsLinearizableBlockByBlock(t *testing.T) {
	const clients, blocks, rounds = 4, 3, 400
	toSet := func(nodes []locality.Node) (set uint64) {
		for _, n := range nodes {
			set |= 1 << n
		}
		return set
	}
	for seed := range uint64(5) {
		var (
			replicas  locality.Replicas[int]
			histories [clients][]porcupine.Operation
			wg        sync.WaitGroup
		)
		begin := time.Now() // only the order of these instants matters
		for client := range clients {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(seed, uint64(client)))
				for range rounds {
					op := replicasOp{block: rng.IntN(blocks), node: locality.Node(rng.IntN(4))}
					op.call = []string{"add", "remove", "drop", "nodes"}[rng.IntN(4)]
					var output any
					called := time.Since(begin).Nanoseconds()
					switch op.call {
					case "add":
						output = replicas.Add(op.block, op.node)
					case "remove":
						output = replicas.Remove(op.block, op.node)
					case "drop":
						output = toSet(replicas.Drop(op.block))
					default:
						output = toSet(replicas.Nodes(op.block))
					}
					histories[client] = append(histories[client], porcupine.Operation{
						ClientId: client, Input: op, Output: output,
						Call: called, Return: time.Since(begin).Nanoseconds(),
					})
				}
			})
		}
		wg.Wait()
		require.True(t, porcupine.CheckOperations(replicasModel, slices.Concat(histories[:]...)), "seed %d", seed)
	}
}

func TestReplicas_LooksUpWithoutAllocating(t *testing.T) {
	var replicas locality.Replicas[string]
	for n := range locality.Node(3) {
		replicas.Add("shard-1", n)
	}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		replicas.Nodes("shard-1")
		replicas.Add("shard-1", 2)
		replicas.Remove("shard-1", 7)
	}))
}

func BenchmarkReplicas(b *testing.B) {
	var replicas locality.Replicas[int]
	for block := range 100_000 {
		for k := range locality.Node(3) {
			replicas.Add(block, locality.Node(block%5000)+k)
		}
	}
	b.Run(fmt.Sprintf("op=nodes/blocks=%d", 100_000), func(b *testing.B) {
		b.ReportAllocs()
		block := 0
		for b.Loop() {
			block = (block + 7919) % 100_000
			replicas.Nodes(block)
		}
	})
	b.Run(fmt.Sprintf("op=add+remove/blocks=%d", 100_000), func(b *testing.B) {
		b.ReportAllocs()
		block := 0
		for b.Loop() {
			block = (block + 7919) % 100_000
			replicas.Add(block, 6000)
			replicas.Remove(block, 6000)
		}
	})
}

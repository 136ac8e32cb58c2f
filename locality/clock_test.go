package locality_test

import (
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
)

// A bounded Replicas forgets whole blocks, and is otherwise as one that is not.
func TestNewReplicas_ForgetsButNeverInvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 9).Draw(t, "most")
		replicas, err := locality.NewReplicas[int](most)
		require.NoError(t, err)
		model := map[int][]locality.Node{} // what is known, as far as it has not been forgotten
		block, node := rapid.IntRange(0, 7), rapid.Uint32Range(0, 3)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				b, n := block.Draw(t, "block"), locality.Node(node.Draw(t, "node"))
				require.Equal(t, !slices.Contains(model[b], n), replicas.Add(b, n))
				if !slices.Contains(model[b], n) {
					model[b] = append(model[b], n)
					slices.Sort(model[b])
				}
				require.Contains(t, replicas.Nodes(b), n, "a new copy is known")
			},
			"remove": func(t *rapid.T) {
				b, n := block.Draw(t, "block"), locality.Node(node.Draw(t, "node"))
				require.Equal(t, slices.Contains(model[b], n), replicas.Remove(b, n))
				if model[b] = slices.DeleteFunc(model[b], func(m locality.Node) bool { return m == n }); len(model[b]) == 0 {
					delete(model, b)
				}
			},
			"drop": func(t *rapid.T) {
				b := block.Draw(t, "block")
				require.Equal(t, model[b], replicas.Drop(b))
				delete(model, b)
			},
			"": func(t *rapid.T) {
				now, known, before, largest := maps.Collect(replicas.All()), 0, 0, 0
				for _, nodes := range now {
					known += len(nodes)
				}
				require.LessOrEqual(t, known, most)
				for b, nodes := range model {
					before += len(nodes)
					if !slices.Equal(nodes, now[b]) {
						largest = max(largest, len(nodes)-len(now[b]))
						require.Subset(t, nodes, now[b])
						require.True(t, now[b] == nil || len(now) == 1, "in part only if it is alone")
					}
				}
				if largest > 0 {
					require.Greater(t, before, most, "only where there are too many")
					require.Greater(t, known+largest, most, "and no more than that")
				}
				model = maps.Clone(now)
			},
		})
	})
}

func TestNewReplicas_KeepsBlocksWithLookUps(t *testing.T) {
	const most = 10
	replicas, err := locality.NewReplicas[int](most)
	require.NoError(t, err)
	const copied = 3 // a block that gets copies, without look-ups
	for b := range 4 {
		replicas.Add(b, 7)
	}
	for b := 4; b < 1000; b++ {
		require.Equal(t, b > 4, replicas.Remove(copied, 8))
		require.True(t, replicas.Add(copied, 8))
		replicas.Add(b, 7)
		for popular := range 3 {
			require.NotEmpty(t, replicas.Nodes(popular), "after block %d", b)
		}
	}
	require.Len(t, maps.Collect(replicas.All()), most-1, "one of them has two copies")

	_, err = locality.NewReplicas[int](0)
	require.ErrorContains(t, err, "locality: replicas of at most 0 copies, want at least 1")
}

func TestNewReplicas_KeepsToTheBoundWhileManyWrite(t *testing.T) {
	const most, writers = 50, 4
	replicas, err := locality.NewReplicas[int](most)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(w)))
			for range 3000 {
				switch b := rng.IntN(200); rng.IntN(4) {
				case 0:
					replicas.Remove(b, locality.Node(w))
				case 1:
					replicas.Nodes(b)
				default:
					replicas.Add(b, locality.Node(w))
				}
			}
		})
	}
	wg.Wait()
	copies := func() (k int) {
		for _, nodes := range replicas.All() {
			k += len(nodes)
		}
		return k
	}
	require.LessOrEqual(t, copies(), most)

	// Nor is any room lost.
	for b := range replicas.All() {
		replicas.Drop(b)
	}
	for b := range most {
		replicas.Add(b, 1)
	}
	require.Equal(t, most, copies())
	for b := range most {
		replicas.Add(most+b, 1)
		require.Equal(t, most, copies())
	}
}

// However many blocks come by, the memory is that of what is known.
func TestNewReplicas_HoldsNoMemoryOfForgottenBlocks(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	replicas, err := locality.NewReplicas[[64]byte](1000)
	require.NoError(t, err)
	block := func(i int) (b [64]byte) {
		binary.LittleEndian.PutUint64(b[:], uint64(i))
		return b
	}
	const some, many = 2000, 50_000 // their names alone are 3 MB
	for i := range some {
		replicas.Add(block(i), 1)
	}
	before := heap()
	for i := some; i < many; i++ {
		replicas.Add(block(i), 1)
		if i%3 == 0 {
			replicas.Remove(block(i), 1)
		}
	}
	for n := range locality.Node(5000) {
		replicas.Add(block(0), n)
	}
	require.Less(t, heap(), before+1<<20)
	require.LessOrEqual(t, len(replicas.Nodes(block(0))), 1000)
	runtime.KeepAlive(replicas)
}

// By the definition: look at every input and every copy.
func TestReplicas_WeighsTheInputsOfATask(t *testing.T) {
	topology, _ := rooms(t)
	rapid.Check(t, func(t *rapid.T) {
		var replicas locality.Replicas[int]
		at := func(b int, n locality.Node) bool { return slices.Contains(replicas.Nodes(b), n) }
		for range rapid.IntRange(0, 20).Draw(t, "copies") {
			replicas.Add(rapid.IntRange(0, 4).Draw(t, "block"), locality.Node(rapid.Uint32Range(0, 12).Draw(t, "node")))
		}
		var inputs []locality.Input[int]
		for range rapid.IntRange(0, 6).Draw(t, "inputs") {
			inputs = append(inputs, locality.Input[int]{
				Block: rapid.IntRange(0, 5).Draw(t, "block"),
				Bytes: rapid.SampledFrom([]int64{-5, 0, 1, 2, 3, 100}).Draw(t, "bytes"),
			})
		}
		holders := map[locality.Node]int64{}
		for n := range locality.Node(13) {
			for l := range locality.Level(4) {
				near := int64(0)
				for _, in := range inputs {
					found := false
					for m := range locality.Node(13) {
						found = found || at(in.Block, m) && topology.Level(n, m) <= l
					}
					if found {
						near += max(in.Bytes, 0)
					}
				}
				require.Equal(t, near, replicas.Near(topology, n, l, inputs...))
				if l == 0 && near > 0 {
					holders[n] = near
				}
			}
		}
		list := replicas.Holders(inputs...)
		require.Len(t, list, len(holders))
		for i, h := range list {
			require.Equal(t, holders[h.Node], h.Bytes)
			if i > 0 {
				before := list[i-1]
				require.True(t, before.Bytes > h.Bytes || before.Bytes == h.Bytes && before.Node < h.Node, "order")
			}
		}
	})
}

func TestReplicas_SumsOfBytesStopAtTheLargest(t *testing.T) {
	var replicas locality.Replicas[string]
	replicas.Add("a", 1)
	replicas.Add("b", 1)
	inputs := []locality.Input[string]{{"a", 1 << 62}, {"b", 1 << 62}, {"b", 1 << 62}}
	require.Equal(t, int64(1<<63-1), replicas.Near(nil, 1, 0, inputs...))
	require.Equal(t, []locality.Holder{{1, 1<<63 - 1}}, replicas.Holders(inputs...))
}

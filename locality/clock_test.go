package locality_test

import (
	"maps"
	"math/rand/v2"
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
		most := rapid.IntRange(1, 4).Draw(t, "most")
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
				require.Equal(t, model[b], replicas.Nodes(b), "what was just added is known")
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
				now := maps.Collect(replicas.All())
				require.LessOrEqual(t, len(now), most)
				forgotten := 0
				for b := range model {
					if now[b] == nil {
						delete(model, b)
						forgotten++
					}
				}
				require.LessOrEqual(t, forgotten, 1, "one for one")
				require.True(t, forgotten == 0 || len(model) == most, "only where there are too many")
				require.Equal(t, model, now)
			},
		})
	})
}

func TestNewReplicas_KeepsWhatIsAskedFor(t *testing.T) {
	const most = 10
	replicas, err := locality.NewReplicas[int](most)
	require.NoError(t, err)
	for b := range 3 {
		replicas.Add(b, 7)
	}
	for b := 3; b < 1000; b++ {
		replicas.Add(b, 7)
		for popular := range 3 {
			require.NotEmpty(t, replicas.Nodes(popular), "after block %d", b)
		}
	}
	require.Len(t, maps.Collect(replicas.All()), most)

	_, err = locality.NewReplicas[int](0)
	require.ErrorContains(t, err, "locality: replicas of at most 0 blocks, want at least 1")
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
	require.LessOrEqual(t, len(maps.Collect(replicas.All())), most)
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
	require.EqualValues(t, 1<<63-1, replicas.Near(nil, 1, 0, inputs...))
	require.Equal(t, []locality.Holder{{1, 1<<63 - 1}}, replicas.Holders(inputs...))
}

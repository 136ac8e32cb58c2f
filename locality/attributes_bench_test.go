package locality_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
)

// fleet returns machines of 21 attributes with a predicate over each, that about
// one machine in share satisfies, and sets of five of them.
func fleet(t testing.TB, nodes, share int) (*locality.Attributes, [][]locality.Constraint) {
	t.Helper()
	const kinds = 21
	rng := rand.New(rand.NewPCG(1, 2))
	attributes := new(locality.Attributes)
	var cs []locality.Constraint
	for k := range kinds {
		c, err := attributes.Register(locality.Greater(fmt.Sprint("a", k), int64(100-100/share)))
		require.NoError(t, err)
		cs = append(cs, c)
	}
	for n := range nodes {
		values := make(map[string]locality.Value, kinds)
		for k := range kinds {
			values[fmt.Sprint("a", k)] = locality.Number(1 + rng.Int64N(100))
		}
		require.NoError(t, attributes.Describe(locality.Node(n), values))
	}
	var sets [][]locality.Constraint
	for range 64 {
		rng.Shuffle(len(cs), func(i, j int) { cs[i], cs[j] = cs[j], cs[i] })
		sets = append(sets, slices.Clone(cs[:5]))
	}
	return attributes, sets
}

// Matching 5 of 21 predicates, as the sets come and with all 64 of them cached.
// Of the machines, 1 in 32 or 1 in 3,125 meets a set.
func BenchmarkMatch(b *testing.B) {
	const nodes = 50_000
	for _, share := range []int{2, 5} {
		attributes, sets := fleet(b, nodes, share)
		for _, cached := range []bool{false, true} {
			needs := make([]*locality.Constraints, len(sets))
			for i, set := range sets {
				var err error
				needs[i], err = attributes.Require(set...)
				require.NoError(b, err)
			}
			if cached {
				require.Equal(b, len(sets), attributes.Cache(len(sets)))
			}
			run := func(op string, do func(rng *rand.Rand)) {
				b.Run(fmt.Sprintf("op=%s/machines=%d/share=%d/cached=%t", op, nodes, share, cached), func(b *testing.B) {
					rng := rand.New(rand.NewPCG(3, 4))
					b.ReportAllocs()
					for b.Loop() {
						do(rng)
					}
				})
			}
			run("first", func(rng *rand.Rand) {
				needs[rng.IntN(len(needs))].First(locality.Node(rng.IntN(nodes)))
			})
			run("require+first", func(rng *rand.Rand) {
				need, _ := attributes.Require(sets[rng.IntN(len(sets))]...)
				need.First(locality.Node(rng.IntN(nodes)))
			})
			var words []uint64
			run("all", func(rng *rand.Rand) { words = needs[rng.IntN(len(needs))].Words(words) })
			run("set", func(rng *rand.Rand) {
				_ = attributes.Set(locality.Node(rng.IntN(nodes)), "a7", locality.Number(rng.Int64N(100)))
			})
		}
	}
}

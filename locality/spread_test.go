package locality_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
)

// rooms has two zones of two racks of two nodes, a rack in no zone with nodes 8
// and 9, and node 10 in no rack.
func rooms(t require.TestingT) (*locality.Topology, locality.Config) {
	cfg := locality.Config{
		Parents: map[string]string{"r1": "z1", "r2": "z1", "r3": "z2", "r4": "z2"},
		Nodes:   []string{"r1", "r1", "r2", "r2", "r3", "r3", "r4", "r4", "r5", "r5", ""},
	}
	topology, err := locality.New(cfg)
	require.NoError(t, err)
	return topology, cfg
}

// What it counts and allows is what counting all tasks anew says.
func TestSpread_CountsEachGroupByItself(t *testing.T) {
	topology, cfg := rooms(t)
	const unknown = 50
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.SliceOfN(rapid.IntRange(0, 3), 0, 4).Draw(t, "most")
		spread, err := locality.NewSpread(topology, most...)
		require.NoError(t, err)
		nodes := []locality.Node{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, unknown}
		var tasks []locality.Node
		count := func(n locality.Node, l int) (k int) {
			for _, m := range tasks {
				mine, theirs := chain(cfg, n), chain(cfg, m)
				switch {
				case l == 0 && m == n, l >= 3,
					l >= 1 && l <= 2 && len(mine) >= l && len(theirs) >= l && mine[l-1] == theirs[l-1]:
					k++
				}
			}
			return k
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				n := rapid.SampledFrom(nodes).Draw(t, "node")
				spread.Add(n)
				tasks = append(tasks, n)
			},
			"remove": func(t *rapid.T) {
				n := rapid.SampledFrom(nodes).Draw(t, "node")
				for i, m := range tasks {
					if m == n {
						tasks = append(tasks[:i], tasks[i+1:]...)
						require.NoError(t, spread.Remove(n))
						return
					}
				}
				require.ErrorContains(t, spread.Remove(n), "which has none")
			},
			"": func(t *rapid.T) {
				for _, n := range nodes {
					allows := true
					for l := range 5 {
						require.Equal(t, count(n, l), spread.Count(n, locality.Level(l)), "node %d, level %d", n, l)
						if l < len(most) && most[l] > 0 && count(n, l) >= most[l] {
							allows = false
						}
					}
					require.Equal(t, allows, spread.Allows(n), "node %d", n)
				}
			},
		})
	})
}

// However many places are asked for, filling up greedily never exceeds a limit
// and stops only where every node left would.
func TestSpread_FillsUpToTheLimits(t *testing.T) {
	topology, _ := rooms(t)
	spread, err := locality.NewSpread(topology, 2, 3, 4)
	require.NoError(t, err)
	placed := 0
	for range 10 {
		for n := range locality.Node(11) {
			if spread.Allows(n) {
				spread.Add(n)
				placed++
			}
		}
	}
	// Two zones at their limit of 4, the rack without a zone at its limit of 3,
	// the node without a rack at its own of 2.
	require.Equal(t, 2*4+3+2, placed)
	require.Equal(t, placed, spread.Count(0, locality.Anywhere))
}

func TestSpread_ZeroLimitsNothing(t *testing.T) {
	var spread locality.Spread
	for range 100 {
		require.True(t, spread.Allows(7))
		spread.Add(7)
	}
	require.Equal(t, 100, spread.Count(7, 0))
	require.Equal(t, 100, spread.Count(3, 1))
	require.NoError(t, spread.Remove(7))
	require.Equal(t, 99, spread.Count(7, 0))
	require.ErrorContains(t, spread.Remove(3), "locality: spread: remove a task from node 3, which has none")
}

func TestNewSpread_NamesTheCulprit(t *testing.T) {
	topology, _ := rooms(t)
	_, err := locality.NewSpread(topology, 0, -1)
	require.ErrorContains(t, err, "locality: spread: at most -1 tasks a rack, want 0 or more")
	_, err = locality.NewSpread(topology, 1, 1, 1, 1, 1)
	require.ErrorContains(t, err, "locality: spread: 5 limits [1 1 1 1 1], want at most 4, one a level")
	_, err = locality.NewSpread(nil, 1, 1, 1)
	require.ErrorContains(t, err, "want at most 2")
}

func BenchmarkSpread(b *testing.B) {
	topology, _ := grid(b, 2500, 20)
	spread, err := locality.NewSpread(topology, 1, 4, 100)
	require.NoError(b, err)
	for n := locality.Node(0); n < 50_000; n += 50 {
		spread.Add(n)
	}
	b.Run("op=allows/nodes=50000/tasks=1000", func(b *testing.B) {
		b.ReportAllocs()
		n := locality.Node(0)
		for b.Loop() {
			n = (n + 7919) % 50_000
			spread.Allows(n)
		}
	})
	b.Run("op=add+remove/nodes=50000/tasks=1000", func(b *testing.B) {
		b.ReportAllocs()
		n := locality.Node(0)
		for b.Loop() {
			n = (n + 7919) % 50_000
			spread.Add(n)
			_ = spread.Remove(n)
		}
	})
}

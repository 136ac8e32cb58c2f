package locality_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
)

func TestTopology_LevelIsTheNearestSharedGroup(t *testing.T) {
	// Two zones; z1 has racks r1 and r2, z2 has r3. Rack r4 is in no zone,
	// nodes 7 and 8 are in no rack.
	topology, err := locality.New(locality.Config{
		Parents: map[string]string{"r1": "z1", "r2": "z1", "r3": "z2", "r4": ""},
		Nodes:   []string{"r1", "r1", "r2", "r3", "r3", "r4", "r4", "", ""},
	})
	require.NoError(t, err)

	const unknown = 1000
	tests := map[string]struct {
		node      locality.Node
		preferred []locality.Node
		want      locality.Level
	}{
		"the node itself":                {node: 0, preferred: []locality.Node{3, 0}, want: locality.NodeLocal},
		"same rack":                      {node: 0, preferred: []locality.Node{1}, want: locality.RackLocal},
		"same zone":                      {node: 0, preferred: []locality.Node{2}, want: locality.ZoneLocal},
		"nothing shared":                 {node: 0, preferred: []locality.Node{3}, want: locality.Anywhere},
		"nearest counts, last":           {node: 0, preferred: []locality.Node{3, 2, 1}, want: locality.RackLocal},
		"nearest counts, first":          {node: 0, preferred: []locality.Node{1, 2, 3}, want: locality.RackLocal},
		"no preference":                  {node: 0, want: locality.NodeLocal},
		"no preference, unknown node":    {node: unknown, want: locality.NodeLocal},
		"rack without zone, inside":      {node: 5, preferred: []locality.Node{6}, want: locality.RackLocal},
		"rack without zone, outside":     {node: 5, preferred: []locality.Node{0, 7}, want: locality.Anywhere},
		"no group is not a common group": {node: 7, preferred: []locality.Node{8}, want: locality.Anywhere},
		"unknown node":                   {node: unknown, preferred: []locality.Node{0, 7}, want: locality.Anywhere},
		"unknown preferred":              {node: 0, preferred: []locality.Node{unknown}, want: locality.Anywhere},
		"unknown preferred among known":  {node: 0, preferred: []locality.Node{unknown, 2}, want: locality.ZoneLocal},
		"unknown, but the same":          {node: unknown, preferred: []locality.Node{0, unknown}, want: locality.NodeLocal},
		"largest number":                 {node: math.MaxUint32, preferred: []locality.Node{0}, want: locality.Anywhere},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.want, topology.Level(tt.node, tt.preferred...))
		})
	}
	require.Equal(t, locality.Anywhere, topology.Any())
	for level, name := range []string{"node", "rack", "zone", "any", "any"} {
		require.Equal(t, name, topology.LevelName(locality.Level(level)))
	}
	require.Equal(t, "any", topology.LevelName(255))
}

func TestTopology_GroupsOfTheConfigAreNumberedByName(t *testing.T) {
	topology, err := locality.New(locality.Config{
		Parents: map[string]string{"b": "y", "a": "x", "c": "x", "d": ""},
		Nodes:   []string{"c", "a", "b", "c", "", "d"},
	})
	require.NoError(t, err)
	const unknown, last = 1000, locality.MaxNodes - 1
	tests := map[string]struct {
		level  locality.Level
		groups map[locality.Node]uint32
	}{
		"node":   {locality.NodeLocal, map[locality.Node]uint32{0: ^uint32(0), 1: ^uint32(1), unknown: ^uint32(unknown)}},
		"rack":   {locality.RackLocal, map[locality.Node]uint32{0: 2, 1: 0, 2: 1, 3: 2, 4: ^uint32(4), 5: 3, unknown: ^uint32(unknown)}},
		"zone":   {locality.ZoneLocal, map[locality.Node]uint32{0: 4, 1: 4, 2: 5, 3: 4, 4: ^uint32(4), 5: 3, last: 1<<32 - locality.MaxNodes}},
		"any":    {locality.Anywhere, map[locality.Node]uint32{0: 0, 4: 0, 5: 0, unknown: 0}},
		"beyond": {locality.Anywhere + 1, map[locality.Node]uint32{0: 0, 4: 0, 5: 0, unknown: 0}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for n, want := range tt.groups {
				require.Equal(t, want, topology.Group(n, tt.level), "of node %d", n)
			}
		})
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { topology.Group(3, locality.RackLocal) }))
}

func TestTopology_ZeroAndNilKnowOnlyTheNodeItself(t *testing.T) {
	for name, topology := range map[string]*locality.Topology{"zero": new(locality.Topology), "nil": nil} {
		t.Run(name, func(t *testing.T) {
			require.EqualValues(t, 1, topology.Any())
			require.EqualValues(t, 0, topology.Level(4))
			require.EqualValues(t, 0, topology.Level(4, 3, 4))
			require.EqualValues(t, 1, topology.Level(4, 3))
			require.NotEqual(t, topology.Group(3, 0), topology.Group(4, 0))
			require.Equal(t, topology.Group(3, 1), topology.Group(4, 1))
			require.Equal(t, "node", topology.LevelName(0))
			require.Equal(t, "any", topology.LevelName(1))
			require.Equal(t, "any", topology.LevelName(2))
		})
	}
}

func TestNew_LevelsOfOnesOwn(t *testing.T) {
	two, err := locality.New(locality.Config{Levels: []string{"worker", "elsewhere"}, Nodes: []string{"", ""}})
	require.NoError(t, err)
	require.EqualValues(t, 1, two.Level(0, 1))
	require.Equal(t, "elsewhere", two.LevelName(two.Any()))

	// A level below the machine: two processes on one, and NUMA between.
	below, err := locality.New(locality.Config{
		Levels:  []string{"process", "numa", "machine", "any"},
		Parents: map[string]string{"m1/0": "m1", "m1/1": "m1"},
		Nodes:   []string{"m1/0", "m1/0", "m1/1"},
	})
	require.NoError(t, err)
	require.Equal(t, "numa", below.LevelName(below.Level(0, 1)))
	require.Equal(t, "machine", below.LevelName(below.Level(0, 2)))

	sixteen := make([]string, locality.MaxLevels)
	parents := map[string]string{}
	for l := range sixteen {
		sixteen[l] = fmt.Sprint("level", l)
		if l >= 1 && l < locality.MaxLevels-2 {
			parents[fmt.Sprint("a", l)] = fmt.Sprint("a", l+1)
			parents[fmt.Sprint("b", l)] = fmt.Sprint("b", l+1)
		}
	}
	parents["b13"] = "a14" // meet at the last level but one
	delete(parents, "b14")
	deep, err := locality.New(locality.Config{Levels: sixteen, Parents: parents, Nodes: []string{"a1", "b1"}})
	require.NoError(t, err)
	require.EqualValues(t, 14, deep.Level(0, 1))
	require.EqualValues(t, 15, deep.Any())
}

func TestNew_KeepsNothingOfTheConfig(t *testing.T) {
	cfg := locality.Config{
		Levels: []string{"node", "rack", "any"},
		Nodes:  []string{"r1", "r1"},
	}
	topology, err := locality.New(cfg)
	require.NoError(t, err)
	cfg.Levels[1], cfg.Nodes[1] = "changed", "r2"
	require.Equal(t, "rack", topology.LevelName(topology.Level(0, 1)))
}

func TestNew_NamesTheCulprit(t *testing.T) {
	tests := map[string]struct {
		cfg  locality.Config
		text string
	}{
		"too few levels": {
			cfg:  locality.Config{Levels: []string{"node"}},
			text: `locality: topology: 1 levels ["node"], want 2 to 16`,
		},
		"no levels, but not nil": {
			cfg:  locality.Config{Levels: []string{}},
			text: `0 levels [], want 2 to 16`,
		},
		"too many levels": {
			cfg:  locality.Config{Levels: make([]string, 17)},
			text: `17 levels`,
		},
		"level without a name": {
			cfg:  locality.Config{Levels: []string{"node", "", "any"}},
			text: `locality: topology: level 1: invalid name: it is empty`,
		},
		"two levels of one name": {
			cfg:  locality.Config{Levels: []string{"node", "rack", "zone", "rack"}},
			text: `levels 1 and 3 are both named "rack", want distinct names`,
		},
		"group without a name": {
			cfg:  locality.Config{Parents: map[string]string{"": "z1"}},
			text: `topology: group: invalid name: it is empty`,
		},
		"its own parent": {
			cfg:  locality.Config{Parents: map[string]string{"r1": "r1"}},
			text: `groups r1 -> r1: cycle`,
		},
		"cycle that a node leads into": {
			cfg:  locality.Config{Parents: map[string]string{"a": "b", "b": "c", "c": "b"}, Nodes: []string{"a"}},
			text: `groups b -> c -> b: cycle`,
		},
		"cycle apart from all nodes": {
			cfg:  locality.Config{Parents: map[string]string{"r1": "z1", "x": "y", "y": "x"}, Nodes: []string{"r1"}},
			text: `groups x -> y -> x: cycle`,
		},
		"more groups than levels, from a node": {
			cfg:  locality.Config{Parents: map[string]string{"r1": "z1", "z1": "c1"}, Nodes: []string{"", "r1"}},
			text: `group "c1" around group "z1" would be at level 3, want groups below the last level, 3 "any"`,
		},
		"more groups than levels, without nodes": {
			cfg:  locality.Config{Levels: []string{"node", "any"}, Parents: map[string]string{"r1": ""}},
			text: `group "r1" around nothing would be at level 1, want groups below the last level, 1 "any"`,
		},
		"a group, though there are but two levels": {
			cfg:  locality.Config{Levels: []string{"node", "any"}, Nodes: []string{"", "r1"}},
			text: `group "r1" around node 1 would be at level 1`,
		},
		"a rack that is a zone too": {
			cfg:  locality.Config{Parents: map[string]string{"r1": "x"}, Nodes: []string{"r1", "x"}},
			text: `group "x" is at level 2 "zone" around group "r1", and at level 1 "rack" around node 1, want one level`,
		},
		"the same, zone last": {
			cfg:  locality.Config{Parents: map[string]string{"r1": "x"}, Nodes: []string{"x", "r1"}},
			text: `group "x" is at level 1 "rack" around node 0, and at level 2 "zone" around group "r1", want one level`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			topology, err := locality.New(tt.cfg)
			require.ErrorContains(t, err, tt.text)
			require.Nil(t, topology)
		})
	}
}

func TestNew_TellsTheSameOfSeveralMistakes(t *testing.T) {
	cycles := locality.Config{Parents: map[string]string{"a": "b", "b": "a", "c": "d", "d": "c", "e": "e"}}
	deep := locality.Config{Levels: []string{"node", "any"}, Parents: map[string]string{"a": "", "b": "", "c": "", "d": ""}}
	for range 20 {
		_, err := locality.New(cycles)
		require.ErrorContains(t, err, "groups a -> b -> a: cycle")
		_, err = locality.New(deep)
		require.ErrorContains(t, err, `group "a" around nothing`)
	}
}

// A random tree, and the answer by its definition: walk both ways up and look
// for the first group that is on both.
func TestTopology_AgreesWithTheTreeItWasBuiltFrom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		levels := rapid.IntRange(2, 6).Draw(t, "levels")
		cfg := locality.Config{Parents: map[string]string{}}
		for l := range levels {
			cfg.Levels = append(cfg.Levels, fmt.Sprint("level", l))
		}
		// up draws a group of level l, or none where the chain ends early.
		up := func(l int) string {
			g := rapid.IntRange(0, 3).Draw(t, "group")
			if l > levels-2 || g == 0 {
				return ""
			}
			return fmt.Sprintf("%d/%d", l, g)
		}
		for l := 1; l < levels-1; l++ {
			for g := 1; g <= 3; g++ {
				name := fmt.Sprintf("%d/%d", l, g)
				if l == 1 || slices.Contains(parentsOf(cfg), name) {
					cfg.Parents[name] = up(l + 1)
				}
			}
		}
		for range rapid.IntRange(0, 12).Draw(t, "nodes") {
			cfg.Nodes = append(cfg.Nodes, up(1))
		}
		topology, err := locality.New(cfg)
		require.NoError(t, err)

		node := rapid.Uint32Range(0, 13)
		n := locality.Node(node.Draw(t, "node"))
		var preferred []locality.Node
		want := levels - 1
		for range rapid.IntRange(0, 4).Draw(t, "preferred") {
			p := locality.Node(node.Draw(t, "preferred"))
			preferred = append(preferred, p)
			if p == n {
				want = 0
			}
			mine, theirs := chain(cfg, n), chain(cfg, p)
			for i, group := range mine {
				if slices.Contains(theirs, group) {
					want = min(want, i+1)
				}
			}
		}
		if len(preferred) == 0 {
			want = 0
		}
		require.EqualValues(t, want, topology.Level(n, preferred...))
	})
}

func parentsOf(cfg locality.Config) []string {
	var parents []string
	for _, parent := range cfg.Parents {
		parents = append(parents, parent)
	}
	return parents
}

// chain returns the groups around n, nearest first.
func chain(cfg locality.Config, n locality.Node) []string {
	if int(n) >= len(cfg.Nodes) {
		return nil
	}
	var groups []string
	for group := cfg.Nodes[n]; group != ""; group = cfg.Parents[group] {
		groups = append(groups, group)
	}
	return groups
}

func TestTopology_LevelDoesNotAllocate(t *testing.T) {
	topology, preferred := grid(t, 50, 20)
	require.Zero(t, testing.AllocsPerRun(100, func() { topology.Level(7, preferred...) }))
	require.Zero(t, testing.AllocsPerRun(100, func() { topology.Level(7, 1, 2, 3) }))
}

// grid returns a topology of racks of equal size, ten racks a zone, and three
// nodes of which none is near the first node.
func grid(t testing.TB, racks, size int) (*locality.Topology, []locality.Node) {
	t.Helper()
	cfg := locality.Config{Parents: map[string]string{}}
	for r := range racks {
		rack := fmt.Sprint("r", r)
		cfg.Parents[rack] = fmt.Sprint("z", r/10)
		for range size {
			cfg.Nodes = append(cfg.Nodes, rack)
		}
	}
	topology, err := locality.New(cfg)
	require.NoError(t, err)
	last := locality.Node(racks*size - 1)
	return topology, []locality.Node{last, last - 1, last - locality.Node(size)}
}

func BenchmarkLevel(b *testing.B) {
	for _, racks := range []int{250, 2500} {
		topology, far := grid(b, racks, 20)
		for name, preferred := range map[string][]locality.Node{"none": nil, "one": {far[0]}, "rack": {1, far[0], far[1]}, "far": far} {
			b.Run(fmt.Sprintf("nodes=%d/replicas=%s", racks*20, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					topology.Level(7, preferred...)
				}
			})
		}
	}
}

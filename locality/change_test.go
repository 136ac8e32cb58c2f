package locality_test

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
)

// After any history a topology answers as one that was made the way it is now.
func TestTopology_ChangedIsAsMadeAnew(t *testing.T) {
	nodes := []locality.Node{0, 1, 2, 255, 256, 300}
	rapid.Check(t, func(t *rapid.T) {
		cfg := locality.Config{
			Parents: map[string]string{"r1": "z1", "r2": "z1", "r3": "z2", "r4": ""},
			Nodes:   []string{"r1", "r2", "r4"},
		}
		topology, err := locality.New(cfg)
		require.NoError(t, err)
		model := map[locality.Node]string{0: "r1", 1: "r2", 2: "r4"}
		paths := [][]string{{}, {"r1"}, {"r1", "z1"}, {"r2"}, {"r3", "z2"}, {"r4"}, {"new1", "z1"}, {"new2", "new3"}, {"new4"}}
		up := map[string]string{"r1": "z1", "r2": "z1", "r3": "z2", "new1": "z1", "new2": "new3"}
		node := rapid.SampledFrom(nodes)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				n, path := node.Draw(t, "node"), rapid.SampledFrom(paths).Draw(t, "path")
				require.NoError(t, topology.Add(n, path...))
				model[n] = slices.Concat(path, []string{""})[0]
			},
			"remove": func(t *rapid.T) {
				n := node.Draw(t, "node")
				_, known := model[n]
				if err := topology.Remove(n); known {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, locality.ErrNode)
				}
				delete(model, n)
			},
			"": func(t *rapid.T) {
				now := locality.Config{Parents: up, Nodes: make([]string, 301)}
				for n, group := range model {
					now.Nodes[n] = group
				}
				anew, err := locality.New(now)
				require.NoError(t, err)
				for _, n := range nodes {
					for _, m := range nodes {
						far := anew.Level(n, m)
						require.Equal(t, far, topology.Level(n, m), "from %d to %d", n, m)
						for l := range locality.Anywhere + 2 {
							if (far <= l) != (topology.Group(n, l) == topology.Group(m, l)) {
								require.Failf(t, "groups", "%d and %d, which are at level %d, at level %d", n, m, far, l)
							}
						}
					}
				}
			},
		})
	})
}

func TestTopology_GroupsGoWithTheirLastNode(t *testing.T) {
	topology, err := locality.New(locality.Config{Parents: map[string]string{"r1": "z1"}})
	require.NoError(t, err)
	require.NoError(t, topology.Add(0, "r2", "z2"))
	require.NoError(t, topology.Add(1, "r2"), "in z2, as is known")
	require.ErrorContains(t, topology.Add(2, "r2", "z1"), `group "r2" is in "z2", not in "z1"`)
	require.NoError(t, topology.Remove(0))
	require.ErrorContains(t, topology.Add(2, "r2", "z1"), `in "z2"`, "node 1 is still there")
	require.NoError(t, topology.Add(1), "leaves")
	require.NoError(t, topology.Add(2, "r2", "z1"))
	require.NoError(t, topology.Add(3, "z2"), "a rack now")

	// A group of the Config stays, however many nodes come and go.
	require.NoError(t, topology.Add(4, "r1"))
	require.NoError(t, topology.Remove(4))
	require.NoError(t, topology.Remove(2))
	require.ErrorContains(t, topology.Add(5, "r1", "z9"), `group "r1" is in "z1", not in "z9"`)
	require.NoError(t, topology.Add(5, "r1"))
	require.NoError(t, topology.Add(6, "r7", "z1"))
	require.Equal(t, locality.ZoneLocal, topology.Level(5, 6))
}

func TestTopology_ABadAddIsNamedAndChangesNothing(t *testing.T) {
	tests := map[string]struct {
		node   locality.Node
		groups []string
		text   string
	}{
		"node beyond the last":   {math.MaxUint32, nil, "locality: topology: add node 4294967295: want less than 1048576: no such node"},
		"too many groups":        {1, []string{"r9", "z9", "c9"}, `add node 1: 3 groups ["r9" "z9" "c9"], want at most 2, below the last level "any"`},
		"no name":                {1, []string{"r9", ""}, `add node 1: zone: invalid name: it is empty`},
		"around itself":          {1, []string{"r9", "r9"}, `"r9" is around itself: cycle`},
		"a zone as a rack":       {1, []string{"z1"}, `group "z1" is at level 2 "zone", not 1 "rack"`},
		"a rack as a zone":       {1, []string{"r9", "r1"}, `group "r1" is at level 1 "rack", not 2 "zone"`},
		"rack in another zone":   {1, []string{"r1", "z2"}, `group "r1" is in "z1", not in "z2"`},
		"rack that has no zone":  {1, []string{"r3", "z1"}, `group "r3" is in "", not in "z1"`},
		"around what is unknown": {1, []string{"new", "r1"}, `group "r1" is at level 1`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			topology, err := locality.New(locality.Config{
				Parents: map[string]string{"r1": "z1", "r2": "z2"}, Nodes: []string{"r1", "r1", "r3"},
			})
			require.NoError(t, err)
			require.ErrorContains(t, topology.Add(tt.node, tt.groups...), tt.text)
			require.Equal(t, locality.RackLocal, topology.Level(0, 1))
			require.NoError(t, topology.Add(1, "r9", "z9"), "neither name is taken")
		})
	}
	var absent *locality.Topology
	require.ErrorContains(t, absent.Add(0), "locality: topology: add node 0 to a nil topology: argument is nil")
	require.ErrorIs(t, absent.Remove(0), locality.ErrNode)

	var zero locality.Topology
	require.NoError(t, zero.Add(0))
	require.ErrorContains(t, zero.Add(0, "r1"), `1 groups ["r1"], want at most 0, below the last level "any"`)
	require.NoError(t, zero.Remove(0))
	require.ErrorIs(t, zero.Remove(0), locality.ErrNode)
}

// Two racks change places, each time in one step per node: a reader finds the
// node in one of them, whatever it asks for in between.
func TestTopology_ReadersSeeANodeWhereItWasOrIs(t *testing.T) {
	topology, err := locality.New(locality.Config{
		Parents: map[string]string{"r1": "z1", "r2": "z1"}, Nodes: []string{"r1", "r2", "r1"},
	})
	require.NoError(t, err)
	var writer, readers sync.WaitGroup
	stop := make(chan struct{})
	writer.Go(func() {
		for i := range 2000 {
			if err := topology.Add(2, []string{"r2", "r1"}[i%2]); err != nil {
				t.Errorf("add: %v", err)
			}
			if err := topology.Add(locality.Node(1000+i), "r1"); err != nil {
				t.Errorf("add: %v", err)
			}
		}
	})
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if l := topology.Level(2, 0, 1); l != locality.RackLocal {
					t.Errorf("node 2 is at level %d from one in each rack, want 1", l)
					return
				}
				if g := topology.Group(2, locality.RackLocal); g > 1 {
					t.Errorf("node 2 is in group %d, want 0 or 1", g)
					return
				}
			}
		})
	}
	writer.Wait()
	close(stop)
	readers.Wait()
	require.Equal(t, locality.RackLocal, topology.Level(2, 0))
	require.Equal(t, locality.RackLocal, topology.Level(2999, 0))
}

// A caller that keeps numbers of groups, and does not know yet that a group has
// gone, does not confuse the next one with it.
func TestTopology_ANumberIsNotSoonThatOfAnotherGroup(t *testing.T) {
	topology, err := locality.New(locality.Config{Nodes: []string{"r1"}})
	require.NoError(t, err)
	seen := map[uint32]bool{topology.Group(0, locality.RackLocal): true}
	for i := range 100 {
		require.NoError(t, topology.Add(1, fmt.Sprint("new", i)))
		number := topology.Group(1, locality.RackLocal)
		require.False(t, seen[number], "%d of the group before last", number)
		seen[number] = true
		require.NoError(t, topology.Add(2, fmt.Sprint("new", i)))
		require.Equal(t, number, topology.Group(2, locality.RackLocal))
		require.NoError(t, topology.Add(1), "leaves")
		require.Equal(t, number, topology.Group(2, locality.RackLocal))
		require.NoError(t, topology.Remove(2))
		require.NotContains(t, seen, topology.Group(2, locality.RackLocal), "it is by itself")
	}
}

// A node is moved to another rack: what is counted there moves with it.
func TestSpread_FollowsTheTopology(t *testing.T) {
	topology, err := locality.New(locality.Config{Parents: map[string]string{"r1": "z1", "r2": "z2"}, Nodes: []string{"r1", "r2", "r2"}})
	require.NoError(t, err)
	spread, err := locality.NewSpread(topology, 0, 1)
	require.NoError(t, err)
	spread.Add(0)
	require.True(t, spread.Allows(1))
	require.NoError(t, topology.Add(0, "r2"))
	require.False(t, spread.Allows(1))
	require.NoError(t, topology.Remove(0))
	require.True(t, spread.Allows(1))
	require.Equal(t, 1, spread.Count(0, locality.NodeLocal), "still runs")
	require.NoError(t, spread.Remove(0))
}

func BenchmarkTopologyAdd(b *testing.B) {
	topology, _ := grid(b, 2500, 20)
	b.Run("nodes=50000", func(b *testing.B) {
		b.ReportAllocs()
		n := locality.Node(0)
		for b.Loop() {
			n = (n + 7919) % 50_000
			_ = topology.Add(n, "r17")
		}
	})
}

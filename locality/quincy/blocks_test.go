package quincy_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// asking is a planner with a task, which keeps the arcs that it gave last.
type asking struct {
	*quincy.Planner[string, int]

	arcs map[quincy.Target]int64
}

func newAsking(t require.TestingT, costs quincy.DataCosts, input func() []quincy.Block) *asking {
	a := &asking{}
	var err error
	a.Planner, err = quincy.New[string](quincy.Config[int]{Arcs: func(arcs []quincy.Arc, _ int, s quincy.State, now int64) []quincy.Arc {
		arcs = costs.Arcs(arcs, input(), s, now)
		a.arcs = map[quincy.Target]int64{}
		for _, arc := range arcs {
			a.arcs[arc.To] = arc.Cost
		}
		return arcs
	}})
	require.NoError(t, err)
	require.NoError(t, a.AddJob("j", 0, 1))
	return a
}

// join adds machine n to the rack that the topology has it in.
func (a *asking) join(t require.TestingT, topology *locality.Topology, n locality.Node) {
	rack := quincy.Rack(topology.Group(n, locality.RackLocal))
	require.NoError(t, a.AddMachine(quincy.Machine{Node: n, Rack: rack, Slots: 1}))
}

// A machine's arc costs the bytes without a copy in its rack, and those with one
// there but not on it, as package locality counts them. The cluster's costs at
// least the worst.
func TestBlocks_CostAsReplicasAndTopologyHaveThem(t *testing.T) {
	const nodes, core, rack = 6, 7, 3
	rapid.Check(t, func(t *rapid.T) {
		topology, err := locality.New(locality.Config{})
		require.NoError(t, err)
		var replicas locality.Replicas[string]
		var inputs []locality.Input[string]
		costs := quincy.DataCosts{Core: core, Rack: rack, Preferred: nodes}
		a := newAsking(t, costs, func() []quincy.Block { return quincy.Blocks(nil, &replicas, inputs...) })
		for n := range locality.Node(nodes) {
			if path := rapid.SampledFrom([][]string{nil, {}, {"r1", "z1"}, {"r2", "z1"}, {"r3"}}).Draw(t, "groups"); path != nil {
				require.NoError(t, topology.Add(n, path...))
			}
			a.join(t, topology, n)
		}
		total := int64(0)
		for i := range rapid.IntRange(0, 4).Draw(t, "inputs") {
			in := locality.Input[string]{Block: fmt.Sprint(i), Bytes: rapid.Int64Range(-1, 4).Draw(t, "GB") * gigabyte}
			for range rapid.IntRange(0, 3).Draw(t, "copies") {
				replicas.Add(in.Block, locality.Node(rapid.IntRange(0, nodes-1).Draw(t, "at")))
			}
			inputs = append(inputs, in)
			total += max(0, in.Bytes)
		}
		require.NoError(t, a.AddTask(0, "j", 0))
		worst := int64(0)
		for n := range locality.Node(nodes) {
			here, near := replicas.Near(topology, n, locality.NodeLocal, inputs...), replicas.Near(topology, n, locality.RackLocal, inputs...)
			want := (core*(total-near) + rack*(near-here)) / gigabyte
			worst = max(worst, want)
			got, ok := a.arcs[quincy.OnMachine(n)]
			require.Equal(t, here > 0 && 10*here >= total, ok, "machine %d has %d of %d", n, here, total)
			if ok {
				require.Equal(t, want, got, "machine %d", n)
			}
		}
		require.GreaterOrEqual(t, a.arcs[quincy.Cluster()], worst)
	})
}

func TestBlocks_WithoutCopiesMoveOverTheCore(t *testing.T) {
	topology, err := locality.New(locality.Config{Nodes: []string{"r1", "r1"}})
	require.NoError(t, err)
	var replicas locality.Replicas[string]
	in := []locality.Input[string]{{Block: "lost", Bytes: 5 * gigabyte}, {Block: "here", Bytes: gigabyte}}
	a := newAsking(t, quincy.DataCosts{Core: 10, Rack: 1}, func() []quincy.Block { return quincy.Blocks(nil, &replicas, in...) })
	a.join(t, topology, 0)
	a.join(t, topology, 1)
	require.NoError(t, a.AddTask(0, "j", 0))
	require.Equal(t, map[quincy.Target]int64{quincy.Unscheduled(): 0, quincy.Cluster(): 60}, a.arcs)

	replicas.Add("here", 1)
	replicas.Add("here", 99) // which is no machine
	require.Equal(t, int64(60), a.arcs[quincy.Cluster()], "it was not asked again")
	require.NoError(t, a.UpdateTask(0, 0))
	rack := quincy.InRack(quincy.Rack(topology.Group(0, locality.RackLocal)))
	require.Equal(t, map[quincy.Target]int64{
		quincy.Unscheduled(): 0, quincy.OnMachine(1): 50, rack: 51, quincy.Cluster(): 51,
	}, a.arcs)
}

// A machine is in the rack that it came with until it comes again.
func TestBlocks_OfAMachineThatMoves(t *testing.T) {
	topology, err := locality.New(locality.Config{Nodes: []string{"r1", "r1", "r2"}})
	require.NoError(t, err)
	var replicas locality.Replicas[string]
	replicas.Add("block", 0)
	in := locality.Input[string]{Block: "block", Bytes: gigabyte}
	a := newAsking(t, quincy.DataCosts{Core: 10, Rack: 1}, func() []quincy.Block { return quincy.Blocks(nil, &replicas, in) })
	for n := range locality.Node(3) {
		a.join(t, topology, n)
	}
	r1 := quincy.InRack(quincy.Rack(topology.Group(1, locality.RackLocal)))
	r2 := quincy.InRack(quincy.Rack(topology.Group(2, locality.RackLocal)))
	require.NoError(t, a.AddTask(0, "j", 0))
	require.Contains(t, a.arcs, r1)
	require.NotContains(t, a.arcs, r2)

	require.NoError(t, topology.Add(0, "r2"))
	require.NoError(t, a.UpdateTask(0, 0))
	require.Contains(t, a.arcs, r1)
	require.NoError(t, a.RemoveMachine(0, 0))
	a.join(t, topology, 0)
	require.NoError(t, a.UpdateTask(0, 0))
	require.NotContains(t, a.arcs, r1)
	require.Equal(t, int64(1), a.arcs[r2])
}

func TestBlocks_AreAppendedInPlace(t *testing.T) {
	var replicas locality.Replicas[string]
	replicas.Add("a", 4)
	in := []locality.Input[string]{{Block: "a", Bytes: 1}, {Block: "b", Bytes: -2}}
	room := make([]quincy.Block, 1, 3)
	room[0].Bytes = 9
	require.Equal(t, []quincy.Block{{Bytes: 9}, {Bytes: 1, Nodes: []locality.Node{4}}, {Bytes: -2}}, quincy.Blocks(room, &replicas, in...))
	require.Zero(t, testing.AllocsPerRun(100, func() { quincy.Blocks(room, &replicas, in...) }))
	require.Empty(t, quincy.Blocks(nil, &replicas))
}

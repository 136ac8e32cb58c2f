package quincy_test

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// Section 4 of the paper: bytes in the rack cost ψ, others ξ. A rack or the cluster
// costs as much as its worst machine.
func TestDataCosts_ArePerByteAndSwitch(t *testing.T) {
	var got []quincy.Arc
	costs := quincy.DataCosts{Core: 20, Rack: 10, Wait: 2, Work: 3, Unscheduled: 500}
	in := []quincy.Block{
		{Bytes: 4 * gigabyte, Nodes: []locality.Node{0, 1}},
		{Bytes: gigabyte, Nodes: []locality.Node{0, 4, 77}}, // 77 is no machine
	}
	p, err := quincy.New[string](quincy.Config[int]{Arcs: func(arcs []quincy.Arc, _ int, s quincy.State, now int64) []quincy.Arc {
		got = costs.Arcs(nil, in, s, now)
		return append(arcs, got...)
	}})
	require.NoError(t, err)
	for n := range 6 { // racks of three
		require.NoError(t, p.AddMachine(quincy.Machine{Node: locality.Node(n), Rack: quincy.Rack(n / 3), Slots: 1}))
	}
	require.NoError(t, p.AddJob("j", 0, 1))
	require.NoError(t, p.AddTask(0, "j", 0))
	require.Equal(t, []quincy.Arc{
		{To: quincy.Unscheduled(), Cost: 500, Rate: 2},
		{To: quincy.OnMachine(0), Cost: 0},
		{To: quincy.OnMachine(1), Cost: 10}, // 1 GB from machine 0
		{To: quincy.OnMachine(4), Cost: 80}, // 4 GB over the core
		{To: quincy.InRack(0), Cost: 50},    // machine 2: all 5 GB within the rack
		{To: quincy.InRack(1), Cost: 90},    // 4 GB over the core, 1 GB within
		{To: quincy.Cluster(), Cost: 90},
	}, got)

	_, err = p.Plan(t.Context(), 30)
	require.NoError(t, err)
	require.Equal(t, quincy.Arc{To: quincy.OnMachine(0), Cost: 0, Rate: -3}, got[0])
	require.Equal(t, quincy.Arc{To: quincy.Unscheduled(), Cost: 560}, got[1], "it has waited for 30, and waits no longer")
	require.NoError(t, p.UpdateTask(0, 40))
	require.Equal(t, quincy.Arc{To: quincy.OnMachine(0), Cost: -30, Rate: -3}, got[0])
}

// What is preferred by less than one machine is preferred by as many as by default.
func TestDataCosts_PreferSomeMachinesForAnySetting(t *testing.T) {
	in := []quincy.Block{{Bytes: gigabyte, Nodes: []locality.Node{0, 1, 2, 3}}}
	arcs := func(preferred int) (got []quincy.Arc) {
		p, err := quincy.New[string](quincy.Config[int]{Arcs: func(arcs []quincy.Arc, _ int, s quincy.State, now int64) []quincy.Arc {
			got = quincy.DataCosts{Rack: 10, Preferred: preferred}.Arcs(arcs, in, s, now)
			return got
		}})
		require.NoError(t, err)
		for n := range 5 {
			require.NoError(t, p.AddMachine(quincy.Machine{Node: locality.Node(n), Slots: 1}))
		}
		require.NoError(t, p.AddJob("j", 0, 1))
		require.NoError(t, p.AddTask(0, "j", 0))
		return slices.Clone(got)
	}
	require.Len(t, arcs(0), 1+3+1+1)
	require.Len(t, arcs(1), 1+1+1+1)
	require.Len(t, arcs(4), 1+4+1+1)
	require.Equal(t, arcs(0), arcs(-5))
	require.Equal(t, arcs(0), arcs(math.MinInt))
}

// reading is the paper's definition for one input, byte by byte.
type reading struct {
	costs  quincy.DataCosts
	in     []quincy.Block
	rackOf map[locality.Node]quincy.Rack
}

// on returns the cost to move all bytes that are not on n there.
func (r reading) on(n locality.Node) int64 {
	sum := new(big.Int)
	for _, b := range r.in {
		each := r.costs.Core
		for _, m := range b.Nodes {
			if rack, ok := r.rackOf[m]; ok && rack == r.rackOf[n] {
				each = min(each, r.costs.Rack)
			}
		}
		if !slices.Contains(b.Nodes, n) {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(each), big.NewInt(max(0, b.Bytes))))
		}
	}
	sum.Add(sum, big.NewInt(1<<29))
	sum.Rsh(sum, 30)
	if sum.Cmp(big.NewInt(quincy.MaxCost)) > 0 {
		return quincy.MaxCost
	}
	return sum.Int64()
}

// worst returns the largest cost of the machines for which ok returns true.
func (r reading) worst(ok func(locality.Node) bool) (most int64) {
	for n := range r.rackOf {
		if ok(n) {
			most = max(most, r.on(n))
		}
	}
	return most
}

// holds reports whether the machines for which ok returns true hold a tenth of the
// input.
func (r reading) holds(ok func(locality.Node) bool) bool {
	all, here := new(big.Int), new(big.Int)
	for _, b := range r.in {
		all.Add(all, big.NewInt(max(0, b.Bytes)))
		if slices.ContainsFunc(b.Nodes, ok) {
			here.Add(here, big.NewInt(max(0, b.Bytes)))
		}
	}
	return here.Sign() > 0 && here.Mul(here, big.NewInt(10)).Cmp(all) >= 0
}

// nearest returns the three cheapest arcs, the lower number first among equals.
func nearest(at map[uint32]quincy.Arc) (arcs []quincy.Arc) {
	numbers := []uint32{}
	for n := range at {
		numbers = append(numbers, n)
	}
	slices.SortFunc(numbers, func(a, b uint32) int { return cmp.Or(cmp.Compare(at[a].Cost, at[b].Cost), cmp.Compare(a, b)) })
	for _, n := range numbers[:min(3, len(numbers))] {
		arcs = append(arcs, at[n])
	}
	return arcs
}

func TestDataCosts_EqualThePaper(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := reading{rackOf: map[locality.Node]quincy.Rack{}}
		r.costs.Rack = rapid.Int64Range(0, 50).Draw(t, "ψ")
		r.costs.Core = r.costs.Rack + rapid.Int64Range(0, 1<<rapid.IntRange(0, 40).Draw(t, "bits")).Draw(t, "more")
		r.costs.Wait, r.costs.Work = rapid.Int32Range(0, 99).Draw(t, "ω"), rapid.Int32Range(0, 99).Draw(t, "work")
		r.costs.Unscheduled = rapid.Int64Range(-9, quincy.MaxCost).Draw(t, "unscheduled")
		var state quincy.State
		p, err := quincy.New[string](quincy.Config[int]{Arcs: func(arcs []quincy.Arc, _ int, s quincy.State, _ int64) []quincy.Arc {
			state = s
			return append(arcs, quincy.Arc{To: quincy.Cluster()})
		}})
		require.NoError(t, err)
		for n := range rapid.IntRange(1, 9).Draw(t, "machines") {
			rack := quincy.Rack(rapid.IntRange(0, 3).Draw(t, "rack"))
			require.NoError(t, p.AddMachine(quincy.Machine{Node: locality.Node(n), Rack: rack, Slots: 1}))
			r.rackOf[locality.Node(n)] = rack
		}
		require.NoError(t, p.AddJob("j", 0, 1))
		require.NoError(t, p.AddTask(0, "j", 0))
		for range rapid.IntRange(0, 6).Draw(t, "blocks") {
			unit := rapid.SampledFrom([]int64{1, gigabyte / 100, gigabyte, 1 << 50}).Draw(t, "unit")
			b := quincy.Block{Bytes: rapid.Int64Range(-3, 20).Draw(t, "units") * unit}
			for range rapid.IntRange(0, 5).Draw(t, "copies") {
				b.Nodes = append(b.Nodes, locality.Node(rapid.IntRange(0, 10).Draw(t, "copy")))
			}
			r.in = append(r.in, b)
		}

		var want []quincy.Arc
		state.Waited, state.Since = 70, 100
		if rapid.Bool().Draw(t, "running") {
			state.Running, state.On = true, 0
			want = append(
				want,
				quincy.Arc{To: quincy.OnMachine(0), Cost: r.on(0) - 30*int64(r.costs.Work), Rate: -r.costs.Work},
				quincy.Arc{To: quincy.Unscheduled(), Cost: min(quincy.MaxCost, r.costs.Unscheduled+70*int64(r.costs.Wait))},
			)
		} else {
			want = append(want, quincy.Arc{To: quincy.Unscheduled(), Cost: min(quincy.MaxCost, r.costs.Unscheduled+100*int64(r.costs.Wait)), Rate: r.costs.Wait})
		}
		machines, racks := map[uint32]quincy.Arc{}, map[uint32]quincy.Arc{}
		for n, rack := range r.rackOf {
			if r.holds(func(m locality.Node) bool { return m == n }) && (!state.Running || n != state.On) {
				machines[uint32(n)] = quincy.Arc{To: quincy.OnMachine(n), Cost: r.on(n)}
			}
			mate := func(m locality.Node) bool {
				of, ok := r.rackOf[m]
				return ok && of == rack
			}
			if r.holds(mate) {
				racks[uint32(rack)] = quincy.Arc{To: quincy.InRack(rack), Cost: r.worst(mate)}
			}
		}
		want = append(append(want, nearest(machines)...), nearest(racks)...)
		want = append(want, quincy.Arc{To: quincy.Cluster(), Cost: r.worst(func(locality.Node) bool { return true })})
		require.Equal(t, want, r.costs.Arcs(nil, r.in, state, 130))
	})
}

// Sums of bytes stay where they can still be compared.
func TestDataCosts_OfAnyNumberOfBytes(t *testing.T) {
	var got []quincy.Arc
	const huge = 1<<63 - 1
	costs := quincy.DataCosts{Core: huge, Rack: 1, Wait: 1, Unscheduled: huge}
	in := []quincy.Block{{Bytes: huge, Nodes: []locality.Node{0}}, {Bytes: huge, Nodes: []locality.Node{0}}, {Bytes: huge}}
	p, err := quincy.New[string](quincy.Config[int]{Arcs: func(arcs []quincy.Arc, _ int, s quincy.State, now int64) []quincy.Arc {
		got = costs.Arcs(nil, in, s, now)
		return append(arcs, got...)
	}})
	require.NoError(t, err)
	require.NoError(t, p.AddMachine(quincy.Machine{Node: 0, Slots: 1}))
	require.NoError(t, p.AddMachine(quincy.Machine{Node: 1, Slots: 1}))
	require.NoError(t, p.AddJob("j", 0, 1))
	require.NoError(t, p.AddTask(0, "j", 0))
	require.Equal(t, []quincy.Arc{
		{To: quincy.Unscheduled(), Cost: quincy.MaxCost, Rate: 1},
		{To: quincy.OnMachine(0)},
		{To: quincy.InRack(0), Cost: 1 << 31},
		{To: quincy.Cluster(), Cost: 1 << 31},
	}, got)
	in = []quincy.Block{{Bytes: 1 << 50}}
	require.NoError(t, p.UpdateTask(0, 0))
	require.Equal(t, quincy.Arc{To: quincy.Cluster(), Cost: quincy.MaxCost}, got[1])
}

func TestDataCosts_DoNotAllocate(t *testing.T) {
	var state quincy.State
	p, err := quincy.New[string](quincy.Config[int]{Arcs: func(arcs []quincy.Arc, _ int, s quincy.State, _ int64) []quincy.Arc {
		state = s
		return append(arcs, quincy.Arc{To: quincy.Cluster()})
	}})
	require.NoError(t, err)
	var in []quincy.Block
	for i := range 20 {
		require.NoError(t, p.AddMachine(quincy.Machine{Node: locality.Node(i), Rack: quincy.Rack(i / 5), Slots: 1}))
		in = append(in, quincy.Block{Bytes: gigabyte, Nodes: []locality.Node{locality.Node(i), locality.Node(i * 7 % 20), locality.Node(i * 3 % 20)}})
	}
	require.NoError(t, p.AddJob("j", 0, 1))
	require.NoError(t, p.AddTask(0, "j", 0))
	costs := quincy.DataCosts{Core: 20, Rack: 10}
	arcs := costs.Arcs(nil, in, state, 0)
	require.Zero(t, testing.AllocsPerRun(10, func() { arcs = costs.Arcs(arcs[:0], in, state, 0) }))
}

package quincy

import (
	"cmp"
	"math"
	"slices"

	"github.com/cellsched/cellsched/locality"
)

// Block is a part of a task's input: so many bytes, of which each of the nodes
// holds a copy, as [locality.Replicas] gives them.
type Block struct {
	Bytes int64
	Nodes []locality.Node
}

// DataCosts are the costs of the Quincy paper, section 4: of data that has to
// move, of time spent waiting, and of work that is lost.
//
// All are in units of the caller's choice, for instance thousandths of what it
// costs to move a gigabyte over a rack's switch.
type DataCosts struct {
	// Core and Rack are what a gigabyte (2^30 bytes) costs over the core switch
	// and over a rack's (ξ and ψ).
	Core, Rack int64
	// Wait is what a unit of time costs that a task waits (ω), and Work what
	// one costs that it has run and would run again.
	Wait, Work int32
	// Unscheduled is added to the cost of waiting. More than any placement
	// costs, and nobody waits while a slot is free; less, and tasks wait for
	// their data.
	Unscheduled int64
	// Preferred is how many machines and how many racks a task has arcs to, at
	// most; those that are cheapest. 0 is 3.
	Preferred int
}

// Arcs appends the arcs of a task whose input is in, to be returned from
// [Config.Arcs]: to machines that hold a tenth of the input or more, to racks
// that do, to the cluster, to where it runs, and to wait. Bytes that are in the
// machine's rack move over the rack's switch, others over the core; to a rack,
// and to the cluster, it costs what the worst machine there does. Costs beyond
// [MaxCost] stay at that. Cost: O(copies × machines of a rack) at worst.
func (d DataCosts) Arcs(arcs []Arc, in []Block, s State, now int64) []Arc {
	t := tally(in, s.Racks)
	waited := s.Waited
	if s.Running {
		cost := clampCost(d.move(&t, s.On, s.Racks) - float64(d.Work)*float64(now-s.Since))
		arcs = append(arcs, Arc{OnMachine(s.On), cost, -d.Work}, Arc{Unscheduled(), clampCost(float64(d.Unscheduled) + float64(d.Wait)*float64(waited)), 0})
	} else {
		waited += now - s.Since
		arcs = append(arcs, Arc{Unscheduled(), clampCost(float64(d.Unscheduled) + float64(d.Wait)*float64(waited)), d.Wait})
	}
	most := d.Preferred
	if most == 0 {
		most = 3
	}
	first := len(arcs)
	for _, n := range t.machines {
		if (!s.Running || n != s.On) && t.onMachine[n]*10 >= t.total && t.total > 0 {
			arcs = append(arcs, Arc{OnMachine(n), clampCost(d.move(&t, n, s.Racks)), 0})
		}
	}
	arcs = cheapest(arcs, first, most)
	first = len(arcs)
	for _, r := range t.racks {
		if t.onRack[r]*10 >= t.total && t.total > 0 {
			arcs = append(arcs, Arc{InRack(r), clampCost(d.worst(&t, r, s.Racks)), 0})
		}
	}
	arcs = cheapest(arcs, first, most)
	all := float64(0)
	if len(t.racks) < s.Racks.Len() {
		all = d.cost(t.total, 0)
	} else {
		for _, r := range t.racks {
			all = max(all, d.worst(&t, r, s.Racks))
		}
	}
	return append(arcs, Arc{Cluster(), clampCost(all), 0})
}

// held is how many bytes of an input are where, copies in one rack counted
// once.
type held struct {
	total     int64
	onMachine map[locality.Node]int64
	onRack    map[Rack]int64
	machines  []locality.Node // keys of the maps, as they came
	racks     []Rack
}

func tally(in []Block, racks *Racks) held {
	t := held{onMachine: map[locality.Node]int64{}, onRack: map[Rack]int64{}}
	for _, b := range in {
		t.total += b.Bytes
		var seen []Rack
		for i, n := range b.Nodes {
			rack, ok := racks.Of(n)
			if !ok || slices.Contains(b.Nodes[:i], n) {
				continue
			}
			if _, ok := t.onMachine[n]; !ok {
				t.machines = append(t.machines, n)
			}
			t.onMachine[n] += b.Bytes
			if slices.Contains(seen, rack) {
				continue
			}
			seen = append(seen, rack)
			if _, ok := t.onRack[rack]; !ok {
				t.racks = append(t.racks, rack)
			}
			t.onRack[rack] += b.Bytes
		}
	}
	return t
}

func (d DataCosts) move(t *held, n locality.Node, racks *Racks) float64 {
	rack, _ := racks.Of(n)
	return d.cost(t.total-t.onRack[rack], t.onRack[rack]-t.onMachine[n])
}

func (d DataCosts) worst(t *held, r Rack, racks *Racks) float64 {
	least := int64(math.MaxInt64)
	for _, n := range racks.Nodes(r) {
		if least = min(least, t.onMachine[n]); least == 0 {
			break
		}
	}
	return d.cost(t.total-t.onRack[r], t.onRack[r]-least)
}

// cost rounds later, in clampCost; a cost is a matter of judgement, and half a
// unit of it decides nothing.
func (d DataCosts) cost(core, rack int64) float64 {
	return (float64(d.Core)*float64(core) + float64(d.Rack)*float64(rack)) / (1 << 30)
}

func clampCost(c float64) int64 {
	return int64(math.Round(min(max(c, -MaxCost), MaxCost)))
}

// cheapest keeps the cheapest most of arcs from first on.
func cheapest(arcs []Arc, first, most int) []Arc {
	slices.SortFunc(arcs[first:], func(a, b Arc) int {
		return cmp.Or(cmp.Compare(a.Cost, b.Cost), cmp.Compare(a.To.at, b.To.at))
	})
	return arcs[:min(len(arcs), first+most)]
}

package network

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cellsched/cellsched/internal/mcf"
	"github.com/cellsched/cellsched/internal/slots"
)

// ErrShape reports a network that the special solver does not take.
var ErrShape = errors.New("network: not of the Quincy shape")

// shape is a graph of the Quincy shape, in the form of the solver for slots.
type shape struct {
	net   *slots.Net
	tasks []int32 // node of each task
}

// maxUnits is the largest room of a leaf.
const maxUnits = 1 << 30

// recognise returns g as tasks and slots, or the reason why it is not of that
// shape. Nodes in the text count from 1.
func recognise(g *mcf.Graph) (*shape, string) {
	r := &recogniser{g: g, out: make([][]int32, len(g.Supply)), in: make([]int32, len(g.Supply)), parent: make([]int32, len(g.Supply)), loc: make([]slots.Loc, len(g.Supply))}
	for _, step := range []func() string{r.arcs, r.findSink, r.groups, r.locations, r.rooms} {
		if why := step(); why != "" {
			return nil, why
		}
	}
	return r.tasks()
}

type recogniser struct {
	g      *mcf.Graph
	out    [][]int32 // arcs, by node
	in     []int32   // number of arcs, by node
	parent []int32   // node, by node; itself if none
	sink   int32
	net    *slots.Net
	loc    []slots.Loc
	order  []int32 // locations, parents first
}

func (r *recogniser) arcs() string {
	for i, a := range r.g.Arcs {
		if a.Low != 0 {
			return fmt.Sprintf("arc %d has a lower bound", i+1)
		}
		if a.From == a.To {
			if a.Cost < 0 {
				return fmt.Sprintf("arc %d pays for what flows from node %d to itself", i+1, a.From+1)
			}
			continue // nothing flows there
		}
		r.out[a.From] = append(r.out[a.From], int32(i))
		r.in[a.To]++
	}
	return ""
}

func (r *recogniser) findSink() string {
	r.sink = -1
	for v := range r.out {
		if len(r.out[v]) > 0 {
			continue
		}
		if r.sink >= 0 {
			return fmt.Sprintf("nodes %d and %d have no arcs out of them", r.sink+1, v+1)
		}
		r.sink = int32(v)
	}
	if r.sink < 0 {
		return "all nodes have arcs out of them"
	}
	return ""
}

// isTask reports whether nothing flows into v, and v is not just an unused leaf. If
// v has no supply, it is a task that is not there.
func (r *recogniser) isTask(v int32) bool {
	s := r.g.Supply[v]
	return r.in[v] == 0 && v != r.sink && (s > 0 || s == 0 && !r.isLeaf(v))
}

func (r *recogniser) isLeaf(v int32) bool {
	return len(r.out[v]) == 1 && r.g.Arcs[r.out[v][0]].To == r.sink
}

// groups finds the parent of each location.
func (r *recogniser) groups() string {
	for v := range r.parent {
		r.parent[v] = int32(v)
	}
	for i, a := range r.g.Arcs {
		switch {
		case a.From == a.To:
		case r.isTask(a.From):
			if a.To == r.sink {
				return fmt.Sprintf("arc %d leads from a task to the sink", i+1)
			}
		case a.Cost != 0:
			return fmt.Sprintf("arc %d has a cost and leaves no task", i+1)
		case a.To == r.sink:
			if !r.isLeaf(a.From) {
				return fmt.Sprintf("node %d leads to the sink and elsewhere", a.From+1)
			}
		case r.parent[a.To] != a.To:
			return fmt.Sprintf("node %d is in two groups", a.To+1)
		default:
			r.parent[a.To] = a.From
		}
	}
	return ""
}

// locations adds groups and leaves, parents first.
func (r *recogniser) locations() string {
	r.net = slots.New()
	kids := make([][]int32, len(r.parent))
	want := 0
	for v := range r.parent {
		switch p := r.parent[v]; {
		case r.isTask(int32(v)) || int32(v) == r.sink:
			continue
		case p == int32(v):
			r.order = append(r.order, p)
		default:
			kids[p] = append(kids[p], int32(v))
		}
		want++
	}
	for i := 0; i < len(r.order); i++ {
		v := r.order[i]
		r.order = append(r.order, kids[v]...)
		up := slots.Sink
		if p := r.parent[v]; p != v {
			up = r.loc[p]
		}
		demand := -r.g.Supply[v]
		switch {
		case !r.isLeaf(v) && demand == 0:
			r.loc[v] = r.net.AddGroup(up)
		case r.isLeaf(v) && demand >= 0 && demand < maxUnits:
			r.loc[v] = r.net.AddLeaf(up)
			r.net.SetLeaf(r.loc[v], int(demand), int(min(r.g.Arcs[r.out[v][0]].Cap, maxUnits)))
		default:
			return fmt.Sprintf("node %d has a supply of %d", v+1, -demand)
		}
	}
	if len(r.order) < want {
		return "groups lie around each other in a circle"
	}
	if want > slots.MaxLocations {
		return fmt.Sprintf("%d locations, at most %d", want, slots.MaxLocations)
	}
	return ""
}

// rooms checks that arcs within trees hold the room below them.
func (r *recogniser) rooms() string {
	below := make([]int64, len(r.parent))
	for i := len(r.order) - 1; i >= 0; i-- {
		v := r.order[i]
		if r.isLeaf(v) {
			below[v] = min(r.g.Arcs[r.out[v][0]].Cap, maxUnits) - r.g.Supply[v]
		}
		if p := r.parent[v]; p != v {
			below[p] += below[v]
		}
	}
	for i, a := range r.g.Arcs {
		if a.From != a.To && !r.isTask(a.From) && a.To != r.sink && a.Cap < below[a.To] {
			return fmt.Sprintf("arc %d holds %d units, node %d can take %d", i+1, a.Cap, a.To+1, below[a.To])
		}
	}
	return ""
}

func (r *recogniser) tasks() (*shape, string) {
	s := &shape{net: r.net}
	seen := make([]int, len(r.g.Supply))
	var options []slots.Option
	for v := range r.out {
		if !r.isTask(int32(v)) || r.g.Supply[v] == 0 {
			continue
		}
		if r.g.Supply[v] != 1 {
			return nil, fmt.Sprintf("node %d has a supply of %d", v+1, r.g.Supply[v])
		}
		options = options[:0]
		for _, i := range r.out[v] {
			a := &r.g.Arcs[i]
			if a.Cap == 0 {
				continue
			}
			if seen[a.To] == v+1 { // one unit takes the cheaper one
				k := slices.IndexFunc(options, func(o slots.Option) bool { return o.At == r.loc[a.To] })
				options[k].Base = min(options[k].Base, a.Cost)
				continue
			}
			seen[a.To] = v + 1
			options = append(options, slots.Option{Base: a.Cost, At: r.loc[a.To]})
		}
		if len(options) == 0 {
			return nil, fmt.Sprintf("no arc out of node %d has room", v+1)
		}
		r.net.Add(options)
		s.tasks = append(s.tasks, int32(v))
	}
	return s, ""
}

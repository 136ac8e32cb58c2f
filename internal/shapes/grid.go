package shapes

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Grid is a cell of the matrix of shapes that the planner is measured with. The
// zero values of its flags are the easier ones.
type Grid struct {
	Machines  int
	Percent   int  // tasks for a hundred slots
	Jobs      int  // of even size, but for chance
	Preferred int  // machines that a task prefers
	Distinct  bool // costs are drawn from a million, not from a dozen
	Uneven    bool // machines have 1 to 64 slots, not the same
	Hot       bool // all preferred machines are among 1 % of the machines
}

// Grids returns all cells of the matrix.
func Grids() (all []Grid) {
	flags := []bool{false, true}
	for _, machines := range []int{2_500, 12_500} {
		for _, percent := range []int{90, 100, 150, 300} {
			for _, jobs := range []int{50, 5_000} {
				for _, preferred := range []int{0, 6, 20} {
					for _, distinct := range flags {
						for _, uneven := range flags {
							for _, hot := range flags {
								if hot && preferred == 0 {
									continue // no arc leads to a hot machine
								}
								all = append(all, Grid{machines, percent, jobs, preferred, distinct, uneven, hot})
							}
						}
					}
				}
			}
		}
	}
	return all
}

// String returns the cell's name, of which each part is one choice.
func (g Grid) String() string {
	pick := func(flag bool, yes, no string) string {
		if flag {
			return yes
		}
		return no
	}
	return fmt.Sprintf("%s/%s/p%d/j%d/%s/%d%%/%d",
		pick(g.Distinct, "distinct", "ties"), pick(g.Uneven, "1..64", "equal"), g.Preferred, g.Jobs,
		pick(g.Hot, "hot", "cold"), g.Percent, g.Machines)
}

// Figures of a grid's costs: to run anywhere, to wait, and the most by which a
// running task's place is cheaper than it was.
const (
	anywhere, waiting, staying = 20, 40, 4
	finer                      = 50_000 // by how much distinct costs are
)

// Draw is a grid with its machines, from which tasks are drawn. It belongs to one
// goroutine.
type Draw struct {
	Grid
	Slots []int // by machine
	All   int   // slots
	rng   *rand.Rand
	hot   []int // machines that tasks prefer
}

// Draw returns the cell of a seed.
func (g Grid) Draw(seed uint64) *Draw {
	d := &Draw{Grid: g, rng: rand.New(rand.NewPCG(seed, 1))}
	for m := range g.Machines {
		slots := 8
		switch {
		case g.Uneven:
			slots = 1 + d.rng.IntN(64)
		case g.Machines > 10_000:
			slots = 12
		}
		d.Slots = append(d.Slots, slots)
		d.All += slots
		if !g.Hot || m%100 == 0 {
			d.hot = append(d.hot, m)
		}
	}
	return d
}

// RackOf returns the rack of a machine, of 40 each.
func (d *Draw) RackOf(machine int) int { return machine / 40 }

// Tasks returns how many tasks the cell has.
func (d *Draw) Tasks() int { return d.All * d.Percent / 100 }

// cost draws a cost from low up to high.
func (d *Draw) cost(low, high int) int64 {
	if d.Distinct {
		return int64(low*finer + d.rng.IntN((high-low)*finer))
	}
	return int64(low + d.rng.IntN(high-low))
}

// Task draws a task that waits. Its first arc is the one to wait, its last one the
// one to the cluster.
func (d *Draw) Task() Task {
	t := Task{Job: d.rng.IntN(d.Jobs)}
	t.Arcs = append(t.Arcs, Arc{Unscheduled, t.Job, d.cost(waiting, 2*waiting)})
	for range min(d.Preferred, len(d.hot)) {
		m := d.hot[d.rng.IntN(len(d.hot))]
		arc := Arc{Machine, m, d.cost(0, anywhere)}
		if !slices.ContainsFunc(t.Arcs, func(a Arc) bool { return a.Kind == Machine && a.At == m }) {
			t.Arcs = append(t.Arcs, arc)
		}
	}
	if d.Preferred > 0 {
		t.Arcs = append(t.Arcs, Arc{Rack, d.RackOf(t.Arcs[1].At), d.cost(anywhere/2, anywhere)})
	}
	t.Arcs = append(t.Arcs, Arc{Cluster, 0, d.cost(anywhere, anywhere+anywhere/4)})
	return t
}

// Stay returns the cost at which a task that Task drew goes on running on a machine. It
// is that of the cheapest of its arcs that lead there, less the work that a move would
// lose.
func (d *Draw) Stay(t Task, machine int) int64 {
	best := t.Arcs[len(t.Arcs)-1].Cost
	for _, a := range t.Arcs {
		if a.Kind == Machine && a.At == machine || a.Kind == Rack && a.At == d.RackOf(machine) {
			best = min(best, a.Cost)
		}
	}
	lost := int64(t.Job % staying)
	if d.Distinct {
		lost = t.Arcs[0].Cost % (staying * finer)
	}
	return best - lost
}

// Pick draws a number below n.
func (d *Draw) Pick(n int) int { return d.rng.IntN(n) }

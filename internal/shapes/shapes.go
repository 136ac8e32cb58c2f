// Package shapes makes up cells and tasks for benchmarks of package quincy:
//
//   - jobs of uneven size;
//   - files of uneven size in three copies;
//   - some machines that hold more than others;
//   - tasks that run already and lose work when they move.
//
// The model is that of the Quincy paper, the sizes are made up. All draws are the same
// for a seed, everywhere.
package shapes

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
)

// Shape is how large a cell is.
type Shape struct {
	Machines, Slots, Jobs int
}

// A returns the shape of a small cell.
func A() Shape { return Shape{250, 8, 20} }

// B returns the shape of a cell as large as those that Quincy was made for.
func B() Shape { return Shape{2_500, 8, 100} }

// C returns the shape of a cell as large as that of the Firmament paper.
func C() Shape { return Shape{12_500, 12, 1000} }

// Kind is the kind of an arc's end.
type Kind uint8

// Arcs lead to the cluster, to rack or machine At, or to where the job's tasks
// wait.
const (
	Cluster Kind = iota
	Rack
	Machine
	Unscheduled
)

// Arc is one of a task's options.
type Arc struct {
	Kind Kind
	At   int
	Cost int64
}

// Task is a task of job Job.
type Task struct {
	Job  int
	Arcs []Arc
}

// Cell draws tasks. It belongs to one goroutine.
type Cell struct {
	Shape
	RackOf []int // by machine

	racks   [][]int // machines
	free    []int   // slots that no running task has, by machine
	weights []int   // of jobs, added up
	homes   [][]int // racks in which a job's data tends to be
	rng     *rand.Rand
}

// New returns a cell without tasks.
func New(s Shape, seed uint64) *Cell {
	c := &Cell{Shape: s, rng: rand.New(rand.NewPCG(seed, 0))}
	racks := (s.Machines + 39) / 40
	c.racks = make([][]int, racks)
	for m := range s.Machines {
		k := m * racks / s.Machines
		c.RackOf = append(c.RackOf, k)
		c.racks[k] = append(c.racks[k], m)
		c.free = append(c.free, s.Slots)
	}
	sum := 0
	for range s.Jobs {
		sum += c.uneven(7)
		c.weights = append(c.weights, sum)
		var homes []int
		for range 1 + c.rng.IntN(4) {
			homes = append(homes, c.rng.IntN(racks))
		}
		c.homes = append(c.homes, homes)
	}
	return c
}

// Fill returns as many tasks as percent of the slots, most of which run, as far
// as slots go.
func (c *Cell) Fill(percent int) []Task {
	slots := c.Machines * c.Slots
	tasks := make([]Task, slots*percent/100)
	running := min(len(tasks), slots) * 8 / 10
	for i := range tasks {
		tasks[i] = c.Task(i < running)
	}
	return tasks
}

// uneven draws from 1 to 2^bits-1, each power of two as often as the next.
func (c *Cell) uneven(bits int) int {
	e := c.rng.IntN(bits)
	return 1<<e + c.rng.IntN(1<<e)
}

// The costs: a gigabyte over the core switch is 20, over a rack's 10, a second
// of waiting 5, one of work lost 10.
const (
	block       = 64 // megabytes
	core, rack  = 20, 10
	wait, work  = 5, 10
	unscheduled = core*2*(1<<8)*block/1024 + 1 // more than any placement
	preferred   = 3
)

// input is how many megabytes of a task's files are where.
type input struct {
	total    int
	machines map[int]int
	racks    map[int]int
}

func (c *Cell) input(job int) input {
	in := input{machines: map[int]int{}, racks: map[int]int{}}
	for range 1 + c.rng.IntN(5)/3 { // two files for 40 %
		size := c.uneven(8) * block
		in.total += size
		second := c.rng.IntN(c.Machines)
		mates := c.racks[c.RackOf[second]]
		copies := []int{c.machineFor(job), second, mates[c.rng.IntN(len(mates))]}
		var racks []int
		for i, m := range copies {
			if slices.Contains(copies[:i], m) {
				continue
			}
			in.machines[m] += size
			if k := c.RackOf[m]; !slices.Contains(racks, k) {
				racks = append(racks, k)
				in.racks[k] += size
			}
		}
	}
	return in
}

// machineFor draws a machine for a copy: a fifth are on the hot tenth of them.
func (c *Cell) machineFor(job int) int {
	switch x := c.rng.IntN(10); {
	case x < 2:
		hot := max(1, c.Machines/10)
		return c.rng.IntN(hot) * c.Machines / hot
	case x < 6:
		home := c.racks[c.homes[job][c.rng.IntN(len(c.homes[job]))]]
		return home[c.rng.IntN(len(home))]
	}
	return c.rng.IntN(c.Machines)
}

func cost(coreMB, rackMB int) int64 { return int64((core*coreMB + rack*rackMB) / 1024) }

// on returns the cost to run on machine m, and worst that on the worst one of rack k.
func (c *Cell) on(in input, m int) int64 {
	k := in.racks[c.RackOf[m]]
	return cost(in.total-k, k-in.machines[m])
}

func (c *Cell) worst(in input, k int) int64 {
	least := in.total
	for _, m := range c.racks[k] {
		least = min(least, in.machines[m])
	}
	return cost(in.total-in.racks[k], in.racks[k]-least)
}

// Task draws a task, and where it runs if it does.
func (c *Cell) Task(running bool) Task {
	job, _ := slices.BinarySearch(c.weights, 1+c.rng.IntN(c.weights[len(c.weights)-1]))
	in := c.input(job)
	t := Task{Job: job}
	waited := c.uneven(10) - 1
	machines := nearest(in.machines, in.total, func(m int) int64 { return c.on(in, m) }, Machine)
	at := -1
	if running {
		at = c.place(machines)
		waited /= 4
	}
	t.Arcs = append(t.Arcs, Arc{Unscheduled, job, unscheduled + int64(waited*wait)})
	if at >= 0 {
		t.Arcs = append(t.Arcs, Arc{Machine, at, c.on(in, at) - int64(c.uneven(11)*work)})
	}
	for _, a := range machines {
		if a.At != at {
			t.Arcs = append(t.Arcs, a)
		}
	}
	t.Arcs = append(t.Arcs, nearest(in.racks, in.total, func(k int) int64 { return c.worst(in, k) }, Rack)...)
	t.Arcs = append(t.Arcs, Arc{Cluster, 0, cost(in.total, 0)})
	return t
}

// place takes a slot for a task that runs: near its data mostly, else anywhere.
func (c *Cell) place(machines []Arc) int {
	if len(machines) > 0 && c.rng.IntN(10) < 7 {
		if m := machines[c.rng.IntN(len(machines))].At; c.free[m] > 0 {
			c.free[m]--
			return m
		}
	}
	for range 200 {
		if m := c.rng.IntN(c.Machines); c.free[m] > 0 {
			c.free[m]--
			return m
		}
	}
	return -1
}

// nearest returns the cheapest of the places that hold a tenth of the input.
func nearest(held map[int]int, total int, price func(int) int64, kind Kind) []Arc {
	var arcs []Arc
	for at, mb := range held {
		if mb*10 >= total {
			arcs = append(arcs, Arc{kind, at, price(at)})
		}
	}
	slices.SortFunc(arcs, func(a, b Arc) int { return cmp.Or(cmp.Compare(a.Cost, b.Cost), cmp.Compare(a.At, b.At)) })
	return arcs[:min(len(arcs), preferred)]
}

// Shares returns the limits on the running tasks of each job. Top shares slots out evenly
// among the jobs that want more. Low is half of that, and has to run.
func Shares(tasks []int, slots int) (low, top []int) {
	order := make([]int, len(tasks))
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(tasks[a], tasks[b]) })
	low, top = make([]int, len(tasks)), make([]int, len(tasks))
	for i, j := range order {
		top[j] = min(tasks[j], slots/(len(order)-i))
		low[j] = top[j] / 2
		slots -= top[j]
	}
	return low, top
}

// Name returns what a shape at so many percent is called: A90.
func Name(s Shape, percent int) string {
	for name, known := range map[string]Shape{"A": A(), "B": B(), "C": C()} {
		if s == known {
			return fmt.Sprint(name, percent)
		}
	}
	return fmt.Sprint(s.Machines, "x", s.Slots, "-", percent)
}

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"time"

	"github.com/cellsched/cellsched/internal/cputime"
	"github.com/cellsched/cellsched/internal/network"
	"github.com/cellsched/cellsched/internal/shapes"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// matrix is the choice of cells, and of the solvers that they are solved by.
type matrix struct {
	cells    string // a pattern of names
	every    int    // of the cells of the pattern, one in so many
	rounds   int    // of each size of change
	machines int    // if not 0, of all cells
	rivals   bool
	lemon    bool
	proof    bool
	patience time.Duration // with a solver of LEMON, for a cell
}

// row is the result of a cell, in milliseconds of CPU time.
type row struct {
	name           string
	tasks          int
	add, first     float64 // of the planner
	solver         float64 // of the first plan, the solver alone
	percent, mille float64 // rounds with 1 % and 0.1 % of the tasks changed
	generic        float64 // below 0 if there is none, as are those of LEMON
	simplex        float64
	scaling        float64
	infeasible     bool
}

// best returns the time of the fastest rival; false if there is none.
func (r *row) best() (least float64, ok bool) {
	for _, ms := range []float64{r.generic, r.simplex, r.scaling} {
		if ms >= 0 && (!ok || ms < least) {
			least, ok = ms, true
		}
	}
	return least, ok
}

// run measures the cells, prints a row for each, and the medians.
func (m *matrix) run(ctx context.Context, out io.Writer) error {
	pattern, err := regexp.Compile(m.cells)
	if err != nil {
		return fmt.Errorf("-cells: %w", err)
	}
	grids := slices.DeleteFunc(shapes.Grids(), func(g shapes.Grid) bool { return !pattern.MatchString(g.String()) })
	if len(grids) == 0 {
		return fmt.Errorf("-cells %s: no cell of that name, want one as in %s", m.cells, shapes.Grids()[0])
	}
	if m.every > 1 {
		rng := rand.New(rand.NewPCG(1, 1))
		rng.Shuffle(len(grids), func(i, j int) { grids[i], grids[j] = grids[j], grids[i] })
		grids = grids[:(len(grids)+m.every-1)/m.every]
	}
	rival := lemon{patience: m.patience}
	if m.rivals && m.lemon {
		defer rival.remove()
		if err := rival.compile(ctx); err != nil {
			fmt.Fprintf(out, "without LEMON: %v\n", err)
		}
	}
	fmt.Fprintf(out, "%-36s %8s %8s %8s %8s %8s %8s %8s %8s %8s %7s %7s\n", "cell", "tasks", "add", "first", "1 %", "0.1 %", "solver", "generic", "simplex", "scaling", "s/best", "1%/f")
	var rows []row
	for _, g := range grids {
		g.Machines = cmp.Or(m.machines, g.Machines)
		r, err := m.measure(ctx, g, &rival)
		if err != nil {
			return fmt.Errorf("%v: %w", g, err)
		}
		rows = append(rows, r)
		best, ok := r.best()
		fmt.Fprintf(out, "%-36s %8d %8.1f %8.1f %8.2f %8.2f %8s %8s %8s %8s %7s %7.2f", r.name, r.tasks, r.add, r.first, r.percent, r.mille, shown(r.solver), shown(r.generic), shown(r.simplex), shown(r.scaling), ratio(r.solver, best, ok), r.percent/r.first)
		if r.infeasible {
			fmt.Fprint(out, " infeasible")
		}
		fmt.Fprintln(out)
	}
	summarise(out, rows)
	return nil
}

func shown(ms float64) string {
	if ms < 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", ms)
}

func ratio(a, b float64, ok bool) string {
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.2f", a/b)
}

// summarise prints the median and the largest of the ratios.
func summarise(out io.Writer, rows []row) {
	var first, rounds []float64
	for i := range rows {
		r := &rows[i]
		if best, ok := r.best(); ok {
			first = append(first, r.solver/best)
		}
		rounds = append(rounds, r.percent/r.first)
	}
	for _, s := range []struct {
		name   string
		values []float64
	}{{"solver / best rival", first}, {"round with 1 % changed / first plan", rounds}} {
		if n := len(s.values); n > 0 {
			slices.Sort(s.values)
			fmt.Fprintf(out, "%s: median %.2f, largest %.2f, of %d cells\n", s.name, s.values[n/2], s.values[n-1], n)
		}
	}
}

// measure plans a cell with all solvers.
func (m *matrix) measure(ctx context.Context, g shapes.Grid, rival *lemon) (row, error) {
	r := row{name: g.String(), solver: -1, generic: -1, simplex: -1, scaling: -1}
	var costs, proved []int64
	problem, err := m.plan(ctx, g, false, &r, &costs)
	if err != nil {
		return r, err
	}
	if m.proof {
		if _, err := m.plan(ctx, g, true, &row{}, &proved); err != nil {
			return r, err
		}
		if !slices.Equal(costs, proved) {
			return r, fmt.Errorf("plans cost %v, and when proved %v", costs, proved)
		}
	}
	if !m.rivals {
		return r, nil
	}
	if r.solver, err = solve(ctx, problem, network.Special, &r, costs[0]); err != nil {
		return r, err
	}
	if r.generic, err = solve(ctx, problem, network.Generic, &r, costs[0]); err != nil {
		return r, err
	}
	return r, rival.solve(ctx, problem, &r, costs[0])
}

// solve returns the time that a solver takes, and an error unless it finds the cost
// and proves it.
func solve(ctx context.Context, problem *network.Network, solver network.Solver, r *row, want int64) (float64, error) {
	run, err := problem.Prepare(solver)
	if err != nil {
		return 0, err
	}
	runtime.GC()
	began := cputime.Used()
	cost, err := run.Solve(ctx)
	took := since(began)
	if r.infeasible != errors.Is(err, quincy.ErrInfeasible) {
		return 0, fmt.Errorf("infeasible for the planner: %t, for the %v solver: %w", r.infeasible, solver, err)
	}
	if r.infeasible {
		return took, nil
	}
	if err := errors.Join(err, run.Verify()); err != nil {
		return 0, err
	}
	if cost != want {
		return 0, fmt.Errorf("the plan costs %d, that of the %v solver %d", want, solver, cost)
	}
	return took, nil
}

// since returns the CPU time of the process since then.
func since[D ~int64](began D) float64 { return float64(D(cputime.Used())-began) / 1e6 }

// plan makes the first plan of a cell and those of the rounds after it, and returns
// the problem of the first one. It appends the plans' costs.
func (m *matrix) plan(ctx context.Context, g shapes.Grid, verify bool, r *row, costs *[]int64) (*network.Network, error) {
	c, err := newCell(g, verify)
	if err != nil {
		return nil, err
	}
	runtime.GC()
	began := cputime.Used()
	if err := c.add(c.Tasks()); err != nil {
		return nil, err
	}
	r.add, r.tasks = since(began), len(c.here)
	if err := c.share(); err != nil {
		return nil, err
	}
	var problem *network.Network
	if m.rivals && !verify {
		var text bytes.Buffer
		if err := c.planner.WriteNetwork(&text, 0); err != nil {
			return nil, err
		}
		if problem, err = network.Read(&text); err != nil {
			return nil, err
		}
	}
	step := func() (float64, error) {
		runtime.GC()
		began := cputime.Used()
		plan, err := c.planner.Plan(ctx, 0)
		took := since(began)
		if errors.Is(err, quincy.ErrInfeasible) {
			r.infeasible, err = true, nil
		}
		*costs = append(*costs, plan.Cost)
		return took, err
	}
	if r.first, err = step(); err != nil {
		return nil, err
	}
	for _, perMille := range []int{10, 1} {
		var times []float64
		for range m.rounds {
			if err := c.change(perMille); err != nil {
				return nil, err
			}
			took, err := step()
			if err != nil {
				return nil, err
			}
			times = append(times, took)
		}
		if slices.Sort(times); len(times) > 0 {
			r.percent, r.mille = cmp.Or(r.percent, times[len(times)/2]), times[len(times)/2]
		}
	}
	return problem, nil
}

// cell is a planner and what it plans.
type cell struct {
	*shapes.Draw
	planner *quincy.Planner[int, int]
	tasks   []shapes.Task // all there have been
	here    []int         // those that are there
	count   []int         // by job
}

func newCell(g shapes.Grid, verify bool) (*cell, error) {
	c := &cell{Draw: g.Draw(1), count: make([]int, g.Jobs)}
	var err error
	if c.planner, err = quincy.New[int](quincy.Config[int]{Arcs: c.arcs, Verify: verify}); err != nil {
		return nil, err
	}
	for m, slots := range c.Slots {
		machine := quincy.Machine{Node: locality.Node(m), Rack: quincy.Rack(c.RackOf(m)), Slots: slots}
		if err := c.planner.AddMachine(machine); err != nil {
			return nil, err
		}
	}
	for j := range g.Jobs {
		if err := c.planner.AddJob(j, 0, 0); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// arcs are those that were drawn, and one more to where the task runs.
func (c *cell) arcs(arcs []quincy.Arc, task int, s quincy.State, _ int64) []quincy.Arc {
	t := c.tasks[task]
	for _, a := range t.Arcs {
		arc := quincy.Arc{Cost: a.Cost}
		switch a.Kind {
		case shapes.Unscheduled:
			arc.To = quincy.Unscheduled()
		case shapes.Rack:
			arc.To = quincy.InRack(quincy.Rack(a.At))
		case shapes.Machine:
			if s.Running && locality.Node(a.At) == s.On {
				continue
			}
			arc.To = quincy.OnMachine(locality.Node(a.At))
		}
		arcs = append(arcs, arc)
	}
	if s.Running {
		arcs = append(arcs, quincy.Arc{To: quincy.OnMachine(s.On), Cost: c.Stay(t, int(s.On))})
	}
	return arcs
}

// add draws so many tasks and adds them.
func (c *cell) add(tasks int) error {
	for range tasks {
		t := c.Task()
		number := len(c.tasks)
		c.tasks = append(c.tasks, t)
		if err := c.planner.AddTask(number, t.Job, 0); err != nil {
			return err
		}
		c.here = append(c.here, number)
		c.count[t.Job]++
	}
	return nil
}

// share gives each job its share of the slots.
func (c *cell) share() error {
	low, top := shapes.Shares(c.count, c.All)
	for j := range low {
		if err := c.planner.SetShares(j, low[j], top[j]); err != nil {
			return err
		}
	}
	return nil
}

// change lets per mille of the tasks leave and as many come.
func (c *cell) change(perMille int) error {
	tasks := max(1, len(c.here)*perMille/1000)
	for range tasks {
		i, last := c.Pick(len(c.here)), len(c.here)-1
		number := c.here[i]
		c.here[i], c.here = c.here[last], c.here[:last]
		if err := c.planner.RemoveTask(number); err != nil {
			return err
		}
		c.count[c.tasks[number].Job]--
	}
	if err := c.add(tasks); err != nil {
		return err
	}
	return c.share()
}

package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/cellsched/cellsched/bench/internal/program"
	"github.com/cellsched/cellsched/internal/cputime"
)

// config is the work of a run: how many tasks, machines, schedulers and runs there are,
// and the placement policy.
type config struct {
	tasks, machines, schedulers int
	runs                        int
	policy                      string
}

// perMachine is the least number of tasks for each machine. Fewer, of such mixed
// needs, do not fill machines to the same share.
const perMachine = 20

func (c config) check() error {
	if c.tasks < 1 || c.machines < 1 || c.schedulers < 1 || c.runs < 1 {
		return fmt.Errorf("n %d, machines %d, schedulers %d, runs %d: want 1 or more", c.tasks, c.machines, c.schedulers, c.runs)
	}
	if c.tasks/c.machines < perMachine {
		return fmt.Errorf("n %d, machines %d: want at least %d tasks a machine", c.tasks, c.machines, perMachine)
	}
	if c.schedulers > c.machines {
		return fmt.Errorf("machines %d, schedulers %d: want a machine for each", c.machines, c.schedulers)
	}
	if policies[c.policy] == nil {
		return fmt.Errorf("policy %q: want one of %q", c.policy, policyNames())
	}
	return nil
}

func policyNames() (names []string) {
	for name := range policies {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func main() {
	var cfg config
	flag.IntVar(&cfg.tasks, "n", 1_000_000, "tasks to place")
	flag.IntVar(&cfg.machines, "machines", 5_000, "machines to place them on")
	flag.IntVar(&cfg.schedulers, "schedulers", 2, "schedulers at once, after one alone")
	flag.IntVar(&cfg.runs, "runs", 5, "runs of each; of so many schedulers in one cell, twice as many")
	flag.StringVar(&cfg.policy, "policy", "next fit", fmt.Sprintf("by which the cell's schedulers place: one of %q", policyNames()))
	flag.Parse()
	program.ExitOn("million", run(os.Stdout, cfg))
}

// filler is a cell, or something else in its place, that is to be filled.
type filler interface {
	// fill places needs by so many workers at once, and keeps the handles.
	fill(needs []need, workers int) error
	// conflicts returns the number of commits that were refused and tried again.
	conflicts() int
	// check verifies that so many tasks are placed and nothing is taken twice.
	check(tasks int) error
}

// row is one kind of filler with so many workers, and its results so far.
type row struct {
	name    string
	workers int
	open    func() (filler, error)
	results []result
}

func (c config) rows(capacity need) []*row {
	var rows []*row
	add := func(name string, workers int, open func() (filler, error)) {
		rows = append(rows, &row{name: name, workers: workers, open: open})
	}
	cellsOf := func(n int) func() (filler, error) {
		return func() (filler, error) { return newCells(capacity, c.machines, n, c.policy) }
	}
	locked := func(byAppend bool) func() (filler, error) {
		return func() (filler, error) { return newLockCell(capacity, c.machines, byAppend), nil }
	}
	add(oneCell, 1, cellsOf(1))
	if c.schedulers > 1 {
		add(oneCell, c.schedulers, cellsOf(1))
		add(ownCells, c.schedulers, cellsOf(c.schedulers))
	}
	for _, byAppend := range []bool{false, true} {
		name := map[bool]string{false: inChunks, true: "mutex, slab by append"}[byAppend]
		add(name, 1, locked(byAppend))
		if c.schedulers > 1 {
			add(name, c.schedulers, locked(byAppend))
		}
	}
	return rows
}

const (
	oneCell  = "cell"
	ownCells = "cells of their own"
	inChunks = "mutex, slab in chunks"
)

func run(w io.Writer, cfg config) error {
	if err := cfg.check(); err != nil {
		return err
	}
	needs := mixed(cfg.tasks)
	capacity := capacityFor(needs, cfg.machines)
	fmt.Fprintf(w, "%d tasks, one commit each, %s, on %d machines, to %.0f %% of their cpu and memory\n",
		cfg.tasks, cfg.policy, cfg.machines, 100*full)
	fmt.Fprintf(w, "%s, %s/%s, %d cores, medians of %d runs\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), cfg.runs)

	rows := cfg.rows(capacity)
	for range cfg.runs { // in turn, so that a disturbance of the machine disturbs all
		for _, r := range rows {
			times := 1
			if r.name == oneCell && r.workers > 1 {
				times = 2
			}
			for range times {
				if err := r.measure(needs); err != nil {
					return fmt.Errorf("%s, %d at once: %w", r.name, r.workers, err)
				}
			}
		}
	}
	if err := printRows(w, rows, cfg.tasks); err != nil {
		return err
	}
	if err := printRatios(w, rows); err != nil {
		return err
	}
	again := cfg.repeated()
	for range cfg.runs {
		for _, r := range again {
			if err := r.measure(); err != nil {
				return err
			}
		}
	}
	if err := printRepeated(w, again); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nchecked: free + allocated = capacity on every machine, %d allocations live\n", cfg.tasks)
	return err
}

func printRows(w io.Writer, rows []*row, tasks int) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tat once\twall\tCPU\tplacements/s\tconflicts\tB/allocation\t")
	for _, r := range rows {
		fmt.Fprintf(table, "%s\t%d\t%.3f s\t%.3f s\t%.0f\t%.0f\t%.0f\t\n", r.name, r.workers, r.median(wall), r.median(cpu),
			float64(tasks)/r.median(wall), r.median(conflicts), r.median(bytesPerTask))
	}
	return table.Flush()
}

// printRatios compares rows within each run, and prints the median.
func printRatios(w io.Writer, rows []*row) error {
	of := make(map[string][2]*row) // by name: one worker, several
	for _, r := range rows {
		pair := of[r.name]
		pair[min(r.workers, 2)-1] = r
		of[r.name] = pair
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\n\twall\tCPU\t")
	one, several, own := of[oneCell][0], of[oneCell][1], of[ownCells][1]
	fmt.Fprintf(table, "one / mutex, slab in chunks\t%.2f\t%.2f\t\n", ratio(one, of[inChunks][0], wall), ratio(one, of[inChunks][0], cpu))
	if several != nil {
		n := several.workers
		fmt.Fprintf(table, "%d in one cell / %d in cells of their own\t%.2f\t%.2f\t\n", n, n, ratio(several, own, wall), ratio(several, own, cpu))
		fmt.Fprintf(table, "%d / one\t%.2f\t%.2f\t\n", n, ratio(several, one, wall), ratio(several, one, cpu))
		fmt.Fprintf(table, "worst of %d runs of %d / their median\t%.2f\t%.2f\t\n", len(several.results), n, several.worst(wall), several.worst(cpu))
	}
	return table.Flush()
}

// liveHeap returns the bytes that are reachable.
func liveHeap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// measure fills a new filler once and checks it. It first gives the heap that the last
// one left back to the system. Otherwise later ones would find a heap that is large
// enough already: getting pages is much of the cost of a slab that grows.
func (r *row) measure(needs []need) error {
	f, err := r.open()
	if err != nil {
		return err
	}
	before := liveHeap()
	debug.FreeOSMemory()
	used, start := cputime.Used(), time.Now()
	err = f.fill(needs, r.workers)
	got := result{wall: time.Since(start).Seconds(), cpu: (cputime.Used() - used).Seconds()}
	if err != nil {
		return err
	}
	got.bytesPerTask = (liveHeap() - before) / float64(len(needs))
	got.conflicts = float64(f.conflicts())
	r.results = append(r.results, got)
	return f.check(len(needs))
}

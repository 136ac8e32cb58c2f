package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"text/tabwriter"
	"time"

	"github.com/cellsched/cellsched/bench/cputime"
	"github.com/cellsched/cellsched/bench/internal/program"
)

// config is what there is to place, where, and by how many at once.
type config struct {
	tasks, machines, schedulers int
}

// perMachine is the least number of tasks for each machine. Fewer, of such mixed
// needs, do not fill machines to the same share.
const perMachine = 20

func (c config) check() error {
	if c.tasks < 1 || c.machines < 1 || c.schedulers < 1 {
		return fmt.Errorf("n %d, machines %d, schedulers %d: want 1 or more", c.tasks, c.machines, c.schedulers)
	}
	if c.tasks/c.machines < perMachine {
		return fmt.Errorf("n %d, machines %d: want at least %d tasks a machine", c.tasks, c.machines, perMachine)
	}
	return nil
}

func main() {
	var cfg config
	flag.IntVar(&cfg.tasks, "n", 1_000_000, "tasks to place")
	flag.IntVar(&cfg.machines, "machines", 5_000, "machines to place them on")
	flag.IntVar(&cfg.schedulers, "schedulers", 2, "schedulers at once, after one alone")
	flag.Parse()
	program.ExitOn("million", run(os.Stdout, cfg))
}

// filler is a cell, or what stands in for one, that is to be filled.
type filler interface {
	// fill places needs by so many workers at once, and keeps the handles.
	fill(needs []need, workers int) error
	// conflicts is how many commits were refused and tried again.
	conflicts() int
	// check verifies that so many tasks are placed and nothing is taken twice.
	check(tasks int) error
}

func run(w io.Writer, cfg config) error {
	if err := cfg.check(); err != nil {
		return err
	}
	needs := mixed(cfg.tasks)
	capacity := capacityFor(needs, cfg.machines)
	fmt.Fprintf(w, "%d tasks, one commit each, on %d machines, to %.0f %% of their cpu and memory\n",
		cfg.tasks, cfg.machines, 100*full)
	fmt.Fprintf(w, "%s, %s/%s, %d cores\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))

	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tat once\twall\tCPU\tplacements/s\tconflicts\tB/allocation\t")
	workers := []int{1, cfg.schedulers}
	if cfg.schedulers == 1 {
		workers = workers[:1]
	}
	for _, c := range []struct {
		name string
		open func() (filler, error)
	}{
		{"cell", func() (filler, error) { return newCell(capacity, cfg.machines) }},
		{"mutex, slab in chunks", func() (filler, error) { return newLockCell(capacity, cfg.machines, false), nil }},
		{"mutex, slab by append", func() (filler, error) { return newLockCell(capacity, cfg.machines, true), nil }},
	} {
		for _, n := range workers {
			f, err := c.open()
			if err != nil {
				return err
			}
			got, err := measure(f, needs, n)
			if err != nil {
				return fmt.Errorf("%s, %d at once: %w", c.name, n, err)
			}
			fmt.Fprintf(table, "%s\t%d\t%.3f s\t%.3f s\t%.0f\t%d\t%.0f\t\n", c.name, n, got.wall.Seconds(),
				got.cpu.Seconds(), float64(cfg.tasks)/got.wall.Seconds(), f.conflicts(), got.perTask)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nchecked: free + allocated = capacity on every machine, %d allocations live\n", cfg.tasks)
	return err
}

type result struct {
	wall, cpu time.Duration
	perTask   float64 // bytes
}

// measure fills f once and checks it. What the last one left is given back to
// the system first, or whoever comes later would find a heap that is large
// enough already: getting pages is much of what a slab that grows costs.
func measure(f filler, needs []need, workers int) (result, error) {
	before := liveHeap()
	debug.FreeOSMemory()
	cpu, start := cputime.Used(), time.Now()
	err := f.fill(needs, workers)
	r := result{wall: time.Since(start), cpu: cputime.Used() - cpu}
	if err != nil {
		return result{}, err
	}
	r.perTask = (liveHeap() - before) / float64(len(needs))
	return r, f.check(len(needs))
}

func liveHeap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

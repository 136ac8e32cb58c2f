package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/cellsched/cellsched/bench/internal/program"
	"github.com/cellsched/cellsched/bench/internal/sweep"
	"github.com/cellsched/cellsched/bench/sim/experiments"
	"github.com/cellsched/cellsched/bench/sim/federate"
	"github.com/cellsched/cellsched/bench/trace"
)

func main() {
	// A cell is small and every commit makes a version of a machine: collecting
	// less often takes a sixth off a run.
	debug.SetGCPercent(400)
	program.Main("sim", command)
}

// command is the program without the parts that belong to the process.
func command(ctx context.Context, args []string, out, progress io.Writer) error {
	var workload string
	all := all(&workload)
	flags := flag.NewFlagSet("sim", flag.ContinueOnError)
	flags.SetOutput(progress)
	name := flags.String("experiment", "", "what to run: "+strings.Join(names(all), ", "))
	hours := flags.Float64("hours", 0, "virtual time of each run; 0 for 24, of rogue 3, of federation and recorded 20 s")
	flags.StringVar(&workload, "trace", "", "SWIM file of the experiment recorded, which runs it whatever the hours")
	seeds := flags.Int("seeds", 1, "runs for each row; the table has their mean")
	parallel := flags.Int("parallel", runtime.GOMAXPROCS(0), "runs at a time")
	asJSON := flags.Bool("json", false, "print the rows as JSON, with all that was measured")
	if err := program.Parse(flags, args); err != nil {
		return err
	}
	if !(*hours == 0 || *hours >= minHours && *hours <= maxHours) || *seeds < 1 || *parallel < 1 {
		return fmt.Errorf("hours %v, seeds %d, parallel %d: want 0 or %v to %d hours, and 1 or more of the others",
			*hours, *seeds, *parallel, minHours, maxHours)
	}
	for _, e := range all {
		if e.name == *name {
			horizon := time.Duration(*hours * float64(time.Hour))
			if *hours == 0 {
				horizon = e.horizon
			}
			return show(ctx, e, experiments.Options{
				Seeds: *seeds, Horizon: horizon, Parallel: *parallel,
				Done: program.Progress(progress),
			}, *asJSON, out, progress)
		}
	}
	return fmt.Errorf("experiment %q: want one of %s", *name, strings.Join(names(all), ", "))
}

const (
	minHours = 0.001
	maxHours = 366 * 24 // a year: more does not fit in the type that counts time
)

// experiment is one that the command knows, with rows of any type.
type experiment struct {
	name, shows string
	horizon     time.Duration
	run         func(context.Context, experiments.Options) (rows any, table func(io.Writer) error, err error)
}

// all has all experiments. Recorded reads the file of a name that is known when it runs.
func all(workload *string) (all []experiment) {
	for _, e := range experiments.All() {
		all = append(all, experiment{e.Name, e.Shows, 24 * time.Hour, tabled(e.Run, table)})
	}
	return append(all, experiment{
		"rogue", "what a scheduler that claims or keeps too much does to four others", 3 * time.Hour,
		tabled(experiments.Rogue, rogues),
	}, experiment{
		"federation", "many cells under global masters on stale states, beside Sparrow", 20 * time.Second,
		tabled(func(ctx context.Context, o experiments.Options) ([]federate.Row, error) {
			return federate.Sweep(ctx, federate.Options{
				Options: sweep.Options{Seeds: o.Seeds, Parallel: o.Parallel, Done: o.Done}, Span: o.Horizon,
			}, o.Horizon < 10*time.Second)
		}, federations),
	}, experiment{
		federate.Record, "a recorded workload under global masters on stale states, beside Sparrow", 20 * time.Second,
		tabled(func(ctx context.Context, o experiments.Options) ([]federate.Row, error) {
			return recorded(ctx, *workload, o)
		}, federations),
	})
}

// recorded runs the workload of a SWIM file.
func recorded(ctx context.Context, path string, o experiments.Options) (_ []federate.Row, err error) {
	if path == "" {
		return nil, errors.New("no -trace, want the SWIM file of the workload")
	}
	var files []*trace.File
	defer func() {
		for _, f := range files {
			err = errors.Join(err, f.Close())
		}
	}()
	open := func() (iter.Seq2[trace.Job, error], error) {
		f, err := trace.Open(path)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
		return trace.Sorted(path, trace.SWIM(path, f, trace.MapReduce{}), 1024), nil
	}
	return federate.SweepRecorded(ctx, federate.Options{
		Options: sweep.Options{Seeds: o.Seeds, Parallel: o.Parallel, Done: o.Done},
	}, open, o.Horizon < 10*time.Second)
}

// tabled is an experiment with how its rows are printed.
func tabled[R any](
	run func(context.Context, experiments.Options) ([]R, error), table func(io.Writer, []R) error,
) func(context.Context, experiments.Options) (any, func(io.Writer) error, error) {
	return func(ctx context.Context, o experiments.Options) (any, func(io.Writer) error, error) {
		rows, err := run(ctx, o)
		return rows, func(out io.Writer) error { return table(out, rows) }, err
	}
}

func names(all []experiment) (names []string) {
	for _, e := range all {
		names = append(names, e.name)
	}
	return names
}

func show(ctx context.Context, e experiment, o experiments.Options, asJSON bool, out, progress io.Writer) error {
	rows, table, err := e.run(ctx, o)
	fmt.Fprintln(progress)
	if err != nil {
		return fmt.Errorf("%s: %w", e.name, err)
	}
	if asJSON {
		return program.PrintJSON(out, rows)
	}
	fmt.Fprintf(out, "%s: %s; %v of virtual time, %d seeds\n\n", e.name, e.shows, o.Horizon, o.Seeds)
	return table(out)
}

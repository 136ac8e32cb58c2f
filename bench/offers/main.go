package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"runtime"

	"github.com/cellsched/cellsched/bench/internal/program"
	"github.com/cellsched/cellsched/bench/offers/experiments"
)

func main() {
	program.Main("offers", command)
}

// scale is the experiment that is measured in real time.
const scale = "scale"

// command is the program without the parts that belong to the process. It prints all
// or nothing.
func command(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("offers", flag.ContinueOnError)
	flags.SetOutput(progress)
	experiment := flags.String("experiment", "", "the only one to run: model, incentives, sharing, locality, pathologies or scale")
	seeds := flags.Int("seeds", 1, "runs of each case; the tables have their mean")
	parallel := flags.Int("parallel", runtime.GOMAXPROCS(0), "runs at a time")
	machines := flags.Int("machines", 50_000, "machines of the scale test")
	tasks := flags.Int("tasks", 1000, "tasks that the scale test measures")
	asJSON := flags.Bool("json", false, "print the rows as JSON")
	if err := program.Parse(flags, args); err != nil {
		return err
	}
	if *seeds < 1 || *parallel < 1 || *machines < 1 || *tasks < 1 {
		return fmt.Errorf("seeds %d, parallel %d, machines %d, tasks %d: want 1 or more", *seeds, *parallel, *machines, *tasks)
	}
	if *experiment == scale {
		result, err := experiments.Scale(ctx, experiments.ScaleOptions{Machines: *machines, Tasks: *tasks, Seed: 1})
		if err != nil {
			return err
		}
		if *asJSON {
			return program.PrintJSON(out, result)
		}
		return scaled(out, result)
	}
	var names []string
	if *experiment != "" {
		names = []string{*experiment}
	}
	rows, err := experiments.Sweep(ctx, experiments.Options{
		Seeds: *seeds, Parallel: *parallel,
		Done: program.Progress(progress),
	}, names...)
	fmt.Fprintln(progress)
	if err != nil {
		return err
	}
	if *asJSON {
		return program.PrintJSON(out, rows)
	}
	return tables(out, rows)
}

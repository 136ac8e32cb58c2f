package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/cellsched/cellsched/bench/elastic/experiments"
	"github.com/cellsched/cellsched/bench/internal/program"
)

func main() {
	// Cells are small and every commit makes a version of a machine.
	debug.SetGCPercent(400)
	program.Main("elastic", command)
}

// command is the program without the parts that belong to the process. It prints
// all or nothing.
func command(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("elastic", flag.ContinueOnError)
	flags.SetOutput(progress)
	hours := flags.Float64("hours", 12, "virtual time in which jobs come")
	seeds := flags.Int("seeds", 1, "workloads of each cell; the tables have their mean")
	parallel := flags.Int("parallel", runtime.GOMAXPROCS(0), "runs at a time")
	asJSON := flags.Bool("json", false, "print the rows as JSON, with all that was measured")
	if err := program.Parse(flags, args); err != nil {
		return err
	}
	if !(*hours >= minHours && *hours <= maxHours) || *seeds < 1 || *parallel < 1 {
		return fmt.Errorf("hours %v, seeds %d, parallel %d: want %v to %d hours, and 1 or more of the others",
			*hours, *seeds, *parallel, minHours, maxHours)
	}
	span := time.Duration(*hours * float64(time.Hour))
	rows, err := experiments.Sweep(ctx, experiments.Options{
		Seeds: *seeds, Span: span, Parallel: *parallel,
		Done: program.Progress(progress),
	})
	fmt.Fprintln(progress)
	if err != nil {
		return err
	}
	if *asJSON {
		return program.PrintJSON(out, rows)
	}
	return tables(out, rows, span)
}

// Utilisation is noted each minute, so there have to be some.
const (
	minHours = 0.1
	maxHours = 30 * 24
)

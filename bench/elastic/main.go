package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/cellsched/cellsched/bench/elastic/experiments"
)

func main() {
	// Cells are small and every commit makes a version of a machine.
	debug.SetGCPercent(400)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "elastic:", err)
		os.Exit(1)
	}
}

// command is the program without what belongs to the process. It prints all or
// nothing.
func command(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("elastic", flag.ContinueOnError)
	flags.SetOutput(progress)
	hours := flags.Float64("hours", 12, "virtual time in which jobs come")
	seeds := flags.Int("seeds", 1, "workloads of each cell; the tables have their mean")
	parallel := flags.Int("parallel", runtime.GOMAXPROCS(0), "runs at a time")
	asJSON := flags.Bool("json", false, "print the rows as JSON, with all that was measured")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("argument %q: want flags only", flags.Arg(0))
	}
	if !(*hours >= minHours && *hours <= maxHours) || *seeds < 1 || *parallel < 1 {
		return fmt.Errorf("hours %v, seeds %d, parallel %d: want %v to %d hours, and 1 or more of the others",
			*hours, *seeds, *parallel, minHours, maxHours)
	}
	span := time.Duration(*hours * float64(time.Hour))
	rows, err := experiments.Sweep(ctx, experiments.Options{
		Seeds: *seeds, Span: span, Parallel: *parallel,
		Done: func(runs, all int) {
			fmt.Fprintf(progress, "\r%d of %d runs", runs, all)
		},
	})
	fmt.Fprintln(progress)
	if err != nil {
		return err
	}
	if *asJSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(rows)
	}
	return tables(out, rows, span)
}

// Utilisation is noted each minute, so there have to be some.
const (
	minHours = 0.1
	maxHours = 30 * 24
)

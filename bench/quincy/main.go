package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/cellsched/cellsched/bench/internal/program"
	"github.com/cellsched/cellsched/bench/internal/recordings"
	"github.com/cellsched/cellsched/bench/quincy/experiments"
)

func main() {
	program.Main("quincy", command)
}

// command is the program without the parts that belong to the process. It prints all
// or nothing.
func command(ctx context.Context, args []string, out, progress io.Writer) error {
	known, _ := experiments.Loads("")
	flags := flag.NewFlagSet("quincy", flag.ContinueOnError)
	flags.SetOutput(progress)
	load := flags.String("load", "", "the only one to run: "+strings.Join(known, ", ")+"; all of them if empty")
	data := flags.String("data", recordings.Folder(".."), "folder of recorded workloads, by default that of $CELLSCHED_DATA")
	seeds := flags.Int("seeds", 1, "runs of each load by each policy; the table has their mean")
	parallel := flags.Int("parallel", runtime.GOMAXPROCS(0), "runs at a time")
	span := flags.Duration("span", time.Hour, "for how long jobs come, at most")
	why := flags.Bool("causes", false, "take away, one by one, what may make Quincy lose more by preemption than queues: on the load narrow, with 2 seeds or more")
	asJSON := flags.Bool("json", false, "print the rows as JSON")
	if err := program.Parse(flags, args); err != nil {
		return err
	}
	if *seeds < 1 || *parallel < 1 || *span <= 0 {
		return fmt.Errorf("seeds %d, parallel %d, span %v: want 1 or more of each, and some time", *seeds, *parallel, *span)
	}
	if *load != "" && !slices.Contains(known, *load) {
		return fmt.Errorf("load %q: want one of %s", *load, strings.Join(known, ", "))
	}
	options := experiments.Options{Seeds: *seeds, Parallel: *parallel, Data: *data, Span: *span, Done: program.Progress(progress)}
	if *why {
		return explain(ctx, options, *load, *asJSON, out, progress)
	}
	_, missing := experiments.Loads(*data)
	var names []string
	for _, name := range known {
		switch err := missing[name]; {
		case *load != "" && name != *load:
		case err != nil:
			fmt.Fprintf(progress, "%s: skipped, no data: %v; -data says where it is\n", name, err)
		default:
			names = append(names, name)
		}
	}
	rows, err := experiments.Sweep(ctx, options, names...)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintln(progress)
	claims := experiments.Claims(rows)
	if *asJSON {
		return program.PrintJSON(out, struct {
			Rows   []experiments.Row
			Claims []experiments.Claim
		}{rows, claims})
	}
	return tables(out, rows, claims)
}

// explain prints a difference as it is without each of its possible causes.
func explain(ctx context.Context, o experiments.Options, load string, asJSON bool, out, progress io.Writer) error {
	if load != "" && load != "narrow" {
		return fmt.Errorf("causes on load %q: want narrow", load)
	}
	all, err := experiments.Causes(ctx, o)
	if err != nil {
		return err
	}
	fmt.Fprintln(progress)
	if asJSON {
		return program.PrintJSON(out, all)
	}
	return causes(out, all)
}

package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/cellsched/cellsched/bench/internal/program"
)

func main() {
	program.ExitOn("late", run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, out, usage io.Writer) error {
	f := flag.NewFlagSet("late", flag.ContinueOnError)
	f.SetOutput(usage)
	seeds := f.Int("seeds", 30, "runs of each scenario")
	file := f.String("trace", "", "recorded workload to take jobs from, may be packed by gzip")
	format := f.String("format", "rumen", "what the trace is: rumen, swim or csv")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("argument %q, want flags only", f.Arg(0))
	}
	if *seeds < 1 {
		return fmt.Errorf("%d seeds, want 1 or more", *seeds)
	}
	if *file == "" {
		return compare(out, mixed(), *seeds)
	}
	scenarios, err := recorded(*file, *format)
	if err != nil {
		return err
	}
	return compare(out, scenarios, *seeds)
}

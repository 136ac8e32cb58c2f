package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/cellsched/cellsched/bench/internal/program"
	"github.com/cellsched/cellsched/internal/cputime"
	"github.com/cellsched/cellsched/internal/network"
)

func main() {
	program.Main("mcf", run)
}

func run(ctx context.Context, args []string, out, usage io.Writer) error {
	flags := flag.NewFlagSet("mcf", flag.ContinueOnError)
	flags.SetOutput(usage)
	name := flags.String("solver", "auto", "auto, special or generic")
	m := matrix{}
	shape := flags.Bool("matrix", false, "plan the cells of the matrix of shapes, not a file")
	flags.StringVar(&m.cells, "cells", "", "with -matrix: a pattern of the names of the cells to plan")
	flags.IntVar(&m.every, "every", 1, "with -matrix: plan one in so many of them, by chance")
	flags.IntVar(&m.rounds, "rounds", 3, "with -matrix: rounds of each size of change")
	flags.IntVar(&m.machines, "machines", 0, "with -matrix: the number of machines of all cells, if not 0")
	flags.BoolVar(&m.rivals, "rivals", true, "with -matrix: solve them by cost scaling, too")
	flags.BoolVar(&m.lemon, "lemon", true, "with -matrix and -rivals: and by LEMON, if it can be compiled")
	flags.DurationVar(&m.patience, "patience", 10*time.Minute, "with -lemon: how long each of LEMON's solvers may take for a cell")
	flags.BoolVar(&m.proof, "proof", true, "with -matrix: plan them again and prove each plan optimal")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *shape {
		if flags.NArg() > 0 {
			return fmt.Errorf("argument %q: want flags only with -matrix", flags.Arg(0))
		}
		return m.run(ctx, out)
	}
	solver, err := solverOf(*name)
	if err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("%d files, want one", flags.NArg())
	}
	problem, err := read(flags.Arg(0))
	if err != nil {
		return fmt.Errorf("%s: %w", flags.Arg(0), err)
	}
	task, err := problem.Prepare(solver)
	if err != nil {
		return fmt.Errorf("%s: %w", flags.Arg(0), err)
	}
	runtime.GC() // what reading left behind is not the solver's
	cpu, wall := cputime.Used(), time.Now()
	cost, err := task.Solve(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", flags.Arg(0), err)
	}
	used, took := cputime.Used()-cpu, time.Since(wall)
	if err := task.Verify(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "cost %d\nsolver %v (%s)\nnodes %d arcs %d\ncpu %v wall %v\n", cost, task.Solver, why(solver, task), problem.Nodes(), problem.Arcs(), used, took)
	return err
}

// why says why it is the solver that it is.
func why(asked network.Solver, task *network.Run) string {
	switch {
	case asked != network.Auto:
		return "asked for"
	case task.Solver == network.Special:
		return "the network is of the Quincy shape"
	}
	return "not of the Quincy shape: " + task.Reason
}

func solverOf(name string) (network.Solver, error) {
	for _, s := range []network.Solver{network.Auto, network.Special, network.Generic} {
		if s.String() == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("solver %q, want auto, special or generic", name)
}

func read(file string) (problem *network.Network, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return network.Read(f)
}

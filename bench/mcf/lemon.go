package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/cellsched/cellsched/internal/network"
)

//go:embed lemon/solve.cc
var lemonSource string

// lemon is the network simplex and the cost scaling of the LEMON library, compiled where
// there is a compiler and the library, as in the package liblemon-dev of Debian. The zero
// lemon solves nothing.
type lemon struct {
	dir, program string
	patience     time.Duration // how long each of them may take for a cell
}

func (l *lemon) compile(ctx context.Context) (err error) {
	if l.dir, err = os.MkdirTemp("", "lemon"); err != nil {
		return err
	}
	source, program := filepath.Join(l.dir, "solve.cc"), filepath.Join(l.dir, "solve")
	if err := os.WriteFile(source, []byte(lemonSource), 0o600); err != nil {
		return err
	}
	if text, err := exec.CommandContext(ctx, "c++", "-O3", "-o", program, source).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %.200s", err, text)
	}
	l.program = program
	return nil
}

func (l *lemon) remove() {
	if l.dir != "" {
		_ = os.RemoveAll(l.dir)
	}
}

// solve notes the times of both solvers, and returns an error unless they find the cost.
func (l *lemon) solve(ctx context.Context, problem *network.Network, r *row, want int64) error {
	if l.program == "" {
		return nil
	}
	expect := fmt.Sprint(want)
	if r.infeasible {
		expect = "none"
	}
	for solver, ms := range map[string]*float64{"simplex": &r.simplex, "scaling": &r.scaling} {
		if err := l.time(ctx, problem, solver, expect, ms); err != nil {
			return fmt.Errorf("LEMON, %s: %w", solver, err)
		}
	}
	return nil
}

// time notes in ms the time that a solver takes, and leaves ms as it is if it takes too
// long. The error says that the solver finds another cost than expected.
func (l *lemon) time(ctx context.Context, problem *network.Network, solver, expect string, ms *float64) error {
	limited, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	c := exec.CommandContext(limited, l.program, solver)
	in, out := io.Pipe()
	go func() { out.CloseWithError(problem.Write(out)) }()
	defer func() { _ = in.Close() }() // lets the writer end where the program has ended before
	c.Stdin = in
	text, err := c.Output()
	if limited.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	var found string
	var seconds float64
	if _, err := fmt.Sscan(string(text), &found, &seconds); err != nil {
		return fmt.Errorf("%q: %w", text, err)
	}
	if found != expect {
		return fmt.Errorf("the cost %s, want %s", found, expect)
	}
	*ms = seconds * 1000
	return nil
}

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

//go:embed lemon/simplex.cc
var simplex string

// lemon is the network simplex of the LEMON library, compiled where there is a
// compiler and the library, as in the package liblemon-dev of Debian. The zero
// lemon solves nothing.
type lemon struct {
	dir, program string
}

// patience is how long it may take for a cell.
const patience = 10 * time.Minute

func (l *lemon) compile(ctx context.Context) (err error) {
	if l.dir, err = os.MkdirTemp("", "lemon"); err != nil {
		return err
	}
	source, program := filepath.Join(l.dir, "simplex.cc"), filepath.Join(l.dir, "simplex")
	if err := os.WriteFile(source, []byte(simplex), 0o600); err != nil {
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

// solve notes the time that it takes, and returns an error unless it finds the cost.
// A cell that takes too long has no time.
func (l *lemon) solve(ctx context.Context, problem *network.Network, r *row, want int64) error {
	if l.program == "" {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c := exec.CommandContext(limited, l.program)
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
	if !r.infeasible && found != fmt.Sprint(want) || r.infeasible && found != "none" {
		return fmt.Errorf("LEMON finds the cost %s, want %d", found, want)
	}
	r.lemon = seconds * 1000
	return nil
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// bench runs the tests of mutants.
type bench struct {
	root    string // of the module
	scratch string // an empty folder
	limit   time.Duration
}

// judge builds the mutant in place of the original, runs its tests and returns
// the verdict. Errors: those of the file system, and the cause of ctx.
func (b *bench) judge(ctx context.Context, m *mutant) (outcome, error) {
	verdict, err := b.run(ctx, m, m.test)
	if err == nil && verdict == survived && m.more != nil {
		return b.run(ctx, m, m.more)
	}
	return verdict, err
}

// run is judge with the given arguments of go test.
func (b *bench) run(ctx context.Context, m *mutant, test []string) (outcome, error) {
	original := filepath.Join(b.root, filepath.FromSlash(m.file))
	source, err := os.ReadFile(original)
	if err != nil {
		return 0, err
	}
	changed, overlay := filepath.Join(b.scratch, "mutant.go"), filepath.Join(b.scratch, "overlay.json")
	table, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return 0, err
	}
	if err := errors.Join(
		os.WriteFile(changed, m.source(source), 0o600),
		os.WriteFile(overlay, table, 0o600),
	); err != nil {
		return 0, err
	}

	// A mutant may allocate without end: its address space is bounded. One that
	// hangs is ended by the tests' own limit, or by ctx where that does not act.
	ctx, cancel := context.WithTimeoutCause(ctx, 2*b.limit+time.Minute, errHangs)
	defer cancel()
	args := append([]string{
		"-c", `ulimit -v 12582912; exec "$@"`, "sh",
		"go", "test", "-overlay", overlay, "-vet=off", "-count=1", "-failfast", "-timeout", b.limit.String(),
	}, test...)
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Dir = b.root
	if strings.HasPrefix(m.file, "bench/") { // a module of its own
		cmd.Dir = filepath.Join(b.root, "bench")
		for i, arg := range args {
			if inside, ok := strings.CutPrefix(arg, "./bench/"); ok {
				args[i] = "./" + inside
			}
		}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 10 * time.Second
	err = cmd.Run()
	switch {
	case errors.Is(context.Cause(ctx), errHangs):
		return caught, nil
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case err == nil:
		return survived, nil
	case strings.Contains(out.String(), "[build failed]"), strings.Contains(out.String(), "[setup failed]"):
		return unbuildable, nil
	case strings.Contains(out.String(), "FAIL"):
		return caught, nil
	}
	return 0, fmt.Errorf("mutate: go test %s: %w: %s", strings.Join(test, " "), err, oneLine(out.String()))
}

var errHangs = errors.New("mutate: tests do not end")

// Package programtest checks the properties of every [program.Command].
package programtest

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/cellsched/cellsched/bench/internal/program"
)

// Printed runs a command and returns its output, and its output on progress.
func Printed(t testing.TB, command program.Command, args ...string) (out, progress string) {
	t.Helper()
	var o, p strings.Builder
	if err := command(t.Context(), args, &o, &p); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return o.String(), p.String()
}

// Refuses checks that a command prints nothing and fails with an error that has
// the text in it.
func Refuses(t testing.TB, command program.Command, text string, args ...string) {
	t.Helper()
	if err := failure(t.Context(), t, command, args, io.Discard); !strings.Contains(err.Error(), text) {
		t.Fatalf("%q: error %q, want one with %q", args, err, text)
	}
}

// Stops checks that a command prints nothing and fails with the cause if it is
// interrupted as soon as it says how far it is.
func Stops(t testing.TB, command program.Command, args ...string) {
	t.Helper()
	ctx, interrupt := context.WithCancelCause(t.Context())
	if err := failure(ctx, t, command, args, interrupting(interrupt)); !errors.Is(err, errEnough) {
		t.Fatalf("%q: error %q, want %q", args, err, errEnough)
	}
}

var errEnough = errors.New("enough")

// interrupting is a progress writer that cancels the run at the first write.
type interrupting context.CancelCauseFunc

func (w interrupting) Write(p []byte) (int, error) {
	w(errEnough)
	return len(p), nil
}

// failure returns the error of a command that is to fail.
func failure(ctx context.Context, t testing.TB, command program.Command, args []string, progress io.Writer) error {
	t.Helper()
	var out strings.Builder
	err := command(ctx, args, &out, progress)
	if err == nil || out.Len() > 0 {
		t.Fatalf("%q: error %v after %d bytes were printed, want one before any", args, err, out.Len())
	}
	return err
}

// FailsOnFullDisk checks that a command fails if its output cannot be written.
func FailsOnFullDisk(t testing.TB, command program.Command, args ...string) {
	t.Helper()
	full, out := io.Pipe()
	why := errors.New("no space left")
	full.CloseWithError(why)
	if err := command(t.Context(), args, out, io.Discard); !errors.Is(err, why) {
		t.Fatalf("%q: error %v, want %q", args, err, why)
	}
}

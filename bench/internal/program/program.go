// Package program is the common part of the commands of bench: how they begin and
// end, and their output besides the tables.
package program

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// Command is a program without the parts that belong to the process. It reports its
// progress on progress.
type Command func(ctx context.Context, args []string, out, progress io.Writer) error

// Main runs a command with a context that an interrupt ends, then does as [ExitOn].
func Main(name string, command Command) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ExitOn(name, command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// ExitOn ends the process with status 1 if there is an error, and prints that. To
// ask for help is none.
func ExitOn(name string, err error) {
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

// Parse reads the flags of a command that takes nothing else.
func Parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("argument %q: want flags only", flags.Arg(0))
	}
	return nil
}

// PrintJSON prints a value as JSON that people can read, too.
func PrintJSON(out io.Writer, value any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// Progress returns a function that prints how many runs have ended, over its last
// output.
func Progress(w io.Writer) func(runs, all int) {
	return func(runs, all int) {
		fmt.Fprintf(w, "\r%d of %d runs", runs, all)
	}
}

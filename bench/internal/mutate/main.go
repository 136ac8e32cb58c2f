package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cellsched/cellsched/bench/internal/program"
)

// self is the folder of this command, relative to the root of the core module.
const self = "bench/internal/mutate"

// core is the module that mutants are planted in.
const core = "github.com/cellsched/cellsched"

var errSurvived = errors.New("mutants survive")

func main() {
	program.Main("mutate", command)
}

// command is the program without what belongs to the process.
func command(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	flags.SetOutput(progress)
	n := flags.Int("n", 10, "mutants of each package")
	seed := flags.Uint64("seed", 1, "seed of the draw")
	limit := flags.Duration("limit", 5*time.Minute, "time for the tests of one mutant; beyond it the mutant is caught")
	hand := flags.Bool("planted", false, "plant the mutants of the folder planted instead of drawn ones")
	list := flags.Bool("list", false, "print the mutants and run nothing")
	match := flags.String("match", "", "only mutants whose description contains this `text`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *n < 1 || *limit <= 0 || *hand == (flags.NArg() > 0) {
		return fmt.Errorf("n %d, limit %v, packages %q: want 1 or more of the first, a time, and packages or -planted", *n, *limit, flags.Args())
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	known, err := equivalents(filepath.Join(root, filepath.FromSlash(self), "equivalent.txt"))
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	r := &round{
		bench: bench{root: root, scratch: scratch, limit: *limit},
		known: known, match: *match, list: *list, out: out, progress: progress,
	}
	if *hand {
		all, err := planted(root, filepath.Join(root, filepath.FromSlash(self), "planted"))
		if err != nil {
			return err
		}
		if err := r.run(ctx, "planted", all, len(all)); err != nil {
			return err
		}
	}
	for _, arg := range flags.Args() {
		dir := path.Clean(filepath.ToSlash(arg))
		all, err := candidates(root, dir)
		if err != nil {
			return err
		}
		if err := r.run(ctx, dir, shuffle(all, dir, *seed), *n); err != nil {
			return err
		}
	}
	return r.report()
}

// moduleRoot returns the folder of the core module, which is beside the one that this
// command is in.
func moduleRoot(ctx context.Context) (string, error) {
	dir, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", core).Output()
	return strings.TrimSpace(string(dir)), err
}

// round is one run of the command.
type round struct {
	bench
	known         map[string]string // equivalent mutants
	match         string
	list          bool
	out, progress io.Writer

	rows     []row
	survived []string
}

// row counts the mutants of one package.
type row struct {
	name                        string
	planted, caught, equivalent int
}

// run judges n mutants, in their order. Those that do not build and those that
// are listed as equivalent are skipped and do not count towards n.
func (r *round) run(ctx context.Context, name string, all []mutant, n int) error {
	count := row{name: name}
	for i := range all {
		if count.planted == n {
			break
		}
		m := &all[i]
		source, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(m.file)))
		if err != nil {
			return err
		}
		text := fmt.Sprintf("%s:%d: %s", m.file, m.line, strings.TrimPrefix(m.key(source), m.file+": "))
		if !strings.Contains(text, r.match) {
			continue
		}
		if r.known[m.key(source)] != "" {
			count.equivalent++
			continue
		}
		if r.list {
			count.planted++
			if _, err := fmt.Fprintln(r.out, text); err != nil {
				return err
			}
			continue
		}
		verdict, err := r.judge(ctx, m)
		if err != nil {
			return err
		}
		switch {
		case verdict == unbuildable && r.match == "" && name != "planted":
			continue
		case verdict == unbuildable:
			return fmt.Errorf("%s: does not build", text)
		case verdict == survived:
			r.survived = append(r.survived, text)
			fmt.Fprintln(r.progress, "survived:", text)
		default:
			count.caught++
			fmt.Fprintln(r.progress, "caught:  ", text)
		}
		count.planted++
	}
	r.rows = append(r.rows, count)
	return nil
}

// report prints the table and the survivors. Errors: [errSurvived].
func (r *round) report() error {
	if r.list {
		return nil
	}
	w := tabwriter.NewWriter(r.out, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "| package\t| planted\t| caught\t|")
	fmt.Fprintln(w, "|---\t|---\t|---\t|")
	var sum row
	for _, c := range r.rows {
		fmt.Fprintf(w, "| `%s`\t| %d\t| %d\t|\n", c.name, c.planted, c.caught)
		sum.planted += c.planted
		sum.caught += c.caught
		sum.equivalent += c.equivalent
	}
	fmt.Fprintf(w, "| all\t| %d\t| %d\t|\n", sum.planted, sum.caught)
	if err := w.Flush(); err != nil {
		return err
	}
	if sum.equivalent > 0 {
		if _, err := fmt.Fprintf(r.out, "\n%d equivalent mutants were skipped.\n", sum.equivalent); err != nil {
			return err
		}
	}
	for _, s := range r.survived {
		if _, err := fmt.Fprintln(r.out, "survived:", s); err != nil {
			return err
		}
	}
	if len(r.survived) > 0 {
		return fmt.Errorf("%d of %d %w", len(r.survived), sum.planted, errSurvived)
	}
	return nil
}

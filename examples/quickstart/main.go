// Quickstart lets three tenants of unlike appetite analyse the Go source tree on
// twelve workers. Each has its own scheduler on one shared cell: ask the gate of
// dominant resource fairness, place by delay scheduling, commit by compare-and-swap.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/examples/internal/serve"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/view"
	"github.com/cellsched/cellsched/resources"
)

func tenants() []*tenant {
	queries := []analysis{identifiers("Context"), identifiers("WaitGroup"), identifiers("Unmarshal"), identifiers("Deadline")}
	return []*tenant{
		{name: "analysis", need: resources.Vector{2 * cpu, gib / 2}, work: []analysis{complexity}, answer: map[string]int{}},
		{name: "statistics", need: resources.Vector{cpu / 2, 3 * gib}, work: []analysis{identifiers("")}, answer: map[string]int{}},
		{name: "queries", need: resources.Vector{cpu / 2, gib / 4}, work: queries, answer: map[string]int{}},
	}
}

func main() {
	if err := quickstart(); err != nil {
		fmt.Fprintf(os.Stderr, "quickstart: %-45v\n", err) // over the bar, if there is one
		os.Exit(1)
	}
}

func quickstart() error {
	dir := flag.String("dir", "", "directory of Go files (default: the source tree of the Go installation)")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	page, err := serve.Start(ctx)
	if err != nil {
		return err
	}
	var shown atomic.Pointer[omega.Cell]
	page.Show("/cell/", view.Config{Current: shown.Load})
	parts, err := list(*dir)
	if err != nil {
		return err
	}
	shards, bad, want := []*shard{}, []string{}, tenants()
	for id, paths := range parts {
		s := read(id, paths)
		shards, bad = append(shards, s), append(bad, s.bad...)
		for _, t := range want {
			for _, do := range t.work {
				do(s, t.answer)
			}
		}
		if progress("sequential run", int64(id+1), int64(len(parts))); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	table, wait := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight), delay.Policy{Skips: 2 * workers}
	fmt.Fprintln(table, "run\ttenant\ttasks\tshare\tnode\track\tany\tconflicts/commits\twait p50\twait p99\t")
	for _, r := range []*cluster{{name: "DRF, delay", delay: wait}, {name: "DRF, no delay"}, {name: "FIFO, delay", fifo: true, delay: wait}} {
		all := tenants()
		r.shown = &shown
		if err := r.run(ctx, shards, all); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		for i, t := range all {
			if !maps.Equal(t.answer, want[i].answer) {
				return fmt.Errorf("%s: %s: the answer is not that of the sequential run", r.name, t.name)
			}
		}
		addRows(table, r.name, all)
	}
	fmt.Printf("\n\n%d files do not parse and were skipped\n  %s\n", len(bad), strings.Join(bad, "\n  "))
	for _, t := range want {
		most := slices.SortedFunc(maps.Keys(t.answer), func(a, b string) int { return cmp.Or(t.answer[b]-t.answer[a], cmp.Compare(a, b)) })
		fmt.Printf("%s: the most of %d\n", t.name, len(most))
		for _, k := range most[:min(10, len(most))] {
			fmt.Printf("%10d %s\n", t.answer[k], k)
		}
	}
	fmt.Print("\nshare: dominant share, averaged while all had tasks to launch; node, rack, any: tasks by nearness to data\n\n")
	if err := table.Flush(); err != nil {
		return err
	}
	page.Stay(ctx)
	return nil
}

// progress draws a bar on a terminal, else it prints a line now and then.
func progress(what string, done, total int64) {
	percent, step, format := 100*done/total, int64(25), "%-15s %3d%% %s\n"
	if info, err := os.Stdout.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		step, format = 1, "%-15s %3d%% %-25s\r"
	}
	if percent/step > 100*(done-1)/total/step {
		fmt.Printf(format, what, percent, strings.Repeat("#", int(percent/4)))
	}
}

// addRows sums up a run. Tasks are in the order in which they started.
func addRows(table *tabwriter.Writer, run string, all []*tenant) {
	last := func(t *tenant) time.Duration { return t.tasks[len(t.tasks)-1].start }
	until, least, most := min(last(all[0]), last(all[1]), last(all[2])), 1.0, 0.0 // until then all had some to launch
	for _, t := range all {
		each, _, _ := t.need.DominantShare(t.total)
		n, at, share := len(t.tasks), [3]float64{}, 0.0
		for _, k := range t.tasks {
			at[k.level] += 100 / float64(n)
			share += each * max(0, min(k.end, until)-k.start).Seconds() / until.Seconds()
		}
		stats := t.stats()
		least, most = min(least, share), max(most, share)
		fmt.Fprintf(table, "%s\t%s\t%d\t%.3f\t%.1f%%\t%.1f%%\t%.1f%%\t%d/%d\t%v\t%v\t\n",
			run, t.name, n, share, at[0], at[1], at[2], stats.Refused, stats.Placed+stats.Refused,
			t.tasks[(n-1)/2].start.Round(time.Millisecond), t.tasks[(n-1)*99/100].start.Round(time.Millisecond))
	}
	fmt.Fprintf(table, "%s\tmin/max\t\t%.2f\t\t\t\t\t\t\t\n", run, least/most)
}

// list divides the Go files of a directory, or of the Go installation.
func list(dir string) ([][]string, error) {
	if dir == "" {
		goroot, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			return nil, fmt.Errorf("looking for Go's source tree: %w", err)
		}
		dir = filepath.Join(strings.TrimSpace(string(goroot)), "src")
	}
	var paths []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".go") {
			paths = append(paths, path)
		}
		return err
	})
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("no Go files in %s", dir)
	}
	return slices.Collect(slices.Chunk(paths, 1+len(paths)/(32*workers))), err
}

type shard struct {
	id         int
	paths, bad []string // bad do not parse
	fset       *token.FileSet
	decls      []ast.Decl
}

func read(id int, paths []string) *shard {
	s := &shard{id: id, paths: paths, fset: token.NewFileSet()}
	for _, path := range paths {
		if f, err := parser.ParseFile(s.fset, path, nil, parser.SkipObjectResolution); err == nil {
			s.decls = append(s.decls, f.Decls...)
		} else {
			s.bad = append(s.bad, path)
		}
	}
	return s
}

type analysis func(s *shard, to map[string]int) // adds its counts

// identifiers counts one symbol, or all if it is empty.
func identifiers(symbol string) analysis {
	return func(s *shard, to map[string]int) {
		for _, d := range s.decls {
			for n := range ast.Preorder(d) {
				if id, ok := n.(*ast.Ident); ok && (symbol == "" || symbol == id.Name) {
					to[id.Name]++
				}
			}
		}
	}
}

// complexity is McCabe's: for each function one, and one for each branch.
func complexity(s *shard, to map[string]int) {
	for _, d := range s.decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			name := fmt.Sprint(fn.Name, " ", s.fset.Position(fn.Pos()))
			for n := range ast.Preorder(fn) {
				switch n.(type) {
				case *ast.FuncDecl, *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.CaseClause, *ast.CommClause:
					to[name]++
				}
			}
		}
	}
}
